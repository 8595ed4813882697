r"""The choice of a batch for all replications: the compiled loop behind `bestarm.policies.batch_gp.BatchGP`.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Algorithms 1 and 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.models.finite_gp import forget
from bestarm.policies.gp_acquisition import est_width, estimate_maximum, relevance_region, ucb_width
from bestarm.policies.gp_batches import (
    View,
    argmax,
    condition,
    determinant_of,
    fill_from_region,
    thompson,
    variance_greedy,
)
from bestarm.policies.local_penalty import lipschitz_constant, log_softplus, mean_weights, penalise
from bestarm.streams import uniform

HALLUCINATE, REGION, PENALISE, THOMPSON, RANDOM = 0, 1, 2, 3, 4
_INFORMATION_LEFT = 0.5  # the first stage ends when B - 1 points can have no more of it
_MOST_FIRST = 5  # batches of the first stage


class Rule(NamedTuple):
    """Settings of a policy as numbers, see `bestarm.policies.batch_gp.BatchGP`."""

    family: int
    est: bool
    integral: bool
    delta: float
    beta_scale: float
    inflation: float
    by_evaluations: bool
    two_stage: bool
    as_coded_region: bool
    exclude_first: bool
    fill: int
    sampler: int
    epsilon: float
    lp_width: float
    lp_as_coded: bool
    n_tried: int
    n_features: int


@njit(cache=True)
def _width(
    rule: Rule, n_arms: int, t: int, means: FloatArray, variances: FloatArray, maximum: float
) -> float:  # fmt: skip
    if rule.est:
        return est_width(means, variances, maximum)
    return ucb_width(n_arms, t, rule.delta, rule.beta_scale)


@njit(cache=True)
def _hallucinate(
    view: View, rule: Rule, n_rows: int, means: FloatArray, maximum: float, arms: IntArray
) -> tuple[int, float]:  # fmt: skip
    """Fill a batch by GP-BUCB or B-EST ([1]_, Algorithm 1); return rows, and the first width."""
    batch, first_width = len(arms), 0.0
    for b in range(batch):
        t = (view.round - 1) * batch + b + 1 if rule.by_evaluations else view.round
        width = rule.inflation * _width(rule, len(means), t, means, view.variances, maximum)
        if b == 0:
            first_width = width
        arms[b] = argmax(view, means + width * np.sqrt(view.variances), b)
        n_rows = condition(view, n_rows, arms[b])
    return n_rows, first_width


@njit(cache=True)
def _penalise(
    view: View, rule: Rule, n_known: int, means: FloatArray, scaled: FloatArray, best: float, arms: IntArray
) -> float:  # fmt: skip
    """Fill a batch by local penalisation; return the Lipschitz constant."""
    width = rule.lp_width
    if width <= 0.0:
        width = ucb_width(len(means), view.round, rule.delta, rule.beta_scale)
    own = view.conditioned[:n_known]
    seen = np.empty((n_known, len(view.points)))
    for t in range(n_known):
        seen[t] = view.points[:, own[t]]
    weights = mean_weights(view.rows, view.pivots, own, scaled)
    lipschitz = lipschitz_constant(
        view.points, seen, weights, view.lengthscales, view.signal, rule.n_tried, view.key, view.replication, view.round
    )
    deviations = np.sqrt(view.variances + (view.noise if rule.lp_as_coded else 0.0))
    scores = log_softplus(means + width * deviations)
    for b in range(len(arms)):
        arms[b] = argmax(view, scores, b)
        deviation = max(deviations[arms[b]], 1e-8)
        penalise(
            scores, view.points, arms[b], means[arms[b]], np.sqrt(deviation) if rule.lp_as_coded else deviation,
            lipschitz, best,
        )  # fmt: skip
    return lipschitz


@njit(cache=True)
def choose_batches(
    rule: Rule, points: FloatArray, point_set: IntArray, lengthscales: FloatArray, signal: FloatArray, constant: float,
    noise: FloatArray, rows: FloatArray, variances: FloatArray, pivots: FloatArray, conditioned: IntArray,
    n_rows: IntArray, n_known: IntArray, rewards: FloatArray, offset: FloatArray, scale: FloatArray, means: FloatArray,
    key: np.uint64, tie_key: np.uint64, replications: IntArray, turn: int, first_stage: BoolArray, arms: IntArray,
    log: FloatArray,
) -> int:  # fmt: skip
    """Write a batch for every replication, shape (R, B), and what was seen on the way, shape (R, 7).

    The columns of ``log``: width, estimated maximum, arms of the region, repeats, log determinant, points of it chosen
    by M, Lipschitz constant. Returns 1 if exact maximisation was asked of a region too large for it.
    """
    fault, batch = 0, arms.shape[1]
    for r in range(len(arms)):
        view = View(
            points[point_set[r]], lengthscales[r], signal[r], constant, noise[r], rows[r], variances[r], pivots[r],
            conditioned[r], key, tie_key, replications[r], turn,
        )  # fmt: skip
        n, n_arms = n_known[r], points.shape[2]
        if n_rows[r] > n:  # a batch was asked for before and never told
            forget(signal[r] + constant, rows[r], variances[r], n)
        log[r] = np.nan
        own, best = means[r], 0.0
        scaled = (rewards[r, :n] - offset[r]) / scale[r]
        if n > 0:
            best = scaled.max()
        if rule.family == RANDOM:
            for b in range(batch):
                arms[r, b] = int(uniform(key, replications[r], turn, b) * n_arms)
            n_rows[r] = n
            continue
        if rule.family == THOMPSON:
            thompson(view, n, scaled, arms[r], rule.n_features)
            n_rows[r] = n
            continue
        if rule.family == PENALISE:
            log[r, 6] = _penalise(view, rule, n, own, scaled, best, arms[r])
            n_rows[r] = n
            continue
        if first_stage[r]:
            n_rows[r], information = variance_greedy(view, n, arms[r])
            if np.e / (np.e - 1.0) * information > _INFORMATION_LEFT and turn <= _MOST_FIRST:
                continue
            first_stage[r] = False
            forget(signal[r] + constant, rows[r], variances[r], n)
        maximum = np.nan
        if rule.est:
            maximum = estimate_maximum(own, view.variances, best, rule.integral)
        log[r, 1] = maximum
        if rule.family == HALLUCINATE:
            n_rows[r], log[r, 0] = _hallucinate(view, rule, n, own, maximum, arms[r])
        else:
            width = _width(rule, n_arms, turn, own, view.variances, maximum)
            next_width = width if rule.est else ucb_width(n_arms, turn + 1, rule.delta, rule.beta_scale)
            region = relevance_region(own, view.variances, width, width if rule.as_coded_region else 2.0 * next_width)
            arms[r, 0] = argmax(view, own + width * np.sqrt(view.variances), 0)
            log[r, 0], log[r, 2] = width, len(region)
            n_rows[r] = condition(view, n, arms[r, 0])
            if batch > 1:
                if rule.exclude_first and len(region) > 1:
                    region = region[region != arms[r, 0]]
                n_rows[r], repeats, bad = fill_from_region(
                    view, n_rows[r], region, arms[r, 1:], rule.fill, rule.sampler, rule.epsilon
                )
                log[r, 3] = repeats
                fault = max(fault, bad)
        if batch > 1 and fault == 0:
            log[r, 4], log[r, 5] = determinant_of(view, n + 1, n_rows[r])
    return fault
