r"""Claims of the OAE paper's theory: regret of batches, misspecification, query lower bounds, optimism.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Section 4.3,
   Appendix D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.study import project_seed

Tables = Mapping[str, pd.DataFrame]  # experiment to its rows
RESAMPLES = 2000
Z95 = 1.959964


def _rows(test: Mapping[str, Any], tables: Tables) -> pd.DataFrame:
    names = test.get("experiments", [test.get("experiment")])
    rows = pd.concat([tables[name] for name in names], ignore_index=True)
    return rows[rows["convention"] == "as_written"]


def resampled_means(rows: pd.DataFrame, cells: Sequence[str], value: str) -> tuple[pd.DataFrame, FloatArray]:
    """Return the cells, and their means: first as observed, then of bootstrap samples of the replications.

    Replications are drawn as a whole, as cells share arms.

    Returns
    -------
    cells : DataFrame
        One row for each cell.
    means : ndarray, shape (1 + ``RESAMPLES``, n_cells)
    """
    table = rows.pivot_table(index=list(cells), columns="replication", values=value)
    rng, n = np.random.default_rng(project_seed()), table.shape[1]
    weights = np.concatenate([np.ones((1, n)), rng.multinomial(n, np.full(n, 1.0 / n), RESAMPLES)]) / n
    return table.index.to_frame(index=False), weights @ table.to_numpy().T


def slopes(rows: pd.DataFrame, factors: Sequence[str], value: str = "regret") -> pd.DataFrame:
    """Return the slopes of the logarithm of a mean in logarithms of factors, with 95% bootstrap intervals.

    Parameters
    ----------
    rows : DataFrame
        With ``replication``; the same replications in each cell.
    factors : sequence of str
        Columns that make the cells; those with one value get no slope.
    value : str
        Whose mean it is; cells with a mean that is not positive are left out.

    Returns
    -------
    DataFrame
        ``slope, low, high`` for each factor.
    """
    varied = [f for f in factors if rows[f].nunique() > 1]
    cells, means = resampled_means(rows, varied, value)
    kept = means[0] > 0.0
    design = np.column_stack([np.ones(int(kept.sum())), np.log(cells.loc[kept, varied].to_numpy(dtype=np.float64))])
    found = np.linalg.pinv(design)[1:] @ np.log(np.maximum(means[:, kept], 1e-12)).T
    low, high = np.quantile(found[:, 1:], [0.025, 0.975], axis=1)
    return pd.DataFrame({"slope": found[:, 0], "low": low, "high": high}, index=varied)


def _slope_text(found: pd.DataFrame, factor: str) -> str:
    line = found.T[factor]
    return f"{line['slope']:.2f} [{line['low']:.2f}, {line['high']:.2f}]"


def linear_burn_in(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Check that regret without misspecification is flat in the end and grows at most like d and like b.

    Flat: the last quarter of the rounds has at most the share ``late`` of it. The exponents may exceed 1 by ``slack``.
    With ``attained`` they may not fall short of it by more, either.
    """
    rows = _rows(test, tables)
    rows = rows[rows["instance"] == test["instance"]]
    mine = rows[rows["series"] == test["series"]]
    found, late = slopes(mine, ["n_features", "batch"]), mine["late_regret"].sum() / mine["regret"].sum()
    names = {"n_features": "d", "batch": "b"}
    text = ", ".join(f"{_slope_text(found, str(f))} in {names[str(f)]}" for f in found.index)
    largest = rows[(rows["n_features"] == rows["n_features"].max()) & (rows["batch"] == rows["batch"].max())]
    mean = largest.groupby("series", sort=False)["regret"].mean()
    others = ", ".join(f"{name} {value:.3g}" for name, value in mean.items())
    where = f"d = {largest['n_features'].iloc[0]}, b = {largest['batch'].iloc[0]}"
    text = f"exponents {text}; {100 * late:.1f}% of it in the last quarter of the rounds; at {where}: {others}"
    holds = bool((found["high"] <= 1.0 + test["slack"]).all() and late <= test["late"])
    if test.get("attained", False):
        holds &= bool((found["low"] >= 1.0 - test["slack"]).all())
    return Decision(holds, text)


def wide_counts(rows: pd.DataFrame) -> pd.DataFrame:
    r"""Return the pulls at which plausible functions differed by more than :math:`\epsilon`, a row for each of them.

    Parameters
    ----------
    rows : DataFrame
        Of `bestarm_studies.oae.linear_regret.burn_in_rows` with ``epsilons``.

    Returns
    -------
    DataFrame
        ``instance, series, n_features, batch, replication, epsilon, wide``; ``low`` and ``high``, bounds on the eluder
        dimension; ``ratio``, of ``wide`` to b times ``low``. Policies that keep no basis have no rows.

    Raises
    ------
    DataUnavailable
        For rows made without ``epsilons``, as those stored before there were any.
    """
    run = ["instance", "series", "n_features", "batch", "replication"]
    frames = []
    for name in [str(c) for c in rows if str(c).startswith("wide_")]:
        epsilon = name.removeprefix("wide_")
        columns = {name: "wide", f"eluder_low_{epsilon}": "low", f"eluder_high_{epsilon}": "high"}
        frame = rows[[*run, *columns]].rename(columns=columns).assign(epsilon=float(epsilon))
        frames.append(frame[frame["wide"].notna()])
    if not frames:
        raise DataUnavailable("the rows have no counts of wide arms; run their experiment again, with epsilons")
    found = pd.concat(frames, ignore_index=True)
    return found.assign(ratio=found["wide"] / (found["batch"] * found["low"]))


def wide_arms(test: Mapping[str, Any], tables: Tables) -> Decision:
    r"""Check that in no run more than a constant times b times the eluder dimension arms have a large width.

    Large: the plausible functions differ by more than :math:`\epsilon` when the arm is pulled (Proposition D.4 with
    :math:`\gamma_t=0`). The dimension is replaced by its lower bound, which makes the statement no weaker.
    """
    found = wide_counts(_rows(test, tables))
    broken = found[found["wide"] > test["constant"] * found["batch"] * found["low"]]
    worst = found.sort_values("ratio", kind="stable", na_position="first").iloc[-1]
    dimensions = (found["low"] / found["n_features"]).groupby(found["instance"], sort=False)
    text = f"more than {test['constant']} b dim in {len(broken)} of {len(found)} counts; "
    text += f"at most {worst['ratio']:.2f} b dim ({worst['series']}, {worst['instance']}, "
    text += f"d = {worst['n_features']}, b = {worst['batch']}, ε = {worst['epsilon']:g}); dim at least "
    text += ", ".join(f"{low.min():.1f} d to {low.max():.1f} d on {name}" for name, low in dimensions)
    return Decision(broken.empty, text, informative=len(found) > 0, checked=f"{len(found):,} counts")


def batch_factor(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Check that on clones vanilla OAE's regret grows like b and that of batches that spread out does not.

    Only cells with b at most d count: a larger batch cannot consist of new directions.
    """
    rows = _rows(test, tables)
    rows = rows[(rows["instance"] == test["instance"]) & (rows["batch"] <= rows["n_features"])]
    rows = rows[rows["n_features"].isin(test.get("n_features", rows["n_features"].unique()))]
    holds, texts = True, []
    for name in [test["vanilla"], *test["spread"]]:
        found = slopes(rows[rows["series"] == name], ["n_features", "batch"])
        line = found.T["batch"]
        if name == test["vanilla"]:
            holds &= bool(line["low"] >= 1.0 - test["slack"] and line["high"] <= 1.0 + test["slack"])
        else:
            holds &= bool(line["high"] <= test["most"])
        texts.append(f"{name} {_slope_text(found, 'batch')}")
    return Decision(holds, f"exponent of b: {'; '.join(texts)}")


def misspecification_rates(rows: pd.DataFrame) -> pd.DataFrame:
    r"""Return by how much regret grows a round because of misspecification, between the last two recorded rounds.

    Returns
    -------
    DataFrame
        ``omega, n_features, batch``; ``rate`` with ``low`` and ``high``, growth minus that at :math:`\omega=0`;
        ``ratio`` with ``ratio_high``, over :math:`\omega b\sqrt d`.
    """
    before, after = sorted(rows["rounds"].unique())[-2:]
    cell = ["n_features", "batch", "replication"]
    regret = rows.pivot_table(index=["omega", *cell], columns="rounds", values="regret")
    growth = ((regret[after] - regret[before]) / (after - before)).rename("growth").reset_index()
    base = growth[growth["omega"] == 0.0].set_index(cell)["growth"]
    mine = growth[growth["omega"] > 0.0].copy()
    mine["rate"] = mine["growth"] - base.loc[pd.MultiIndex.from_frame(mine[cell])].to_numpy()
    cells, means = resampled_means(mine, ["omega", "n_features", "batch"], "rate")
    low, high = np.quantile(means[1:], [0.025, 0.975], axis=0)
    unit = cells["omega"] * cells["batch"] * np.sqrt(cells["n_features"])
    return cells.assign(rate=means[0], low=low, high=high, ratio=means[0] / unit, ratio_high=high / unit)


def misspecification(test: Mapping[str, Any], tables: Tables) -> Decision:
    r"""Check that regret grows a round by at most a constant times :math:`\omega b\sqrt d`, or in proportion to it.

    With ``proportional`` the exponent of :math:`\omega` has to be 1 up to ``slack``; otherwise the ratio has to be at
    most ``ratio``, which is all that the theorem says.
    """
    rows = _rows(test, tables)
    rates = misspecification_rates(rows)
    exponents = []
    for _, mine in rates[rates["rate"] > 0.0].groupby(["n_features", "batch"]):
        if len(mine) > 1:
            exponents.append(float(np.polyfit(np.log(mine["omega"]), np.log(mine["rate"]), 1)[0]))
    worst = rates.sort_values("ratio_high").iloc[-1]
    span = f"{min(exponents):.2f} to {max(exponents):.2f}" if exponents else "not to be had"
    text = f"growth a round at most {worst['ratio']:.2f} (95% upper limit {worst['ratio_high']:.2f}) times ωb√d"
    text += f", at ω = {worst['omega']:g}, d = {worst['n_features']:.0f}, b = {worst['batch']:.0f}"
    text += f"; exponent of ω {span} over {len(exponents)} cells"
    if test.get("proportional", False):
        return Decision(bool(exponents) and all(abs(e - 1.0) <= test["slack"] for e in exponents), text)
    return Decision(bool(worst["ratio_high"] <= test["ratio"]), text)


def query_bounds(d: FloatArray, epsilon: FloatArray, kind: str) -> FloatArray:
    r"""Return lower bounds on the queries of a linear class.

    Parameters
    ----------
    d, epsilon : ndarray
        Dimensions and accuracies.
    kind : {"printed", "squared"}
        Lemma D.1: d for :math:`\epsilon<1/d`, otherwise :math:`\lceil d(1-\epsilon)\rceil`; or
        :math:`d(1-\epsilon)^2`, when the expected square of the best guess's value has reached
        :math:`(1-\epsilon)^2`.

    Raises
    ------
    ValueError
        For another kind.
    """
    if kind not in ("printed", "squared"):
        raise ValueError(f"kind must be 'printed' or 'squared', got {kind!r}.")
    if kind == "squared":
        return np.asarray(d * (1.0 - epsilon) ** 2)
    return np.where(epsilon < 1.0 / d, d, np.ceil(d * (1.0 - epsilon) - 1e-9))


def _query_table(rows: pd.DataFrame) -> pd.DataFrame:
    grouped = rows.groupby(["series", "n_features", "epsilon"], sort=False)
    table = grouped["queries"].agg(["mean", "std", "count"]).reset_index()
    table["half"] = Z95 * table["std"] / np.sqrt(table["count"])
    return table.assign(packing=grouped["packing"].first().to_numpy())


def _below(table: pd.DataFrame) -> Decision:
    """Check that no mean is significantly below its bound."""
    table = table.assign(ratio=table["mean"] / table["bound"])
    below = table[table["mean"] + table["half"] < table["bound"]]
    worst = table.sort_values("ratio").iloc[0]
    text = f"fewer queries than the bound in {len(below)} of {len(table)} cells; lowest {worst['series']}, "
    text += f"d = {worst['n_features']}, ε = {worst['epsilon']:g}: "
    text += f"{worst['mean']:.1f} ± {worst['half']:.1f} against {worst['bound']:.1f}"
    return Decision(below.empty, text, informative=bool((table["bound"] > 1.0).any()))  # a first query is always needed


def query_bound(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Check that no learner needs fewer queries than a bound of item 1.

    ``series`` are some learners, ``part`` takes the accuracies on one side of 1/d: "small" or "large".
    """
    rows = _rows(test, tables)
    rows = rows[(rows["item"] == "linear") & rows["series"].isin(test.get("series", rows["series"].unique()))]
    table = _query_table(rows)
    small = table["epsilon"] < 1.0 / table["n_features"]
    table = table[{"small": small, "large": ~small}.get(test.get("part", ""), small | True)]
    bounds = query_bounds(table["n_features"].to_numpy(), table["epsilon"].to_numpy(), test["bound"])
    return _below(table.assign(bound=bounds))


def lipschitz_bound(test: Mapping[str, Any], tables: Tables) -> Decision:
    r"""Check that no learner needs fewer queries than item 2 prints, or than its proof's :math:`\frac14N_{2\epsilon}`.

    ``bound`` is "printed", :math:`(1/4\epsilon)^d`, or "quarter".
    """
    rows = _rows(test, tables)
    table = _query_table(rows[rows["item"] == "lipschitz"])
    printed = (0.25 / table["epsilon"]) ** table["n_features"]
    return _below(table.assign(bound=printed if test["bound"] == "printed" else 0.25 * table["packing"]))


def linear_optimism(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Check that the constrained model promises at least what the best batch is worth, or that a bonus is one.

    ``model`` is "constrained", Lemma D.3, or "regularised": the model with a regulariser, whose bonus may be negative.
    """
    rows = _rows(test, tables)
    if test.get("model", "constrained") == "regularised":
        mine = rows[rows["check"] == "bonus"]
        texts = []
        for name, group in mine.groupby("series", sort=False):
            shares = group.groupby(["n_features", "n_queried"])[["negative", "negative_top"]].mean()
            rounds = group.groupby("optimism")["pessimistic"].mean()
            text = f"{name}: bonus negative for {100 * shares['negative'].min():.0f} to "
            text += f"{100 * shares['negative'].max():.0f}% of the arms, {100 * shares['negative_top'].min():.0f} to "
            text += f"{100 * shares['negative_top'].max():.0f}% of the best tenth; rounds without optimism "
            texts.append(text + ", ".join(f"{100 * share:.0f}% at λ = {at:g}" for at, share in rounds.items()))
        return Decision(not (mine["negative"] > 0.0).any(), "; ".join(texts))
    runs = rows[rows["check"].isin(["runs", "enumeration"])]
    failed, n_rounds = int(runs["pessimistic"].sum()), int(runs["rounds"].sum())
    listed = rows[rows["check"] == "enumeration"]
    text = (
        f"false in {failed} of {n_rounds} rounds; where all batches were listed the alternation missed the optimum in "
    )
    text += f"{int(listed['suboptimal'].sum())} of {int(listed['rounds'].sum())} rounds, "
    text += f"and the optimum was too small in {int(listed['pessimistic_exact'].sum())}"
    return Decision(failed == 0, text, informative=n_rounds > 0, checked=f"{n_rounds:,} rounds")
