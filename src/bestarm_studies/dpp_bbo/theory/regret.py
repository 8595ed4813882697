r"""Theorems 2.1, 3.2 and 3.3: the full cumulative regret of searches beside its bounds, in a figure with Theorem 3.4.

The two-stage form of Theorem 3.2 is that of Desautels, Krause and Burdick, JMLR 2014; its Table 1 is quoted from other
works, not checked in the text. Greedy sets: Nemhauser, Wolsey and Fisher, Mathematical Programming 1978.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr

from bestarm.interface import Ask, FloatArray
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.batch_rules import Hallucinate
from bestarm.policies.gaussian.gp_state import LOG
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.figures.figures import line_panels, runs_text
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import as_values, summarise
from bestarm_studies.dpp_bbo.candidate_arms import Maker
from bestarm_studies.dpp_bbo.gp_draws import FUNCTIONS, blocks, kernel_matrix
from bestarm_studies.dpp_bbo.theory.information import (
    BATCH,
    DELTA,
    GREEDY,
    N_ARMS,
    NOISE,
    draw_information,
    draw_kernel,
    greedy_information,
    information_gain,
    regret_bound,
    stacked,
    ucb_beta,
    zeta,
)

_WIDTH = LOG.index("width")
BOUND_STYLES = {"Theorem 3.3": Style("0.2", "", "--"), "worst arms": Style("0.45", "", DOTS)}
TERM_STYLES = {
    "information γ": Style("0.35", "s", DOTS),
    "sum of entropies": Style("#009E73", "^", "-."),
    "bracket as printed": Style("#D55E00", "o"),
    "bracket as proved": Style("#0072B2", "v", "--"),
}


def two_stage_rows(
    searches: Sequence[BatchGP], problem: Maker, replications: int, level: float, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    """Return the full cumulative regret of searches after a first stage as long as the theorem needs it.
    The first stage evaluates arms of largest variance, in batches, until B - 1 more can tell at most ``level`` of
    information about any other; then widths are inflated by :math:`C'=e^C` with C that level."""
    functions, frames = problem(replications=replications), []
    for search in searches:
        prior = kernel_matrix(functions.features, float(np.ravel(search.model.lengthscale)[0]))
        size = search.batch
        first = -(-first_stage(prior, search.model.noise, size, level) // size)  # batches
        if not isinstance(search.rule, Hallucinate):
            raise ValueError(f"{search.label} must hallucinate to have a first stage, got {search.rule}; take gp_bucb.")
        rule = replace(search.rule, inflation=float(np.exp(level)))
        policy = replace(search, first=0, rounds=first + search.rounds, rule=rule)
        for part, streams in blocks(functions, replications, seed):
            state, pulled = policy.start(part.arms, streams), part.arms.no_pulls(len(streams.replications))
            best, spent, first_regret = part.means.max(axis=1), np.zeros(len(part.means)), np.zeros(len(part.means))
            width = np.zeros(len(part.means))
            for turn in range(policy.rounds):
                if turn < first:
                    arms = np.empty((len(spent), size), dtype=np.int64)
                    for b in range(size):
                        arms[:, b] = state.variances.argmax(axis=1)
                        state.condition(arms[:, b : b + 1])
                    asked = Ask(arms, np.ones_like(arms))
                else:
                    asked = policy.ask(state)
                    width = np.maximum(width, state.log[:, _WIDTH] / rule.inflation)
                policy.tell(state, asked, part.rewards(asked, pulled, streams))
                spent += (best[:, None] - np.take_along_axis(part.means, asked.arms, axis=1)).sum(axis=1)
                if turn == first - 1:
                    first_regret = spent.copy()
            n = policy.rounds * size
            frames.append(
                pd.DataFrame(
                    {
                        "series": search.label,
                        "replication": streams.replications,
                        "first_stage": first * size,
                        "evaluations": n,
                        "first_regret": first_regret,
                        "regret": spent,
                        "width": width,
                        "inflation": rule.inflation,
                        "largest": np.abs(part.means).max(axis=1),
                        "trivial": n * np.ptp(part.means, axis=1),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True).assign(convention="as_written")


def first_stage(kernel: FloatArray, noise: float, batch: int, level: float, most: int = 1000) -> int:
    """Return how many greedy arms must come first until B - 1 more tell at most ``level`` of information.
    What they can tell is bounded by e/(e - 1) times what the next greedy arms tell (Nemhauser and others)."""
    gains = np.diff(greedy_information(kernel, noise, most + batch - 1), prepend=0.0)
    left = GREEDY * np.convolve(gains, np.ones(batch - 1), mode="valid")
    enough = np.flatnonzero(left <= level)
    return int(enough[0]) if len(enough) else -1


def inflation_of(dimension: int) -> float:
    r"""Return :math:`\log C'` for the squared-exponential kernel, :math:`((2d+2)/e)^{d+1}` (Desautels, Table 1)."""
    return float(((2.0 * dimension + 2.0) / np.e) ** (dimension + 1))


def constants_table(dimensions: Sequence[int], batch: int, rounds: int, n_arms: int, delta: float) -> pd.DataFrame:
    r"""Return by dimension how much larger the bounds of GP-BUCB and B-EST are than those of DPP-MAX.
    Both have the same :math:`\gamma_{TB}`. What remains is :math:`C'\sqrt{8\beta_{TB}/(36\beta_T)}` for UCB, and for
    EST, with the same largest width and leaving out :math:`\zeta`, :math:`C'\sqrt{2/36}`: the proof of Lemma 6.2 needs
    no more than 2. The first stage is left out, which favours GP-BUCB. ``log10_growth``: of :math:`e^{d^d}`."""
    ucb = np.sqrt(8.0 * ucb_beta(n_arms, rounds * batch, delta) / (36.0 * ucb_beta(n_arms, rounds, delta)))
    ten = np.log(10.0)
    log_c = np.array([inflation_of(d) for d in dimensions]) / ten
    table = {"d": dimensions, "log10_C": log_c, "log10_growth": [float(d) ** d / ten for d in dimensions]}
    return pd.DataFrame(table | {"log10_ucb": log_c + np.log10(ucb), "log10_est": log_c + 0.5 * np.log10(2.0 / 36.0)})


def needed_inflation(batch: int, rounds: int, n_arms: int, delta: float) -> tuple[float, float]:
    """Return C' below which GP-BUCB's bound, and B-EST's, is smaller than that of DPP-MAX; see `constants_table`."""
    table = constants_table([1], batch, rounds, n_arms, delta).iloc[0]
    return float(10 ** (table["log10_C"] - table["log10_ucb"])), float(10 ** (table["log10_C"] - table["log10_est"]))


def two_stage_bounds(rows: pd.DataFrame) -> pd.DataFrame:
    r"""Return what Theorem 3.2 gives for each run after its first stage, with the columns of `bound_runs`.
    That is :math:`C'R^{seq}+2\|f\|_\infty T^{init}` with the bound of Theorem 2.1 for all evaluations in place of the
    sequential regret; for GP-BUCB with twice its width, see `bound_runs`."""
    n = rows["evaluations"].to_numpy()
    information = draw_information(int(n.max()))[n - 1]
    ucb = 2.0 * np.sqrt(ucb_beta(N_ARMS, n, DELTA))
    est = rows["width"].to_numpy(dtype=np.float64) + np.sqrt(zeta(n, DELTA, 1.0))
    sequential = regret_bound(2.0, n, np.where(rows["series"] == "B-EST", est, ucb), information, NOISE)
    bound = rows["inflation"] * sequential + 2.0 * rows["largest"] * rows["first_stage"]
    return rows[["series", "replication", "regret", "trivial"]].assign(theorem="3.2", bound=bound)


def constants(test: Test) -> Decision:
    """Check that the bounds of GP-BUCB and B-EST exceed those of DPP-MAX with the C' of the RBF kernel."""
    given = (int(test["batch"]), int(test["rounds"]), int(test["n_arms"]), float(test["delta"]))
    table = constants_table(test["dimensions"], *given)
    ucb, est = needed_inflation(*given)
    text = f"C' = 10^{table['log10_C'].iloc[0]:.2g} to 10^{table['log10_C'].iloc[-1]:.3g}; larger where C' is above "
    text += f"{ucb:.2f} (UCB) or {est:.2f} (EST)"
    return Decision(bool((table[["log10_ucb", "log10_est"]] > 0).all().all()), text)


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
    names = {
        "mean regret": ("regret", "mean"),
        "median bound": ("bound", "median"),
        "largest regret / bound": ("used", "max"),
        "smallest bound / worst arms": ("over", "min"),
    }
    table = runs.groupby(["series", "theorem"], sort=False).agg(**names).reset_index()
    tidy = table.rename(columns={"theorem": "x"}).melt(["series", "x"], var_name="statistic")
    return as_values(tidy, panel="bounds", n=rows["replication"].nunique(), profile=profile)


def curve_values(rows: pd.DataFrame, order: Sequence[str], profile: str) -> pd.DataFrame:
    """Return the mean cumulative regret of searches against their batches T, with Theorem 3.3's bound for UCB."""
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
    bounds = regret_bound(36.0, sizes, np.sqrt(ucb_beta(N_ARMS, sizes / BATCH, DELTA)), information, NOISE)
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


def theorems_figure(regrets: pd.DataFrame, order: Sequence[str], entropies: pd.DataFrame, *, title: str) -> Figure:
    """Return what two theorems say against the number of batches: above, the mean cumulative regret below Theorem 3.3's
    bound, on a logarithmic axis; below, the terms of Theorem 3.4's bracket and the bracket itself."""
    both: dict[str, Any] = {"x": "batches T", "title": ""}
    of_regret = both | {"log": "y", "styles": BOUND_STYLES, "y": "full cumulative regret"}
    of_terms = both | {"styles": TERM_STYLES, "y": "nats", "reference": 0.0}
    of_terms["reference_label"] = "zero: less is impossible"
    order = [*order, *BOUND_STYLES]
    above = partial(line_panels, regrets, order, statistic="regret", titles={"regret": "Theorem 3.3"}, **of_regret)
    below = partial(line_panels, entropies, list(TERM_STYLES), statistic="mean", **of_terms)
    runs = runs_text(pd.concat([regrets["n"], entropies["n"]]))
    return stacked([(2.6, above), (2.6, below)], title, runs, "bars: 95% intervals")


CHECKS = {
    "constants": Check(
        constants,
        {"dimensions": "numbers", "batch": "number", "rounds": "number", "n_arms": "number", "delta": "number"},
    ),
    "first_step": Check(first_step, {"n_arms": "number", "factor": "number", "deltas": "numbers"}),
    "regret_within": Check(regret_within, {"series": "series", "theorem": "text", "delta": "number"}),
}
