r"""Plotted values and tables of the checked analysis: bounds, lemmas, entropies, intervals, costs.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Sections 2 and 3, appendix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.figures.values import QUANTILES, as_values, summarise
from bestarm_studies.dpp_bbo.gp_draws import kernel_matrix
from bestarm_studies.dpp_bbo.series import DRAWN
from bestarm_studies.dpp_bbo.theory import (
    GREEDY,
    greedy_information,
    information_gain,
    local_slopes,
    operator_eigenvalues,
    per_information,
    regret_bound,
    sampling_operations,
    ucb_beta,
    zeta,
)
from bestarm_studies.dpp_bbo.theory_experiments import FUNCTIONS

NOISE = DRAWN["sigma"] ** 2
N_ARMS, DELTA, BATCH = 400, 0.05, 5  # of the searches of drawn functions
LEMMAS = {
    "lemma_6_4": "Lemma 6.4: share of pairs that violate it",
    "lemma_6_5": "Lemma 6.5: left side over right side",
    "lemma_6_7": "Lemma 6.7: left side over right side",
}


@cache
def draw_kernel() -> FloatArray:
    """Return the kernel matrix of the candidates that all drawn functions share."""
    problem = FUNCTIONS(replications=1)
    return kernel_matrix(problem.features, DRAWN["lengthscale"])


@cache
def draw_information(n: int) -> FloatArray:
    r"""Return upper bounds on :math:`\gamma_1,\dots,\gamma_n` of these candidates: e/(e - 1) times the greedy sets'."""
    return GREEDY * greedy_information(draw_kernel(), NOISE, n)


# --------------------------------------------------------------------------------------------------------------------
# Regret bounds


def bound_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each run the bounds that the theorems give for it, beside its regret and that of the worst arms.

    Parameters
    ----------
    rows : DataFrame
        Of `bestarm_studies.dpp_bbo.event_rows.lemma_rows`, the laptop's searches of 20 batches of 5 or 100 of one.

    Returns
    -------
    DataFrame
        ``series, theorem, replication, regret, bound, trivial``.
    """
    n, rounds = 100, 20
    information = float(draw_information(n)[-1])
    frames = []
    for series, mine in rows.groupby("series", sort=False):
        name, width = str(series), mine["width"].to_numpy(dtype=np.float64)
        est, alone = "EST" in name, name.startswith("sequential")
        bounds: dict[str, FloatArray] = {}
        if alone and est:
            bounds["2.1"] = regret_bound(2.0, n, width + np.sqrt(zeta(n, DELTA, 1.0)), information, NOISE)
        elif alone:
            root = np.full(len(mine), np.sqrt(ucb_beta(N_ARMS, n, DELTA)))
            bounds["2.1, printed"] = regret_bound(2.0, n, root, information, NOISE)
            bounds["2.1, with 8 for 2"] = regret_bound(8.0, n, root, information, NOISE)
        elif name in ("GP-BUCB", "B-EST"):
            ucb = np.full(len(mine), 2.0 * np.sqrt(ucb_beta(N_ARMS, n, DELTA)))
            root = width + np.sqrt(zeta(n, DELTA, 1.0)) if est else ucb
            inflation = np.exp(float(draw_information(BATCH - 1)[-1]))
            bounds["3.2, C' = 1"] = regret_bound(2.0, n, root, information, NOISE)
            bounds["3.2, no first stage"] = inflation * bounds["3.2, C' = 1"]
        else:
            root = width + np.sqrt(zeta(rounds, DELTA, 3.0)) if est else np.sqrt(ucb_beta(N_ARMS, rounds, DELTA))
            bounds["3.3"] = regret_bound(36.0, n, np.broadcast_to(root, len(mine)), information, NOISE)
        for theorem, bound in bounds.items():
            kept = mine[["replication", "regret", "trivial"]].astype(np.float64)
            frames.append(kept.assign(series=name, theorem=theorem, bound=bound))
    return pd.concat(frames, ignore_index=True)


def two_stage_bounds(rows: pd.DataFrame) -> pd.DataFrame:
    r"""Return what Theorem 3.2 gives for each run after its first stage, with the columns of `bound_runs`.

    That is :math:`C'R^{seq}+2\|f\|_\infty T^{init}` with the bound of Theorem 2.1 for all evaluations in place of
    the sequential regret; for GP-BUCB with twice its width, see `bound_runs`.

    Parameters
    ----------
    rows : DataFrame
        Of `bestarm_studies.dpp_bbo.two_stage.two_stage_rows`.
    """
    n = rows["evaluations"].to_numpy()
    information = draw_information(int(n.max()))[n - 1]
    ucb = 2.0 * np.sqrt(ucb_beta(N_ARMS, n, DELTA))
    est = rows["width"].to_numpy(dtype=np.float64) + np.sqrt(zeta(n, DELTA, 1.0))
    sequential = regret_bound(2.0, n, np.where(rows["series"] == "B-EST", est, ucb), information, NOISE)
    bound = rows["inflation"] * sequential + 2.0 * rows["largest"] * rows["first_stage"]
    kept = rows[["series", "replication", "regret", "trivial"]]
    return kept.assign(theorem="3.2", bound=bound)


def bound_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return by series and theorem the mean regret, the median bound, and how often and how nearly it is reached."""
    runs = bound_runs(rows)
    runs["used"], runs["over"] = runs["regret"] / runs["bound"], runs["bound"] / runs["trivial"]
    groups = runs.groupby(["series", "theorem"], sort=False)
    table = pd.DataFrame(
        {
            "mean regret": groups["regret"].mean(),
            "median bound": groups["bound"].median(),
            "largest regret / bound": groups["used"].max(),
            "smallest bound / worst arms": groups["over"].min(),
        }
    ).reset_index()
    tidy = table.rename(columns={"theorem": "x"}).melt(["series", "x"], var_name="statistic")
    return as_values(tidy, panel="bounds", n=rows["replication"].nunique(), profile=profile)


def curve_values(rows: pd.DataFrame, order: Sequence[str], profile: str) -> pd.DataFrame:
    r"""Return the mean cumulative regret of searches against their batches T, with Theorem 3.3's bound for UCB.

    ``rows`` are those of the experiment ``gp_draws``; the regret has that of the random first arm in it. ``worst arms``
    is what TB of the worst arms cost on average.
    """
    mine = rows[rows["series"].isin(order) & (rows["round"] > 1)]
    mine = mine.assign(T=mine["round"] - 1)
    regret = summarise(mine, {"regret": ("total_regret", "mean")}, x="T", panel="regret", profile=profile)
    batches = np.sort(mine["T"].unique())
    problem = FUNCTIONS(replications=int(rows["replication"].max()) + 1)
    worst = float(np.ptp(problem.means, axis=1).mean())
    information = draw_information(BATCH * int(batches[-1]))[BATCH * batches - 1]
    root = np.sqrt(ucb_beta(N_ARMS, batches, DELTA))
    lines = {
        "Theorem 3.3": regret_bound(36.0, BATCH * batches, root, information, NOISE),
        "worst arms": worst * BATCH * batches,
    }
    bounds = [pd.DataFrame({"series": name, "x": batches, "value": line}) for name, line in lines.items()]
    return pd.concat([regret, as_values(pd.concat(bounds), panel="regret", statistic="regret", profile=profile)])


def horizon(spread: float) -> int:
    r"""Return an n before which Theorem 3.3's bound for UCB exceeds ``spread`` for every evaluation.

    The information is that of n evaluations spread evenly over the candidates, which is at most :math:`\gamma_n`.
    """
    eigenvalues = np.linalg.eigvalsh(draw_kernel()) / N_ARMS
    sizes = np.unique(np.round(np.geomspace(10, 1e6, 400) / BATCH).astype(np.int64)) * BATCH
    information = information_gain(np.maximum(eigenvalues, 0.0), sizes.astype(np.float64), NOISE)
    root = np.sqrt(ucb_beta(N_ARMS, sizes / BATCH, DELTA))
    bounds = regret_bound(36.0, sizes, root, information, NOISE)
    return int(sizes[np.argmax(bounds < spread * sizes)])


# --------------------------------------------------------------------------------------------------------------------
# Lemmas and entropies


def lemma_values(rows: pd.DataFrame, order: Sequence[str], profile: str) -> pd.DataFrame:
    """Return the distribution over runs of what `LEMMAS` names, one panel for each, and in how many it is violated."""
    frames = []
    for column, panel in LEMMAS.items():
        most = 0.0 if column == "lemma_6_4" else 1.0  # that is claimed
        groups = rows[rows["series"].isin(order)].groupby("series", sort=False)[column]
        statistics = {name: groups.quantile(q) for name, q in QUANTILES.items()} | {"largest": groups.max()}
        broken = rows[rows["series"].isin(order)].assign(broken=rows[column] > most)
        statistics["share of runs that violate it"] = broken.groupby("series", sort=False)["broken"].mean()
        table = pd.DataFrame(statistics).rename_axis("series").reset_index()
        frames.append(table.melt("series", var_name="statistic").assign(panel=panel))
    return as_values(pd.concat(frames), n=rows["replication"].nunique(), profile=profile)


def share_values(rows: pd.DataFrame, columns: Mapping[str, str], order: Sequence[str], profile: str) -> pd.DataFrame:
    """Return means over runs of some columns by series, with 95% intervals; columns map to the names of statistics."""
    mine = rows[rows["series"].isin(order)]
    statistics: dict[str, tuple[str, str | float]] = {name: (column, "mean") for column, name in columns.items()}
    return summarise(mine, statistics, panel="shares", profile=profile).dropna(subset="value")


def entropy_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    r"""Return the terms of Theorem 3.4's bracket after 1, ..., T batches, and the bracket as printed and as proved.

    H is the mean of :math:`\log Z-\log\det L_S` over runs. As printed :math:`B\log|X|` is added once, in the proof
    :math:`(B-1)\log|X|` for every batch.
    """
    runs = rows.assign(entropy=rows["log_z"] - rows["log_det"]).fillna({"entropy": 0.0})
    sums = runs.pivot(index="replication", columns="batch", values="entropy").cumsum(axis=1)
    batches = sums.columns.to_numpy()
    information, entropy = draw_information(BATCH * int(batches[-1]))[BATCH * batches - 1], sums.mean().to_numpy()
    log_arms = np.log(N_ARMS)
    lines = {
        "information γ": information,
        "sum of entropies": entropy,
        "bracket as printed": information - entropy + BATCH * log_arms,
        "bracket as proved": information - entropy + batches * (BATCH - 1) * log_arms,
    }
    table = pd.concat([pd.DataFrame({"series": k, "x": batches, "value": v}) for k, v in lines.items()])
    n = runs["replication"].nunique()
    return as_values(table, panel="Theorem 3.4", statistic="mean", n=n, profile=profile)


def printed_bounds(rows: pd.DataFrame) -> pd.DataFrame:
    """Return by batch the mean regret so far, and the squared bound of Theorem 3.4 as printed, which can be negative.

    Columns ``batch, regret, squared_bound``.
    """
    values = entropy_values(rows, "").set_index(["series", "x"])["value"]
    regret = rows.pivot(index="replication", columns="batch", values="regret").cumsum(axis=1).mean()
    batches = regret.index.to_numpy()
    factor = 2.0 * BATCH * batches * per_information(36.0, NOISE) * ucb_beta(N_ARMS, batches, DELTA)
    bracket = values["bracket as printed"].to_numpy()
    return pd.DataFrame({"batch": batches, "regret": regret.to_numpy(), "squared_bound": factor * bracket})


def set_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return what enumeration finds of small k-DPPs, by noise and size, averaged over kernels."""
    runs = rows.assign(
        slack=rows["k"] * np.log(rows["points"]) - rows["entropy"],
        short=(rows["greedy"] < rows["largest"] - 1e-9).astype(float),
        above=(rows["expected"] > rows["greedy"]).astype(float),
    )
    names = {
        "E log det": "expected",
        "H": "entropy",
        "log of the number of sets": "log_sets",
        "log det, greedy": "greedy",
        "log det, largest": "largest",
        "k log n - H": "slack",
        "greedy not largest": "short",
        "E above greedy": "above",
    }
    statistics: dict[str, tuple[str, str | float]] = {name: (column, "mean") for name, column in names.items()}
    return summarise(runs, statistics, panel="n = {points}, k = {k}", profile=profile)


# --------------------------------------------------------------------------------------------------------------------
# Chains, information, intervals, estimates, costs


def chain_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the largest distance of any kernel by chain, size and step, from the greedy set and the worst one."""
    groups = rows[rows["step"] > 0].groupby(["series", "k", "step"], sort=False)
    frames = []
    for column, start in (("from_greedy", "greedy set"), ("from_worst", "worst set")):
        table = groups[column].max().rename("value").reset_index().rename(columns={"step": "x"})
        frames.append(table.assign(statistic=start, panel=[f"k = {k}" for k in table["k"]]))
    stated = rows.groupby(["series", "k"], sort=False)["stated"].first().rename("x").reset_index()
    frames.append(stated.assign(statistic="stated", value=0.01, panel=[f"k = {k}" for k in stated["k"]]))
    return as_values(pd.concat(frames), n=rows["replication"].nunique(), profile=profile)


def chain_table(values: pd.DataFrame, distance: float = 0.01) -> pd.DataFrame:
    """Return by size and chain the steps after which no kernel is farther than ``distance``, and the stated steps.

    ``values`` are those of `chain_values`; a start from which the distance is not reached has no number.
    """
    reached = values[values["value"] <= distance].groupby(["panel", "series", "statistic"], sort=False)["x"].min()
    table = reached.astype(int).astype(str).unstack("statistic", fill_value="")[["greedy set", "worst set", "stated"]]
    heads = {"greedy set": "steps from the greedy set", "worst set": "from the worst set", "stated": "stated steps"}
    return table.rename(columns=heads).rename_axis(columns=None).reset_index(names=["sets", "chain"])


def rate_values(profile: str, grids: Mapping[int, int], most: int = 4096) -> pd.DataFrame:
    r"""Return local slopes of :math:`\log\gamma_S` against :math:`\log\log S`, by eigenvalues and by greedy sets.

    ``grids`` maps dimensions to the points on a side of the grid from which greedy sets of up to ``most`` are taken.
    """
    sizes, frames = 10.0 ** np.arange(1.0, 13.0, 0.5), []
    for dimension, lengthscale in ((1, 0.2), (2, 0.2), (2, 0.05)):
        gains = information_gain(operator_eigenvalues(lengthscale, dimension), sizes, NOISE)
        middle = np.sqrt(sizes[1:] * sizes[:-1])
        line = pd.DataFrame({"x": middle, "value": local_slopes(np.asarray(sizes), gains)})
        frames.append(line.assign(panel=f"d = {dimension}", series=f"eigenvalues, length-scale {lengthscale:g}"))
    powers = 2.0 ** np.arange(6, int(np.log2(most)) + 1)
    for dimension, side in grids.items():
        axes = np.meshgrid(*[np.linspace(0.0, 1.0, side)] * dimension)
        gains = greedy_information(kernel_matrix(np.stack([a.ravel() for a in axes], axis=1), 0.2), NOISE, most)
        slopes = local_slopes(np.asarray(powers), gains[powers.astype(int) - 1])
        line = pd.DataFrame({"x": np.sqrt(powers[1:] * powers[:-1]), "value": slopes})
        frames.append(line.assign(panel=f"d = {dimension}", series="greedy sets, length-scale 0.2"))
    return as_values(pd.concat(frames), statistic="slope", profile=profile)


def coverage_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return errors over widths by position in the batch, for each size of the batch and both means."""
    names = rows["series"] + ", B = " + rows["batch"].astype(str)
    statistics: dict[str, tuple[str, str | float]] = {
        "squared": ("squared", "mean"),
        "missed": ("missed", "mean"),
        "outside": ("outside", "mean"),
        "inflation": ("inflation", "mean"),
    }
    found = summarise(rows.assign(series=names), statistics, x="position", profile=profile)
    return found.assign(panel=found["statistic"])


def maximum_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return medians of both estimates of the maximum by batch, beside the maxima of joint draws and of f."""
    one = rows[rows["series"] == "ESTn"]
    others = {"joint draws": "joint", "maximum of f": "maximum"}
    frames = [rows, *(one.assign(series=name, estimate=one[column]) for name, column in others.items())]
    return summarise(pd.concat(frames), {"median": ("estimate", "median")}, x="batch", panel="maximum", profile=profile)


def cost_values(times: pd.DataFrame, sizes: Sequence[int], ks: Sequence[int], profile: str) -> pd.DataFrame:
    """Return counted multiplications and measured seconds of one sample within 0.01 of its k-DPP."""
    lines = [
        {"panel": f"k = {k}: multiplications", "series": series, "x": n, "value": count}
        for k in ks
        for n in sizes
        for series, count in sampling_operations(n, k, 0.01).items()
    ]
    counted = as_values(pd.DataFrame(lines), statistic="cost", profile=profile)
    measured = summarise(times, {"cost": ("seconds", "median")}, x="points", panel="k = {k}: seconds", profile=profile)
    return pd.concat([counted, measured], ignore_index=True)


def batch_time_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return medians of the measured seconds of one batch, its fit included, by what grows."""
    timed = rows.assign(seconds=rows["fit"] + rows["choice"])
    return summarise(timed, {"seconds": ("seconds", "median")}, x="x", panel="{grows}", profile=profile)


def wide_table(values: pd.DataFrame, entry: str = "{value:.3f}", *, index: Sequence[str] = ("series",)) -> pd.DataFrame:
    """Return plotted values as a table of texts, with a column for each statistic."""
    shown = values.dropna(subset="value")
    texts = [entry.format(**{str(k): v for k, v in line.items()}) for line in shown.to_dict("records")]
    table = shown.assign(text=texts).pivot(index=list(index), columns="statistic", values="text")
    order = shown.set_index(list(index)).index.unique()
    table = table.reindex(order, columns=shown["statistic"].unique()).fillna("")
    return table.rename_axis(columns=None).reset_index()
