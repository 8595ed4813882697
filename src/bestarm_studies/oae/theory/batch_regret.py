"""Theorem 4.1 and Proposition D.4: regret of linear batch searches, exact or wrong models, widths (Section 4.3)."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.interface import IntArray
from bestarm.policies.batch_search import BatchSearch
from bestarm.policies.linear.linear_oae import EllipsoidOae
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.figures.figures import line_panels
from bestarm_lab.figures.values import as_values, summarise
from bestarm_studies.oae.theory import linear_runs
from bestarm_studies.oae.theory.eluder_dimension import eluder_bounds


def _instance(name: str, n_arms: int, d: int, batch: int, seed: int) -> linear_runs.Law:
    return (
        linear_runs.SphereArms(n_arms, d, seed=seed)
        if name == "sphere"
        else linear_runs.CloneArms(d, 4 * batch, seed=seed)
    )


def _burn_in_block(
    label: str,
    search: Callable[..., BatchSearch],
    instance: str,
    n_arms: int,
    d: int,
    batch: int,
    epsilons: Sequence[float],
    rows: IntArray,
    seed: int,
) -> pd.DataFrame:
    law = _instance(instance, n_arms, d, batch, seed)
    policy = search(label=label, batch=batch, rounds=2 * d)
    observer, _ = linear_runs.observed_run(policy, law, rows, seed, epsilons=epsilons)
    regret, known = observer.table("regret"), observer.table("known")
    needed = np.where(np.isnan(known[0]), np.nan, (known == 0.0).sum(axis=0))  # rounds begun without full knowledge
    found = {
        "series": label,
        "instance": instance,
        "n_features": d,
        "batch": batch,
        "replication": rows,
        "regret": regret.sum(axis=0),
        "late_regret": regret[d + d // 2 :].sum(axis=0),
        "rounds_needed": needed,
    }
    wide = observer.table("wide").sum(axis=0)
    return pd.DataFrame(found | {f"wide_{epsilon:g}": wide[:, i] for i, epsilon in enumerate(epsilons)})


def _eluder_block(
    instance: str, n_arms: int, d: int, batches: Sequence[int], epsilons: Sequence[float], rows: IntArray, seed: int
) -> pd.DataFrame:
    bounds: dict[linear_runs.Law, IntArray] = {}  # random arms are the same for every size of a batch
    frames = []
    for batch in batches:
        law = _instance(instance, n_arms, d, batch, seed)
        if law not in bounds:
            bounds[law] = np.array([eluder_bounds(x, epsilons) for x in law.take(rows).features])
        found = {"instance": instance, "n_features": d, "batch": batch, "replication": rows}
        for i, epsilon in enumerate(epsilons):
            found |= {f"eluder_low_{epsilon:g}": bounds[law][:, 0, i], f"eluder_high_{epsilon:g}": bounds[law][:, 1, i]}
        frames.append(pd.DataFrame(found))
    return pd.concat(frames, ignore_index=True)


def burn_in_rows(
    series: Mapping[str, Callable[..., BatchSearch]],
    replications: int,
    seed: int,
    *,
    instances: Mapping[str, Mapping[str, Sequence[int]]],
    n_arms: int = 2000,
    epsilons: Sequence[float] = (),
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return the regret of 2d batches on exactly linear instances (Theorem 4.1 without misspecification).
    ``series`` construct batch searches that still want ``label, batch, rounds``; ``instances`` map ``sphere`` or
    ``clones`` (4b copies) to ``{dimensions: [...], batches: [...]}``. ``wide_*`` and ``eluder_*`` are for each
    :math:`\epsilon` of Proposition D.4, NaN for a policy that keeps no basis."""
    if unknown := sorted(set(instances) - {"sphere", "clones"}):
        raise ValueError(f"instances must be sphere or clones, got {', '.join(unknown)}.")
    jobs = [
        (label, search, instance, n_arms, int(d), int(batch), list(epsilons), rows, seed)
        for instance, grid in instances.items()
        for label, search in series.items()
        for d in grid["dimensions"]
        for batch in grid["batches"]
        for rows in linear_runs.replication_blocks(replications)
    ]
    found = linear_runs.rows_in_parallel(_burn_in_block, jobs, workers)
    if not epsilons:
        return found
    arms = [
        (instance, n_arms, int(d), list(grid["batches"]), list(epsilons), rows, seed)
        for instance, grid in instances.items()
        for d in grid["dimensions"]
        for rows in np.array_split(np.arange(replications), min(4, replications))
    ]
    bounds = linear_runs.rows_in_parallel(_eluder_block, arms, workers).drop(columns=["convention", "data"])
    return found.merge(
        bounds, how="left", on=["instance", "n_features", "batch", "replication"], validate="many_to_one"
    )


def slopes(rows: pd.DataFrame, factors: Sequence[str], value: str = "regret") -> pd.DataFrame:
    """Return the slopes (``slope, low, high``) of the logarithm of a mean in logarithms of factors, with 95%
    bootstraps. ``factors`` are columns that make the cells; those with one value get no slope, and cells with a mean
    ``value`` that is not positive are left out. Each cell has the same replications."""
    varied = [f for f in factors if rows[f].nunique() > 1]
    cells, means = linear_runs.resampled_means(rows, varied, value)
    kept = means[0] > 0.0
    design = np.column_stack([np.ones(int(kept.sum())), np.log(cells.loc[kept, varied].to_numpy(dtype=np.float64))])
    found = np.linalg.pinv(design)[1:] @ np.log(np.maximum(means[:, kept], 1e-12)).T
    low, high = np.quantile(found[:, 1:], [0.025, 0.975], axis=1)
    return pd.DataFrame({"slope": found[:, 0], "low": low, "high": high}, index=varied)


def _slope_text(found: pd.DataFrame, factor: str) -> str:
    line = found.T[factor]
    return f"{line['slope']:.2f} [{line['low']:.2f}, {line['high']:.2f}]"


def linear_burn_in(test: Test, tables: Rows) -> Decision:
    """Check that regret without misspecification is flat in the end and grows at most like d and like b.
    Flat: the last quarter of the rounds has at most the share ``late`` of it. The exponents may exceed 1 by ``slack``.
    With ``attained`` they may not fall short of it by more, either."""
    rows = linear_runs.rows_as_written(test, tables)
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
    ``low`` and ``high`` bound the eluder dimension; ``ratio`` is ``wide`` over b ``low``. Without a basis, no rows."""
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


def wide_arms(test: Test, tables: Rows) -> Decision:
    r"""Check that in no run more than a constant times b times the eluder dimension arms have a large width.
    Large: the plausible functions differ by more than :math:`\epsilon` when the arm is pulled (Proposition D.4 with
    :math:`\gamma_t=0`). The dimension is replaced by its lower bound, which makes the statement no weaker."""
    found = wide_counts(linear_runs.rows_as_written(test, tables))
    broken = found[found["wide"] > test["constant"] * found["batch"] * found["low"]]
    worst = found.sort_values("ratio", kind="stable", na_position="first").iloc[-1]
    dimensions = (found["low"] / found["n_features"]).groupby(found["instance"], sort=False)
    text = f"more than {test['constant']} b dim in {len(broken)} of {len(found)} counts; "
    text += f"at most {worst['ratio']:.2f} b dim ({worst['series']}, {worst['instance']}, "
    text += f"d = {worst['n_features']}, b = {worst['batch']}, ε = {worst['epsilon']:g}); dim at least "
    text += ", ".join(f"{low.min():.1f} d to {low.max():.1f} d on {name}" for name, low in dimensions)
    return Decision(broken.empty, text, informative=len(found) > 0, checked=f"{len(found):,} counts")


def batch_factor(test: Test, tables: Rows) -> Decision:
    """Check that on clones vanilla OAE's regret grows like b and that of batches that spread out does not.
    Only cells with b at most d count: a larger batch cannot consist of new directions."""
    rows = linear_runs.rows_as_written(test, tables)
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


def regret_values(rows: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return the mean regret of exact linear searches, with 95% t-intervals, for each instance, d and b (x)."""
    panel, kinds = "{instance}, d = {n_features}", {"regret": ("regret", "mean")}
    return pd.concat(
        [summarise(frame, kinds, x="batch", panel=panel, profile=profile) for frame in rows.values()], ignore_index=True
    )


def largest_panels(values: pd.DataFrame) -> list[str]:
    """Return the panel of the largest d of each instance, from `regret_values`."""
    found = values["panel"].drop_duplicates().str.extract(r"(?P<panel>(?P<instance>.*), d = (?P<d>\d+))")
    last = found.assign(d=found["d"].astype(int)).groupby("instance", sort=False)["d"].idxmax()
    return list(found.loc[last, "panel"])


def slope_values(rows: Mapping[str, pd.DataFrame], series: Sequence[str], profile: str) -> pd.DataFrame:
    """Return the exponents of d and b (x) in the mean regret of some searches, with 95% bootstrap intervals."""
    frames = []
    for frame in rows.values():
        for name in series:
            mine = frame[frame["series"] == name]
            found = slopes(mine, ["n_features", "batch"]).rename(columns={"slope": "value"})
            found = found.assign(x=found.index.map({"n_features": "d", "batch": "b"}), series=name)
            frames.append(found.assign(panel=mine["instance"].iloc[0], n=mine["replication"].nunique()))
    return as_values(pd.concat(frames, ignore_index=True), statistic="exponent", profile=profile)


def wide_table(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return, for each instance, d and epsilon, the most pulls of wide arms over b and both bounds on the dimension."""
    counts = wide_counts(pd.concat(rows.values(), ignore_index=True))
    counts = counts.assign(over=counts["wide"] / counts["batch"])
    cells = counts.groupby(["instance", "n_features", "epsilon"], sort=False)
    table = cells.agg(wide=("over", "max"), low=("low", "min"), high=("high", "max"), ratio=("ratio", "max"))
    names = {"wide": "most wide pulls / b", "low": "dimension, at least", "high": "dimension, at most"}
    found = table[[*names, "ratio"]].rename(columns=names).astype(float).round(2)
    found.insert(0, "cell", [f"{instance}, d = {d}, ε = {epsilon:g}" for instance, d, epsilon in found.index])
    return found.reset_index(drop=True)


def regret_figure(values: pd.DataFrame, panels: list[str], *, title: str, setting: str = "") -> Figure:
    """Return regret against the size of a batch, both logarithmic, a panel for each instance and dimension."""
    return line_panels(
        values,
        linear_runs.ORDER,
        title=title,
        setting=setting,
        statistic="regret",
        x="batch size b",
        y="regret (mean)",
        log="xy",
        titles={panel: panel for panel in panels},
        height=3.0,
    )


def _misspecified_block(
    omega: float, n_arms: int, d: int, batch: int, rounds: Sequence[int], starts: int, rows: IntArray, seed: int
) -> pd.DataFrame:
    law = linear_runs.SphereArms(n_arms, d, omega, seed)
    policy = EllipsoidOae("OAE", batch, max(rounds), omega=omega, starts=starts)
    observer, _ = linear_runs.observed_run(policy, law, rows, seed)
    regret = observer.table("regret").cumsum(axis=0)
    missing = observer.table("best")[1:] - batch * omega - observer.table("hope")[1:] > linear_runs.ROUNDING
    frames = [
        pd.DataFrame(
            {
                "series": f"ω = {omega:g}",
                "omega": omega,
                "n_features": d,
                "batch": batch,
                "rounds": t,
                "replication": rows,
                "regret": regret[t - 1],
                "pessimistic": missing[: t - 1].sum(axis=0),
            }
        )
        for t in rounds
    ]
    return pd.concat(frames, ignore_index=True)


def misspecified_rows(
    omegas: Sequence[float],
    replications: int,
    seed: int,
    *,
    dimensions: Sequence[int],
    batches: Sequence[int],
    rounds: Sequence[int],
    n_arms: int = 2000,
    starts: int = 50,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return the regret of vanilla OAE with :math:`\gamma_t=(t-1)b\omega^2` under misspecification, known to it.
    ``rounds`` are the T at which regret is recorded; ``starts`` those of the alternation. ``pessimistic`` are rounds in
    which the batch promised less than the best one left minus :math:`b\omega`."""
    jobs = [
        (float(omega), n_arms, int(d), int(batch), list(rounds), starts, rows, seed)
        for omega in omegas
        for d in dimensions
        for batch in batches
        for rows in linear_runs.replication_blocks(replications)
    ]
    return linear_runs.rows_in_parallel(_misspecified_block, jobs, workers)


def misspecification_rates(rows: pd.DataFrame) -> pd.DataFrame:
    r"""Return ``rate``, by how much regret grows a round because of :math:`\omega`, between the last two recorded
    rounds. That is growth minus that at :math:`\omega=0`, with ``low`` and ``high``; ``ratio`` is over :math:`\omega
    b\sqrt d`."""
    before, after = sorted(rows["rounds"].unique())[-2:]
    cell = ["n_features", "batch", "replication"]
    regret = rows.pivot_table(index=["omega", *cell], columns="rounds", values="regret")
    growth = ((regret[after] - regret[before]) / (after - before)).rename("growth").reset_index()
    base = growth[growth["omega"] == 0.0].set_index(cell)["growth"]
    mine = growth[growth["omega"] > 0.0].copy()
    mine["rate"] = mine["growth"] - base.loc[pd.MultiIndex.from_frame(mine[cell])].to_numpy()
    cells, means = linear_runs.resampled_means(mine, ["omega", "n_features", "batch"], "rate")
    low, high = np.quantile(means[1:], [0.025, 0.975], axis=0)
    unit = cells["omega"] * cells["batch"] * np.sqrt(cells["n_features"])
    return cells.assign(rate=means[0], low=low, high=high, ratio=means[0] / unit, ratio_high=high / unit)


def misspecification(test: Test, tables: Rows) -> Decision:
    r"""Check that regret grows a round by at most a constant times :math:`\omega b\sqrt d`, or in proportion to it.
    With ``proportional`` the exponent of :math:`\omega` has to be 1 up to ``slack``; otherwise the ratio has to be at
    most ``ratio``, which is all that the theorem says."""
    rates = misspecification_rates(linear_runs.rows_as_written(test, tables))
    cells = [mine for _, mine in rates[rates["rate"] > 0.0].groupby(["n_features", "batch"]) if len(mine) > 1]
    exponents = [float(np.polyfit(np.log(mine["omega"]), np.log(mine["rate"]), 1)[0]) for mine in cells]
    worst = rates.sort_values("ratio_high").iloc[-1]
    span = f"{min(exponents):.2f} to {max(exponents):.2f}" if exponents else "not to be had"
    text = f"growth a round at most {worst['ratio']:.2f} (95% upper limit {worst['ratio_high']:.2f}) times ωb√d"
    text += f", at ω = {worst['omega']:g}, d = {worst['n_features']:.0f}, b = {worst['batch']:.0f}"
    text += f"; exponent of ω {span} over {len(exponents)} cells"
    if test.get("proportional", False):
        return Decision(bool(exponents) and all(abs(e - 1.0) <= test["slack"] for e in exponents), text)
    return Decision(bool(worst["ratio_high"] <= test["ratio"]), text)


def rate_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the growth of the regret by misspecification over ``omega b sqrt(d)``; x is omega."""
    found = misspecification_rates(rows)
    table = found.drop(columns="high").rename(columns={"omega": "x", "ratio": "value", "ratio_high": "high"})
    unit = found["ratio"] / found["rate"]
    cell = [f"d = {d}, b = {b}" for d, b in found[["n_features", "batch"]].itertuples(index=False)]
    table = table.assign(panel=cell, low=found["low"] * unit, series="exact linear OAE")
    return as_values(table, statistic="rate over ωb√d", n=rows["replication"].nunique(), profile=profile)
