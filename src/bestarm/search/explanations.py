"""Predictions for all candidates, why each one of a batch is there, and what the batch before has taught."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from bestarm.interface import FloatArray, IntArray
from bestarm.search.candidates import Candidates
from bestarm.search.errors import mean_of
from bestarm.search.next_batch import Plan
from bestarm.search.rounds import Chunk, Round, Suggestion, Values, aim_of, of_prediction, reward

TOP_SHARE = 0.05  # of the measured candidates, by which a hit is defined if nobody says from which value
FEWEST = 20  # measured candidates for that
_HIGH = 0.9  # share of the candidates left that an uncertain, or a novel, one exceeds


def nearest_measured(scores: FloatArray, places: IntArray, measured: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the root mean square difference of candidates to the nearest measured one, and which one that is."""
    squares = (scores**2).sum(axis=1)
    best, where = np.full(len(places), np.inf), np.zeros(len(places), np.int64)
    for start in range(0, len(measured), 512):
        some = measured[start : start + 512]
        found = squares[places][:, None] + squares[some] - 2.0 * scores[places] @ scores[some].T
        closest = found.argmin(axis=1)
        value = found[np.arange(len(places)), closest]
        where = np.where(value < best, some[closest], where)
        best = np.minimum(best, value)
    return np.sqrt(np.maximum(best, 0.0) / scores.shape[1]), where


def suggestions(
    plan: Plan,
    candidates: Candidates,
    scores: FloatArray,
    each: Round,
    chunks: Sequence[Chunk],
    prediction: tuple[FloatArray, FloatArray] | None,
) -> list[Suggestion]:
    """Return why each candidate of a round's batch is in it, by standardised features, (n, d), and what was told."""
    names, batch = candidates.names, candidates.places(each.names)
    told = np.concatenate([np.zeros(0, np.int64), *(chunk.places for chunk in chunks)])
    good = ~np.isnan(np.concatenate([np.zeros(0), *(chunk.rewards for chunk in chunks)]))
    if prediction is None:
        why = "random, since nothing is known yet" if not len(told) else "random, since every well failed so far"
        return [Suggestion(names[a], why=why) for a in batch]
    predicted, spread = prediction
    shut = np.union1d(told, candidates.places([*each.pending, *each.withdrawn]))
    left = np.union1d(np.setdiff1d(np.arange(len(names)), shut), batch)
    novelty, nearest = nearest_measured(scores, left, np.unique(told[good]))
    rank = np.empty(len(names), np.int64)
    rank[left[np.argsort(-predicted[left], kind="stable")]] = 1 + np.arange(len(left))
    place = {int(a): i for i, a in enumerate(left)}
    usual = spread[np.setdiff1d(left, batch) if np.isnan(spread[left]).any() else left]
    uncertain, novel = np.nanquantile(usual, _HIGH), np.quantile(novelty, _HIGH)
    shown = of_prediction(predicted, plan.aim)
    found = []
    for a in map(int, batch):
        i = place[a]
        reasons = [f"prediction {rank[a]} of {len(left)}"] if rank[a] <= 2 * len(batch) else []
        reasons += ["uncertain"] if spread[a] > uncertain else []
        reasons += ["unlike what was measured"] if novelty[i] > novel else []
        fallback = "random" if plan.choice.name == "random" else "the policy's own score"
        numbers, why = (float(shown[a]), float(spread[a]), float(novelty[i])), "; ".join(reasons) or fallback
        found.append(Suggestion(names[a], *numbers, names[nearest[i]], int(rank[a]), why))
    return found


def hit_threshold(rewards: Sequence[float], aim: str | float, hit: float | None) -> float:
    """Return the reward from which a candidate is a hit: that of a given value, or of the best twentieth measured."""
    if hit is not None:
        return reward(hit, aim)
    found = np.array([r for r in rewards if not math.isnan(r)])
    return float(np.quantile(found, 1.0 - TOP_SHARE)) if len(found) >= FEWEST else math.nan


def expected_hits(
    plan: Plan, suggested: Sequence[Suggestion], rounds: Sequence[Round], known: Values, threshold: float
) -> float:
    """Return how many of a batch are expected to be hits: predictions with the error that they have had so far.

    The error is the root mean square of measured minus predicted over all candidates asked for before with a
    prediction; the standard deviation of what is known where there are fewer than `FEWEST` of them.
    """
    means = {name: mean_of(values) for name, values in known.items()}
    rewards = [reward(v, plan.aim) for v in means.values() if not math.isnan(v)]
    errors = [
        reward(means[s.name], plan.aim) - of_prediction(s.predicted, plan.aim)
        for each in rounds
        if aim_of(each.settings["aim"]) == plan.aim
        for s in each.suggested
        if not (math.isnan(s.predicted) or math.isnan(means.get(s.name, math.nan)))
    ]
    if math.isnan(threshold) or len(rewards) < 2 or not suggested or math.isnan(suggested[0].predicted):
        return math.nan
    error = float(np.sqrt(np.mean(np.square(errors)))) if len(errors) >= FEWEST else float(np.std(rewards))
    predicted = np.array([of_prediction(s.predicted, plan.aim) for s in suggested])
    return float(ndtr((predicted - threshold) / max(error, 1e-300)).sum())


def learned(rounds: Sequence[Round], known: Values) -> dict[str, float]:
    """Return what the last batch taught; Spearman's ``rank_correlation`` is NaN for fewer than three measured."""
    if not rounds:
        return {}
    last, aim = rounds[-1], rounds[-1].settings["aim"]
    there = [s for s in last.suggested if s.name in known]
    rewards = np.array([reward(mean_of(known[s.name]), aim) for s in there])
    predicted = np.array([of_prediction(s.predicted, aim) for s in there])
    good = ~np.isnan(rewards)
    pairs = pd.DataFrame({"predicted": predicted, "reward": rewards}).dropna()
    varied = len(pairs) > 2 and bool((pairs.nunique() > 1).all())
    threshold = reward(last.hit, aim)
    return {
        "measured": int(good.sum()),
        "failed": int((~good).sum()),
        "rank_correlation": float(pairs["predicted"].corr(pairs["reward"], method="spearman")) if varied else math.nan,
        "hits": math.nan if math.isnan(threshold) else int((rewards[good] >= threshold).sum()),
        "expected_hits": last.expected_hits if len(there) == len(last.suggested) else math.nan,  # of all of it
    }


def chances_of_the_best(mean: FloatArray, deviation: FloatArray, m: int, seed: int, *, draws: int = 2000) -> FloatArray:
    """Return each candidate's probability of being among the best m, from normal draws; 0 where no draw would show."""
    rng = np.random.default_rng(seed)
    found, left, m = np.zeros(len(mean)), draws, min(m, len(mean))
    some = np.flatnonzero(mean + 7.0 * deviation >= np.partition(mean - 5.0 * deviation, -m)[-m])
    mean, deviation = mean[some], deviation[some]
    while left > 0:
        n = min(left, max(1, 1_000_000 // len(some)))
        values = mean + deviation * rng.standard_normal((n, len(some)), dtype=np.float32)
        best = values.argmax(axis=1) if m == 1 else np.argpartition(values, -m, axis=1)[:, -m:]
        np.add.at(found, some[best.ravel()], 1.0)
        left -= n
    return found / draws


def prediction_of(policy: Any, state: Any, places: IntArray | None = None) -> tuple[FloatArray, FloatArray] | None:
    """Return predicted reward and deviation of every candidate, None while no reward is known.
    With ``places`` deviations may be known there alone, and NaN elsewhere."""
    if not (state.n_observed > 0).any():
        return None
    some = None if places is None else getattr(policy, "predicted_at", None)
    return policy.predicted(state) if some is None else some(state, places)
