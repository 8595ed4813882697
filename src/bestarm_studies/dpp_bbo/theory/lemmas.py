r"""Lemmas 6.1 to 6.7 and the steps of Section 3.2: on independent arms, and in every run on drawn functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr

from bestarm.interface import BoolArray, FloatArray
from bestarm.observe import Looking
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.batch_rules import EstimatedMaximum, KDpp, UpperBound
from bestarm.policies.gaussian.gp_state import BatchGPState
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.figures.figures import draw_quantiles, headed, runs_text, wide
from bestarm_lab.figures.values import QUANTILES, as_values, summarise
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms, Maker
from bestarm_studies.dpp_bbo.gp_draws import blocks
from bestarm_studies.dpp_bbo.moments import before_batch, hallucinated, relevance_regions
from bestarm_studies.dpp_bbo.theory.information import ucb_beta, zeta

_DELTA = UpperBound().delta  # of the analysis of EST, whose width has none
_ROUNDING = 1e-9
LEMMAS = {
    "lemma_6_4": "Lemma 6.4: share of pairs that violate it",
    "lemma_6_5": "Lemma 6.5: left side over right side",
    "lemma_6_7": "Lemma 6.7: left side over right side",
}


def confidence_misses(delta: float, n: int = 10**6) -> float:
    r"""Return at most how likely Lemma 6.1 is to fail in some round.
    That is :math:`\sum_tP(|f(x_t)-\mu_{t-1}(x_t)|>\zeta_t^{1/2}\sigma_{t-1}(x_t))` with the lemma's a = 6, each the
    tail of a normal variable given the rewards before; those after the n-th are bounded by :math:`e^{-\zeta_t/2}`."""
    tails = 2.0 * ndtr(-np.sqrt(zeta(np.arange(1, n + 1), delta, 6.0)))
    return float(tails.sum() + 6.0 * delta / (np.pi**2 * n))


def independent_batch(variances: FloatArray, noise: float) -> tuple[int, FloatArray, FloatArray]:
    r"""Return the first arm of UCB on independent arms without rewards, the variances after it, and a sample's law.
    All means are equal, so the first arm has the largest variance, and the relevance region has every arm. The law is
    that of the one later arm of a batch of two: :math:`1+\sigma^{-2}\sigma^2(x)`, normalised."""
    first, after = int(np.argmax(variances)), np.array(variances, dtype=np.float64)
    after[first] *= noise / (after[first] + noise)
    law = 1.0 + after / noise
    return first, after, law / law.sum()


def lemma_6_4_violated(variances: FloatArray, noise: float, delta: float) -> float:
    """Return a lower bound on the probability that a sampled batch of two violates Lemma 6.4, on independent arms.
    If the sampled arm has a smaller deviation than the first arm afterwards and than some arm that was not tried, the
    next first arm has a larger one, unless the rewards lift the sampled arm itself above the one that was not tried."""
    variances = np.asarray(variances, dtype=np.float64)
    first, after, law = independent_batch(variances, noise)
    width = np.sqrt(ucb_beta(len(variances), 2, delta))
    total = 0.0
    for arm in range(len(variances)):
        untried = np.delete(variances, np.array([first, arm])).max(initial=0.0)
        if arm == first or after[arm] >= min(untried, after[first]):
            continue
        own, spread = after[arm] * noise / (after[arm] + noise), after[arm] / np.sqrt(after[arm] + noise)
        total += law[arm] * ndtr(width * (np.sqrt(untried) - np.sqrt(own)) / spread)
    return float(total)


@dataclass
class Batches:
    r"""What was seen of all batches of a search; arrays have shape (R, T) or, one entry for each arm, (R, T, B).
    ``deviation`` is :math:`\sigma_{t-1,b}(x_{t,b})`, given the known rewards and the arms of the batch before it;
    ``regret`` :math:`r_{t,b}`; ``width`` :math:`\beta_t^{1/2}`, ``maximum`` the estimate of the maximum; ``error`` the
    largest :math:`|f-\mu_{t-1}|/(\beta_t^{1/2}\sigma_{t-1})` of an arm; ``repeated`` whether an arm occurs twice in the
    batch; ``optimum_inside``, ``next_inside`` whether the relevance region has the best and the next first arm."""

    deviation: list[FloatArray] = field(default_factory=list)
    regret: list[FloatArray] = field(default_factory=list)
    width: list[FloatArray] = field(default_factory=list)
    maximum: list[FloatArray] = field(default_factory=list)
    error: list[FloatArray] = field(default_factory=list)
    repeated: list[BoolArray] = field(default_factory=list)
    optimum_inside: list[BoolArray] = field(default_factory=list)
    next_inside: list[BoolArray] = field(default_factory=list)
    region: BoolArray | None = None


def watch(policy: BatchGP, problem: CandidateArms, streams: Streams) -> tuple[Batches, BatchGPState]:
    """Return what was seen of the batches of a search, and its last state."""
    seen, truth = Batches(), problem.means
    states: list[BatchGPState] = []
    best, every = truth.max(axis=1), np.arange(len(truth))

    def look(state: BatchGPState) -> None:
        states[:] = [state]
        batch = hallucinated(state)
        if not batch:
            return
        deviations, means, width = np.sqrt(before_batch(state)), state.means, state.log[:, 0]
        arms = state.conditioned[:, batch.start : batch.stop]
        variances = state.pivots[:, batch.start : batch.stop] ** 2 - state.noise[:, None]
        seen.deviation.append(np.sqrt(np.maximum(variances, 0.0)))
        seen.regret.append(best[:, None] - np.take_along_axis(truth, arms, axis=1))
        seen.width.append(width.copy())
        seen.maximum.append(state.log[:, 1].copy())
        seen.error.append((np.abs(truth - means) / (width[:, None] * deviations)).max(axis=1))
        seen.repeated.append((np.diff(np.sort(arms, axis=1), axis=1) == 0).any(axis=1))
        if isinstance(policy.rule, KDpp):
            if seen.region is not None:
                seen.next_inside.append(seen.region[every, arms[:, 0]])
            seen.region = relevance_regions(policy, state)
            seen.optimum_inside.append(seen.region[every, truth.argmax(axis=1)])

    simulate(Looking(policy, look), problem, streams, metrics={})
    return seen, states[0]


def lemma_rows(
    searches: Mapping[str, BatchGP], problem: Maker, replications: int, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return, for each run on a draw of the model, whether the statements of the analysis held.
    ``lemma_6_4`` is the share of t < T and b > 1 with :math:`\sigma_t(x_{t+1,1})>\sigma_{t-1,b}(x_{t,b})`,
    ``section_3_2`` of batches with :math:`\sum_br_{t,b}>\sum_b\sigma_{t-1,b}^2`, and ``step`` of evaluations b > 1 with
    :math:`r_{t,b}>\eta^{1/2}\sigma_{t-1,b}(x_{t,b})`, where :math:`\eta^{1/2}` is :math:`2\beta_T^{1/2}` for UCB and
    :math:`\beta_{t^*}^{1/2}+\zeta_{TB}^{1/2}` for EST. Other columns, and what is NaN: ``site/pages/rows.md``."""
    functions = problem(replications=replications)
    calls = [
        joblib.delayed(_lemma_block)(series, policy, *part)
        for series, policy in searches.items()
        for part in blocks(functions, replications, seed)
    ]
    return pd.concat(joblib.Parallel(n_jobs=max(1, workers))(calls), ignore_index=True)


def _lemma_block(series: str, policy: BatchGP, problem: CandidateArms, streams: Streams) -> pd.DataFrame:
    seen, state = watch(policy, problem, streams)
    s, r, width = np.stack(seen.deviation, axis=1), np.stack(seen.regret, axis=1), np.stack(seen.width, axis=1)
    noise, size = float(state.noise[0]), s.shape[2]
    maximum, best = np.stack(seen.maximum, axis=1), problem.means.max(axis=1)
    largest = width.max(axis=1)
    est = isinstance(policy.acquisition, EstimatedMaximum)
    n = s.shape[1] * size
    eta = largest + np.sqrt(zeta(n, _DELTA, 3.0)) if est else 2.0 * largest
    every = state.pivots[:, : int(state.n_known[0])] ** 2 / noise  # 1 + variance / noise, the first arm included
    information = 0.5 * np.log(every).sum(axis=1)
    later = s[:, :-1, 1:] if size > 1 else np.empty((len(s), 0, 0))
    missing = np.full(len(s), np.nan)

    def share(found: Sequence[BoolArray]) -> FloatArray:
        return np.stack(found, axis=1).mean(axis=1) if len(found) else missing

    above = maximum >= best[:, None]
    found = {
        "regret": r.sum(axis=(1, 2)),
        "trivial": n * np.ptp(problem.means, axis=1),
        "information": information,
        "lemma_6_6": noise * (every - 1.0).sum(axis=1) / (2.0 / np.log1p(1.0 / noise) * information),
        "lemma_6_4": (s[:, 1:, :1] > later + _ROUNDING).mean(axis=(1, 2)) if size > 1 else missing,
        "lemma_6_5": s[:, :, 0].sum(axis=1) / s.mean(axis=2).sum(axis=1) if size > 1 else missing,
        "lemma_6_7": (s[:, :, 0] ** 2).sum(axis=1) / (s[:, :, 1:] ** 2).mean(axis=2).sum(axis=1)
        if size > 1
        else missing,
        "section_3_2": (r.sum(axis=2) > (s**2).sum(axis=2)).mean(axis=1),
        "step": (r[:, :, 1:] > eta[:, None, None] * s[:, :, 1:]).mean(axis=(1, 2)) if size > 1 else missing,
        "step_summed": r.sum(axis=(1, 2)) / (eta * s.sum(axis=(1, 2))),
        "width": largest,
        "event_share": missing if est else np.stack(seen.error, axis=1).max(axis=1),
        "above": above.mean(axis=1) if est else missing,
        "always_above": above.all(axis=1).astype(np.float64) if est else missing,
        "repeated": share(seen.repeated),
        "optimum_outside": 1.0 - share(seen.optimum_inside),
        "next_outside": 1.0 - share(seen.next_inside),
    }
    small = {name: np.float32(values) for name, values in found.items()}  # rows are committed
    return pd.DataFrame({"convention": "as_written", "series": series, "replication": streams.replications} | small)


def lemma_values(rows: pd.DataFrame, order: Sequence[str], profile: str) -> pd.DataFrame:
    """Return the distribution over runs of what `LEMMAS` names, one panel for each, and in how many it is violated."""
    frames, mine = [], rows[rows["series"].isin(order)]
    for column, panel in LEMMAS.items():
        most = 0.0 if column == "lemma_6_4" else 1.0  # that is claimed
        groups, broken = mine.groupby("series", sort=False)[column], mine[column] > most
        statistics = {name: groups.quantile(q) for name, q in QUANTILES.items()} | {"largest": groups.max()}
        statistics["share of runs that violate it"] = broken.groupby(mine["series"], sort=False).mean()
        table = pd.DataFrame(statistics).rename_axis("series").reset_index()
        frames.append(table.melt("series", var_name="statistic").assign(panel=panel))
    return as_values(pd.concat(frames), n=rows["replication"].nunique(), profile=profile)


def share_values(rows: pd.DataFrame, columns: Mapping[str, str], order: Sequence[str], profile: str) -> pd.DataFrame:
    """Return means over runs of some columns by series, with 95% intervals; columns map to the names of statistics."""
    mine = rows[rows["series"].isin(order)]
    statistics: dict[str, tuple[str, str | float]] = {name: (column, "mean") for column, name in columns.items()}
    return summarise(mine, statistics, panel="shares", profile=profile).dropna(subset="value")


def lemma_figure(values: pd.DataFrame, order: Sequence[str], *, title: str) -> Figure:
    """Return the distribution over runs of what each lemma says, a column for each lemma, a line for each series."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 0.32 * len(order) + 1.0), sharey=True)
    for axis, panel in zip(axes, panels, strict=True):
        draw_quantiles(axis, values[values["panel"] == panel], order)
        lemma, _, what = panel.partition(": ")
        most, left = (0.0, -0.03) if what.startswith("share") else (1.0, 0.0)
        axis.axvline(most, color="black", ls="--", lw=1.0, zorder=1)
        axis.set(title=lemma, xlabel=what, xlim=(left, None))
    reading = "thick: quartiles, thin: 5% to 95%, tick: largest; dashed: most that is claimed"
    return headed(figure, title, runs_text(values["n"]), reading)


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


def chosen_arms_inside(test: Test) -> Decision:
    """Check Lemma 6.1: the normal tails beyond its width add up to at most delta over all rounds."""
    found = {delta: confidence_misses(delta) for delta in test["deltas"]}
    text = "; ".join(f"probability at most {p:.2g} for δ = {delta:g}" for delta, p in found.items())
    return Decision(all(p <= delta for delta, p in found.items()), f"outside in some round with {text}")


def _independent(test: Test) -> FloatArray:
    """Return the variances of independent arms, given as pairs of a variance and how many arms have it."""
    pairs = np.asarray(test["variances"], dtype=np.float64)
    return np.repeat(pairs[:, 0], pairs[:, 1].astype(np.int64))


def sample_violates(test: Test) -> Decision:
    """Check that a sampled batch of two on independent arms violates Lemma 6.4 in a share ``at_least`` of all runs."""
    found = lemma_6_4_violated(_independent(test), test["noise"], test["delta"])
    return Decision(found >= test["at_least"], f"violated with a probability of at least {found:.4f}")


def first_batch_violates(test: Test) -> Decision:
    """Check that the first batch of two on independent arms violates Lemmas 6.5 and 6.7 whichever later arm it has."""
    variances = _independent(test)
    first, after, _ = independent_batch(variances, test["noise"])
    alone, later = float(np.sqrt(variances[first])), float(np.sqrt(after.max()))
    text = f"6.5: left side {alone:.3g}, right side at most {(alone + later) / 2:.3g}; "
    text += f"6.7: left side {alone**2:.3g}, right side at most {later**2:.3g}"
    return Decision(alone > later, text)


CHECKS = {
    "chosen_arms_inside": Check(chosen_arms_inside, {"deltas": "numbers"}),
    "first_batch_violates": Check(first_batch_violates, {"variances": "any", "noise": "number"}),
    "never_above": Check(
        never_above, {"series": "series", "column": "column", "level": "number"}, may={"delta": "number"}
    ),
    "sample_violates": Check(
        sample_violates, {"variances": "any", "noise": "number", "delta": "number", "at_least": "number"}
    ),
}
