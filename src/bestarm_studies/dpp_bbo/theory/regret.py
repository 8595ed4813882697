r"""Theorems 2.1 and 3.3: the full cumulative regret of searches beside its bounds, in a figure with Theorem 3.4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr

from bestarm.interface import FloatArray
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.figures.figures import line_panels, runs_text
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import as_values, summarise
from bestarm_studies.dpp_bbo.gp_draws import FUNCTIONS
from bestarm_studies.dpp_bbo.stacked import stacked
from bestarm_studies.dpp_bbo.theory.bounds import (
    BATCH,
    DELTA,
    N_ARMS,
    NOISE,
    draw_information,
    draw_kernel,
    regret_bound,
    ucb_beta,
    zeta,
)
from bestarm_studies.dpp_bbo.theory.information import information_gain
from bestarm_studies.dpp_bbo.theory.two_stage import two_stage_bounds
from bestarm_studies.dpp_bbo.values import Rows, Test


def first_step_excess(n_arms: int, delta: float, factor: float) -> float:
    r"""Return the probability that UCB's first regret exceeds Theorem 2.1's bound, where arms are independent.
    For the kernel :math:`k(x,x')=1[x=x']` and T = 1 the bound is :math:`\sqrt{c\beta_1/2}` whatever the noise, since
    :math:`\gamma_1=\frac12\log(1+\sigma^{-2})`, and the regret is the maximum of all arms less any one of them."""
    bound = np.sqrt(0.5 * factor * ucb_beta(n_arms, 1, delta))
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    beyond = -np.expm1((n_arms - 1) * np.log(ndtr(nodes + bound)))
    return float(weights @ beyond / np.sqrt(2.0 * np.pi))


def bound_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each run the ``bound`` that a theorem gives for it, beside its regret and that of the worst arms."""
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
    """Return the mean cumulative regret of searches against their batches T, with Theorem 3.3's bound for UCB.
    ``rows`` are those of the experiment ``gp_draws``; the regret has that of the random first arm in it. ``worst arms``
    is what TB of the worst arms cost on average."""
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
    The information is that of n evaluations spread evenly over the candidates, which is at most :math:`\gamma_n`."""
    eigenvalues = np.linalg.eigvalsh(draw_kernel()) / N_ARMS
    sizes = np.unique(np.round(np.geomspace(10, 1e6, 400) / BATCH).astype(np.int64)) * BATCH
    information = information_gain(np.maximum(eigenvalues, 0.0), sizes.astype(np.float64), NOISE)
    root = np.sqrt(ucb_beta(N_ARMS, sizes / BATCH, DELTA))
    bounds = regret_bound(36.0, sizes, root, information, NOISE)
    return int(sizes[np.argmax(bounds < spread * sizes)])


def regret_within(test: Test, rows: Rows) -> Decision:
    """Check that regrets stay within a ``theorem``'s bound in a share of 1 - delta of the runs of each of some series.
    A bound above the regret of the worst arms cannot be exceeded, and says nothing."""
    found = rows[test["experiments"][0]]
    runs = two_stage_bounds(found) if "first_stage" in found else bound_runs(found)
    mine = runs[runs["series"].isin(test["series"]) & (runs["theorem"] == test["theorem"])]
    within = (mine["regret"] <= mine["bound"]).groupby(mine["series"]).mean()
    used, over = (mine["regret"] / mine["bound"]).max(), (mine["bound"] / mine["trivial"]).min()
    text = f"within in {within.min():.3f} of the runs or more; at most {used:.2g} of the bound, which is at least "
    text += f"{over:.3g} times the regret of the worst arms"
    return Decision(bool((within >= 1.0 - test["delta"]).all()), text, informative=bool(over < 1.0))


def first_step(test: Test) -> Decision:
    """Check Theorem 2.1 for UCB at T = 1 on independent arms: the probability of more regret than its bound."""
    excess = {d: first_step_excess(int(test["n_arms"]), d, float(test["factor"])) for d in test["deltas"]}
    text = "; ".join(f"probability {p:.3g} for δ = {d:g}" for d, p in excess.items())
    return Decision(all(p <= d for d, p in excess.items()), f"{test['n_arms']} arms: more regret with {text}")


BOUND_STYLES = {"Theorem 3.3": Style("0.2", "", "--"), "worst arms": Style("0.45", "", DOTS)}
TERM_STYLES = {
    "information γ": Style("0.35", "s", DOTS),
    "sum of entropies": Style("#009E73", "^", "-."),
    "bracket as printed": Style("#D55E00", "o"),
    "bracket as proved": Style("#0072B2", "v", "--"),
}


def theorems_figure(
    regrets: pd.DataFrame, order: Sequence[str], entropies: pd.DataFrame, *, title: str, setting: str = ""
) -> Figure:
    """Return what two theorems say against the number of batches: above, the mean cumulative regret below Theorem 3.3's
    bound, on a logarithmic axis; below, the terms of Theorem 3.4's bracket and the bracket itself."""

    def above(part: Any) -> None:
        line_panels(
            regrets,
            [*order, *BOUND_STYLES],
            figure=part,
            statistic="regret",
            titles={"regret": "Theorem 3.3"},
            log="y",
            styles=BOUND_STYLES,
            x="batches T",
            y="full cumulative regret",
            title="",
        )

    def below(part: Any) -> None:
        line_panels(
            entropies,
            list(TERM_STYLES),
            figure=part,
            statistic="mean",
            titles={"Theorem 3.4": "Theorem 3.4"},
            styles=TERM_STYLES,
            reference=0.0,
            reference_label="zero: less is impossible",
            x="batches T",
            y="nats",
            title="",
        )

    words = [runs_text(pd.concat([regrets["n"], entropies["n"]])), "bars: 95% intervals", setting]
    return stacked([(2.6, above), (2.6, below)], title=title, setting="; ".join(filter(None, words)))


CHECKS = {
    "first_step": Check(first_step, {"n_arms": "number", "factor": "number", "deltas": "numbers"}),
    "regret_within": Check(
        regret_within, {"experiments": "experiments", "series": "series", "theorem": "text", "delta": "number"}
    ),
}
