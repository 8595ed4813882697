r"""Statements of the DPP-BBO paper's analysis that a computation decides.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Sections 2 and 3, appendix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm.experiments.observe import Looking
from bestarm.experiments.simulate import simulate
from bestarm.policies.gp_acquisition import est_width
from bestarm.policies.gp_state import BatchGPState
from bestarm.reporting.study import project_seed
from bestarm.reporting.verdicts import Decision
from bestarm.streams import Streams
from bestarm_studies.dpp_bbo import theory
from bestarm_studies.dpp_bbo.asked_batch import dpp_kernel, hallucinated, relevance_regions
from bestarm_studies.dpp_bbo.series import on_draws
from bestarm_studies.dpp_bbo.theory_experiments import EXPLORES, FUNCTIONS
from bestarm_studies.dpp_bbo.theory_values import NOISE, bound_runs, draw_kernel, printed_bounds, two_stage_bounds

Test = Mapping[str, Any]
Rows = Mapping[str, pd.DataFrame]
ROUNDING = 1e-8


def _looked_at(policy: Any, runs: int, look: Callable[[BatchGPState], None]) -> None:
    """Run a search on so many drawn functions, looking at every batch before its rewards."""
    problem = FUNCTIONS(replications=runs)

    def batches(state: BatchGPState) -> None:
        if hallucinated(state):
            look(state)

    streams = Streams.first(runs, seed=project_seed(), instance=problem.label)
    simulate(Looking(policy, batches), problem, streams, metrics={})


def exploration_is_greedy(test: Test, rows: Rows) -> Decision:
    """Check that every arm of pure exploration has the largest gain in determinant, as greedy maximisation takes it.

    The DPP kernel is formed from the prior. Each gain must be 1 + variance / noise, and the largest of the region's
    arms that are not in the batch yet; ``runs`` names how many functions are searched.
    """
    beyond, largest, repeats, checked = 0.0, 0.0, 0, 0

    def look(state: BatchGPState) -> None:
        nonlocal beyond, largest, repeats, checked
        batch = hallucinated(state)
        first, last = batch.start, batch.stop
        inside = relevance_regions(EXPLORES, state)
        for r in range(len(inside)):
            region, arms = np.flatnonzero(inside[r]), state.conditioned[r, first + 1 : last]
            if len(set(arms)) < len(arms):
                repeats += 1
                continue
            kernel, places = dpp_kernel(state, r, region), np.searchsorted(region, arms)
            gains, taken = np.diagonal(kernel).copy(), np.zeros((0, len(region)))
            for b, place in enumerate(places):
                gain = state.pivots[r, first + 1 + b] ** 2 / state.noise[r]
                largest = max(largest, abs(gains[place] / gain - 1.0))
                beyond = max(beyond, float(np.delete(gains, places[:b]).max() / gain - 1.0))
                row = (kernel[place] - taken[:, place] @ taken) / np.sqrt(gains[place])
                taken, gains = np.vstack([taken, row]), gains - row**2
            checked += 1

    _looked_at(EXPLORES, int(test["runs"]), look)
    text = f"{checked} batches: no arm has a gain larger by more than {beyond:.0e}, gains are 1 + variance / noise to "
    text += f"{largest:.0e}; {repeats} more batches in which exploration repeats an arm, as a subset cannot"
    return Decision(max(beyond, largest) < ROUNDING, text, informative=checked > 0, checked=f"{checked} batches")


def chain_rule(test: Test, rows: Rows) -> Decision:
    """Check the sums of log(1 + variance / noise) against determinants: of every batch, in any order, and of a run."""
    policy, generator = on_draws()["UCB-DPP-SAMPLE"], np.random.default_rng(0)
    largest, misprint, checked = 0.0, 0.0, 0

    def look(state: BatchGPState) -> None:
        nonlocal largest, misprint, checked
        batch = hallucinated(state)
        first, last = batch.start, batch.stop
        for r in range(len(state.noise)):
            gains = state.pivots[r, :last] ** 2 / state.noise[r]
            arms = generator.permutation(state.conditioned[r, first + 1 : last])
            batch = np.log(gains[first]) + np.linalg.slogdet(dpp_kernel(state, r, arms))[1]
            every = state.conditioned[r, :last]
            whole = np.linalg.slogdet(np.eye(last) + draw_kernel()[np.ix_(every, every)] / state.noise[r])[1]
            sums = np.log(gains[first:]).sum(), np.log(gains).sum()
            largest = max(largest, abs(sums[0] - batch), abs(sums[1] - whole))
            deviations = np.sqrt((gains[first:] - 1.0) * state.noise[r])
            misprint = max(misprint, abs(float(np.log1p(deviations / state.noise[r]).sum()) - batch))
            checked += 1

    _looked_at(policy, int(test["runs"]), look)
    text = f"equal to {largest:.0e} in {checked} batches; with σ for σ², as printed, up to {misprint:.1f} off"
    return Decision(largest < ROUNDING * 100, text, informative=checked > 0, checked=f"{checked} batches")


def never_above(test: Test, rows: Rows) -> Decision:
    """Check that a column is at most ``level`` in every run of some ``series``, whose rows are ``experiments``."""
    frame = pd.concat([rows[name] for name in test["experiments"]], ignore_index=True)
    values = frame.loc[frame["series"].isin(test["series"]), test["column"]].to_numpy(dtype=np.float64)
    beyond = int((values > test["level"] + 1e-6).sum())
    text = f"beyond in {beyond} of {len(values)} runs; {values.mean():.3g} on average, at most {values.max():.3g}"
    return Decision(beyond == 0, text, informative=len(values) > 0, checked=f"{len(values)} runs")


def regret_within(test: Test, rows: Rows) -> Decision:
    """Check that regrets stay within a ``theorem``'s bound in a share of 1 - delta of the runs of each of some series.

    A bound above the regret of the worst arms cannot be exceeded, and says nothing.
    """
    found = rows[test["experiments"][0]]
    runs = two_stage_bounds(found) if "first_stage" in found else bound_runs(found)
    mine = runs[runs["series"].isin(test["series"]) & (runs["theorem"] == test["theorem"])]
    within = (mine["regret"] <= mine["bound"]).groupby(mine["series"]).mean()
    used, over = (mine["regret"] / mine["bound"]).max(), (mine["bound"] / mine["trivial"]).min()
    text = f"within in {within.min():.3f} of the runs or more; at most {used:.2g} of the bound, which is at least "
    text += f"{over:.3g} times the regret of the worst arms"
    return Decision(bool((within >= 1.0 - test["delta"]).all()), text, informative=bool(over < 1.0))


def first_step(test: Test, rows: Rows) -> Decision:
    """Check Theorem 2.1 for UCB at T = 1 on independent arms: the probability of more regret than its bound."""
    excess = {d: theory.first_step_excess(int(test["n_arms"]), d, float(test["factor"])) for d in test["deltas"]}
    text = "; ".join(f"probability {p:.3g} for δ = {d:g}" for d, p in excess.items())
    return Decision(all(p <= d for d, p in excess.items()), f"{test['n_arms']} arms: more regret with {text}")


def enumeration(test: Test, rows: Rows) -> Decision:
    """Check by enumeration that E log det = -H + log Z, that H is in [0, log n choose k], and three forms of Z."""
    frame = rows[test["experiments"][0]]
    error = float(frame[["identity", "sums"]].max().max())
    inside = bool(frame["entropy"].between(0.0, frame["log_sets"] + ROUNDING).all())
    below = bool((frame["expected"] <= frame["largest"] + ROUNDING).all())
    text = f"{len(frame)} k-DPPs, identities to {error:.0e}"
    return Decision(error < ROUNDING and inside and below, text, checked=f"{len(frame)} k-DPPs")


def entropy_form(test: Test, rows: Rows) -> Decision:
    """Check whether Theorem 3.4's form -H + k log n + max log det is ever below the largest log det itself."""
    frame = rows[test["experiments"][0]]
    more = frame["k"] * np.log(frame["points"]) - frame["entropy"]
    text = f"larger by {more.min():.2f} to {more.max():.2f} nats in {int((more > 0).sum())} of {len(frame)} k-DPPs"
    return Decision(bool((more <= 0).all()), text)


def sample_bound(test: Test, rows: Rows) -> Decision:
    """Check Theorem 3.4 as printed: the square of the mean regret of T batches against its bound, for every T."""
    table = printed_bounds(rows[test["experiments"][0]])
    beyond = table[table["regret"] ** 2 > table["squared_bound"]]
    if beyond.empty:
        return Decision(True, f"within for T = 1 to {len(table)}")
    last = table.iloc[-1]
    text = f"exceeded from T = {int(beyond['batch'].min())} on; at T = {int(last['batch'])} the bound on the squared "
    text += f"regret is {last['squared_bound']:.3g}, the square {last['regret'] ** 2:.3g}"
    return Decision(False, text)


def information_rate(test: Test, rows: Rows) -> Decision:
    """Check that the slope of log γ in log log S is at most d just below ``largest``, by the operator's eigenvalues."""
    found = {}
    for dimension, lengthscale in test["kernels"]:
        sizes = np.array([test["largest"] / 10.0, test["largest"]])
        gains = theory.information_gain(theory.operator_eigenvalues(lengthscale, dimension), sizes, NOISE)
        found[dimension, lengthscale] = float(theory.local_slopes(sizes, gains)[0])
    words = [f"slope {slope:.2f} for d = {d}, length-scale {scale:g}" for (d, scale), slope in found.items()]
    return Decision(
        all(slope <= d for (d, _), slope in found.items()), f"at S = {test['largest']:.0e}: {', '.join(words)}"
    )


def constants(test: Test, rows: Rows) -> Decision:
    """Check that the bounds of GP-BUCB and B-EST exceed those of DPP-MAX with the C' of the RBF kernel."""
    given = (int(test["batch"]), int(test["rounds"]), int(test["n_arms"]), float(test["delta"]))
    table = theory.constants_table(test["dimensions"], *given)
    ucb, est = theory.needed_inflation(*given)
    text = f"C' = 10^{table['log10_C'].iloc[0]:.2g} to 10^{table['log10_C'].iloc[-1]:.3g}; larger where C' is above "
    text += f"{ucb:.2f} (UCB) or {est:.2f} (EST)"
    return Decision(bool((table[["log10_ucb", "log10_est"]] > 0).all().all()), text)


def chains_mix(test: Test, rows: Rows) -> Decision:
    """Check that both chains are within 0.01 of their k-DPP after the stated steps, from the greedy set."""
    frame = rows[test["experiments"][0]]
    near = frame[frame["from_greedy"] <= 0.01]
    needed = near.groupby(["series", "k", "replication"])["step"].min()
    stated = frame.groupby(["series", "k", "replication"])["stated"].first()
    whole = bool(needed.index.equals(stated.index)) and bool((needed <= stated).all())
    still = float(frame["stationary"].max())
    words = [f"{name} {part.min()}-{part.max()} steps" for name, part in needed.groupby(level="series")]
    limits = [f"{part.min()}-{part.max()}" for _, part in stated.groupby(level="series")]
    text = ", ".join(f"{word} of {limit} stated" for word, limit in zip(words, limits, strict=True))
    return Decision(whole and still < 1e-12, text, checked=f"{len(stated)} chains")


def sampling_cost(test: Test, rows: Rows) -> Decision:
    """Check that the exchange chain takes at least ``factor`` times fewer multiplications than the exact sampler."""
    words, holds = [], True
    for k in test["ks"]:
        counts = [theory.sampling_operations(n, k, 0.01) for n in test["sizes"]]
        ratios = [c["exact"] / c["exchange chain"] for c in counts]
        slope = np.polyfit(np.log(test["sizes"]), np.log([c["exchange chain"] for c in counts]), 1)[0]
        holds &= ratios[-1] >= test["factor"]
        words.append(f"k = {k}: {ratios[0]:.3g} to {ratios[-1]:.3g} times fewer, growing like n^{slope:.2f}")
    return Decision(holds, f"n = {test['sizes'][0]} to {test['sizes'][-1]}; {'; '.join(words)}")


def sampling_speed(test: Test, rows: Rows) -> Decision:
    """Check that at the most points the exchange chain is at least ``factor`` times faster than the exact sampler."""
    seconds = rows[test["experiments"][0]].groupby(["k", "points", "series"])["seconds"].median().unstack("series")
    ratios = (seconds["exact"] / seconds["exchange chain"]).unstack("points")
    words = [
        f"k = {k}: {', '.join(f'{ratio:.2g} (n = {n})' for n, ratio in line.items())}" for k, line in ratios.iterrows()
    ]
    holds = bool((ratios.iloc[:, -1] >= test["factor"]).all())
    return Decision(holds, f"seconds of exact over exchange, {'; '.join(words)}")


def est_is_ucb(test: Test, rows: Rows) -> Decision:
    """Check Lemma 3.1 on random posteriors: EST's arm is that of UCB with EST's width."""
    generator, equal = np.random.default_rng(0), 0
    for _ in range(int(test["posteriors"])):
        means, variances = generator.standard_normal(50), generator.gamma(2.0, 0.2, 50)
        maximum = float(means.max() + generator.gamma(1.0))
        width = est_width(means, variances, maximum)
        ucb = means + width * np.sqrt(variances)
        equal += int(
            ucb.argmax() == ((maximum - means) / np.sqrt(variances)).argmin() and abs(ucb.max() - maximum) < 1e-9
        )
    text = f"the same arm for {equal} of {test['posteriors']} posteriors, whose bound is the estimate"
    return Decision(equal == test["posteriors"], text, checked=f"{test['posteriors']} posteriors")


def estimate_above(test: Test, rows: Rows) -> Decision:
    """Check that the estimates of a series are at least a column, up to ``errors`` standard errors of it."""
    frame = rows[test["experiments"][0]]
    mine = frame[frame["series"] == test["series"]]
    short = mine[test["column"]] - test.get("errors", 0.0) * mine["error"] - mine["estimate"]
    text = f"below in {int((short > ROUNDING).sum())} of {len(mine)} posteriors, by at most {max(short.max(), 0.0):.3g}"
    return Decision(bool((short <= ROUNDING).all()), text, checked=f"{len(mine)} posteriors")


def hidden_arms(test: Test, rows: Rows) -> Decision:
    """Check that EST's squared width at the prior does not grow with the number of arms, as that of UCB does."""
    table = theory.prior_widths(test["sizes"])
    est, ucb = (float(table[name].iloc[-1] ** 2 - table[name].iloc[0] ** 2) for name in ("ESTn", "UCB"))
    text = f"from {test['sizes'][0]} to {test['sizes'][-1]} arms ESTn's squared width grows by {est:.2f}, "
    text += f"that of UCB by {ucb:.2f}"
    return Decision(est < 0.1 * ucb, text)


THEORY_CHECKS: dict[str, Callable[[Test, Rows], Decision]] = {
    "chain_rule": chain_rule,
    "chains_mix": chains_mix,
    "constants": constants,
    "entropy_form": entropy_form,
    "enumeration": enumeration,
    "est_is_ucb": est_is_ucb,
    "estimate_above": estimate_above,
    "exploration_is_greedy": exploration_is_greedy,
    "first_step": first_step,
    "hidden_arms": hidden_arms,
    "information_rate": information_rate,
    "never_above": never_above,
    "regret_within": regret_within,
    "sample_bound": sample_bound,
    "sampling_cost": sampling_cost,
    "sampling_speed": sampling_speed,
}
