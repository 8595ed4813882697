r"""Statements of the DPP-BBO paper's analysis that a computation decides.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Sections 2 and 3, appendix.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.policies.gp_acquisition import est_width
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.dpp_bbo import theory
from bestarm_studies.dpp_bbo.theory_values import NOISE, bound_runs, printed_bounds, two_stage_bounds

Test = Mapping[str, Any]
Rows = Mapping[str, pd.DataFrame]
ROUNDING = 1e-8


def exploration_is_greedy(test: Test, rows: Rows) -> Decision:
    """Check that every arm of pure exploration has the largest gain in determinant, as greedy maximisation takes it.

    Each gain must be 1 + variance / noise, and the largest of the region's arms that are not in the batch yet.
    """
    (name,) = test["experiments"]
    repeats = rows[name]["repeats"].to_numpy(dtype=np.bool_)
    mine = rows[name][~repeats]
    beyond, largest = max(0.0, float(mine["beyond"].max())), float(mine["gain_error"].max())
    text = f"{len(mine)} batches: no arm has a gain larger by more than {beyond:.0e}, gains are 1 + variance / noise "
    text += f"to {largest:.0e}; {repeats.sum()} more batches in which exploration repeats an arm, as a subset cannot"
    return Decision(max(beyond, largest) < ROUNDING, text, informative=len(mine) > 0, checked=f"{len(mine)} batches")


def chain_rule(test: Test, rows: Rows) -> Decision:
    """Check the sums of log(1 + variance / noise) against determinants: of every batch, in any order, and of a run."""
    (name,) = test["experiments"]
    mine = rows[name]
    largest, misprint = float(mine[["batch_error", "run_error"]].max().max()), float(mine["misprint"].max())
    text = f"equal to {largest:.0e} in {len(mine)} batches; with σ for σ², as printed, up to {misprint:.1f} off"
    return Decision(largest < ROUNDING * 100, text, informative=len(mine) > 0, checked=f"{len(mine)} batches")


def never_above(test: Test, rows: Rows) -> Decision:
    """Check that a column is at most ``level`` in every run of some series, or of each in a share of 1 - ``delta``."""
    frame = pd.concat([rows[name] for name in test["experiments"]], ignore_index=True)
    mine = frame[frame["series"].isin(test["series"])]
    values = mine[test["column"]].astype(np.float64)
    beyond = values > test["level"] + 1e-6
    shares = beyond.groupby(mine["series"], sort=False).mean()
    text = f"beyond in {beyond.sum()} of {len(values)} runs; {values.mean():.3g} on average, at most {values.max():.3g}"
    if len(shares) > 1:
        text += "; by search " + ", ".join(f"{name}: {share:.1%}" for name, share in shares.items())
    return Decision(
        holds=bool((shares <= test.get("delta", 0.0)).all()),
        text=text,
        informative=len(values) > 0 and bool(values.notna().all()),
        checked="" if beyond.any() else f"{len(values)} runs",
    )


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


def first_step(test: Test) -> Decision:
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


def mean_below_greedy(test: Test, rows: Rows) -> Decision:
    """Check by enumeration that the mean log determinant of samples is at most that of the set which MAX takes."""
    frame = rows[test["experiments"][0]]
    short = frame["greedy"] - frame["expected"]
    text = f"the mean is above the greedy set in {int((short < -ROUNDING).sum())} of {len(frame)} k-DPPs, "
    text += f"{short.min():.2g} to {short.max():.2g} nats below it"
    return Decision(bool((short >= -ROUNDING).all()), text, len(frame) > 0, checked=f"{len(frame)} k-DPPs")


def chosen_arms_inside(test: Test) -> Decision:
    """Check Lemma 6.1: the normal tails beyond its width add up to at most delta over all rounds."""
    found = {delta: theory.confidence_misses(delta) for delta in test["deltas"]}
    text = "; ".join(f"probability at most {p:.2g} for δ = {delta:g}" for delta, p in found.items())
    return Decision(all(p <= delta for delta, p in found.items()), f"outside in some round with {text}")


def _independent(test: Test) -> FloatArray:
    """Return the variances of independent arms, given as pairs of a variance and how many arms have it."""
    pairs = np.asarray(test["variances"], dtype=np.float64)
    return np.repeat(pairs[:, 0], pairs[:, 1].astype(np.int64))


def sample_violates(test: Test) -> Decision:
    """Check that a sampled batch of two on independent arms violates Lemma 6.4 in a share ``at_least`` of all runs."""
    found = theory.lemma_6_4_violated(_independent(test), test["noise"], test["delta"])
    return Decision(found >= test["at_least"], f"violated with a probability of at least {found:.4f}")


def first_batch_violates(test: Test) -> Decision:
    """Check that the first batch of two on independent arms violates Lemmas 6.5 and 6.7 whichever later arm it has."""
    variances = _independent(test)
    first, after, _ = theory.independent_batch(variances, test["noise"])
    alone, later = float(np.sqrt(variances[first])), float(np.sqrt(after.max()))
    text = f"6.5: left side {alone:.3g}, right side at most {(alone + later) / 2:.3g}; "
    text += f"6.7: left side {alone**2:.3g}, right side at most {later**2:.3g}"
    return Decision(alone > later, text)


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


def information_rate(test: Test) -> Decision:
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


def constants(test: Test) -> Decision:
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


def sampling_cost(test: Test) -> Decision:
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


def est_is_ucb(test: Test) -> Decision:
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
    text = f"the same arm for {equal} of {test['posteriors']} posteriors, whose bound is the estimate, by algebra"
    return Decision(equal == test["posteriors"], text, informative=False)


def estimate_above(test: Test, rows: Rows) -> Decision:
    """Check that the estimates of a series are at least a column, up to ``errors`` standard errors of it."""
    frame = rows[test["experiments"][0]]
    mine = frame[frame["series"] == test["series"]]
    short = mine[test["column"]] - test.get("errors", 0.0) * mine["error"] - mine["estimate"]
    text = f"below in {int((short > ROUNDING).sum())} of {len(mine)} posteriors, by at most {max(short.max(), 0.0):.3g}"
    return Decision(bool((short <= ROUNDING).all()), text, checked=f"{len(mine)} posteriors")


def hidden_arms(test: Test) -> Decision:
    """Check that EST's squared width at the prior does not grow with the number of arms, as that of UCB does."""
    table = theory.prior_widths(test["sizes"])
    est, ucb = (float(table[name].iloc[-1] ** 2 - table[name].iloc[0] ** 2) for name in ("ESTn", "UCB"))
    text = f"from {test['sizes'][0]} to {test['sizes'][-1]} arms ESTn's squared width grows by {est:.2f}, "
    text += f"that of UCB by {ucb:.2f}"
    return Decision(est < 0.1 * ucb, text)


THEORY_CHECKS: dict[str, Check] = {
    "chain_rule": Check(chain_rule, {"experiments": "experiments"}),
    "chains_mix": Check(chains_mix, {"experiments": "experiments"}),
    "chosen_arms_inside": Check(chosen_arms_inside, {"deltas": "numbers"}),
    "constants": Check(
        constants,
        {"dimensions": "numbers", "batch": "number", "rounds": "number", "n_arms": "number", "delta": "number"},
    ),
    "entropy_form": Check(entropy_form, {"experiments": "experiments"}),
    "enumeration": Check(enumeration, {"experiments": "experiments"}),
    "est_is_ucb": Check(est_is_ucb, {"posteriors": "number"}),
    "estimate_above": Check(
        estimate_above, {"experiments": "experiments", "series": "series", "column": "column"}, may={"errors": "number"}
    ),
    "exploration_is_greedy": Check(exploration_is_greedy, {"experiments": "experiments"}),
    "first_batch_violates": Check(first_batch_violates, {"variances": "any", "noise": "number"}),
    "first_step": Check(first_step, {"n_arms": "number", "factor": "number", "deltas": "numbers"}),
    "hidden_arms": Check(hidden_arms, {"sizes": "numbers"}),
    "information_rate": Check(information_rate, {"kernels": "any", "largest": "number"}),
    "mean_below_greedy": Check(mean_below_greedy, {"experiments": "experiments"}),
    "never_above": Check(
        never_above,
        {"experiments": "experiments", "series": "series", "column": "column", "level": "number"},
        may={"delta": "number"},
    ),
    "regret_within": Check(
        regret_within, {"experiments": "experiments", "series": "series", "theorem": "text", "delta": "number"}
    ),
    "sample_bound": Check(sample_bound, {"experiments": "experiments"}),
    "sampling_cost": Check(sampling_cost, {"ks": "numbers", "sizes": "numbers", "factor": "number"}),
    "sample_violates": Check(
        sample_violates, {"variances": "any", "noise": "number", "delta": "number", "at_least": "number"}
    ),
    "sampling_speed": Check(sampling_speed, {"experiments": "experiments", "factor": "number"}),
}
