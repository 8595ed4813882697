r"""The choice of a batch for all replications: the compiled loop behind `bestarm.policies.gaussian.batch_gp.BatchGP`.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Algorithms 1 and 2.
.. [2] Gonzalez, Dai, Hennig, Lawrence. "Batch Bayesian Optimization via Local Penalization". AISTATS 2016.
.. [3] Desautels, Krause, Burdick. "Parallelizing Exploration-Exploitation Tradeoffs in Gaussian Process Bandit
   Optimization". JMLR 2014.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.models.finite_gp import forget
from bestarm.policies.gaussian.gp_acquisition import est_width, estimate_maximum, relevance_region, ucb_width
from bestarm.policies.gaussian.gp_batches import (
    DOWN_UP,
    MAX,
    View,
    argmax,
    condition,
    determinant_of,
    fill_from_region,
    thompson,
    variance_greedy,
)
from bestarm.policies.gaussian.local_penalty import N_TRIED, lipschitz_constant, log_softplus, mean_weights, penalise
from bestarm.streams import uniform

HALLUCINATE, REGION, PENALISE, THOMPSON, RANDOM = 0, 1, 2, 3, 4
_INFORMATION_LEFT = 0.5  # the first stage ends when B - 1 points can have no more of it
_MOST_FIRST = 5  # batches of the first stage


class Rule(NamedTuple):
    """What `bestarm.policies.gaussian.batch_rules` compiles to; what a family does not use stays as it is here."""

    family: int
    est: bool = False
    integral: bool = False
    delta: float = 0.05
    beta_scale: float = 1.0
    inflation: float = 1.0
    by_evaluations: bool = True
    as_coded_region: bool = False
    exclude_first: bool = False
    fill: int = MAX
    sampler: int = DOWN_UP
    epsilon: float = 0.01
    lp_width: float = 0.0
    lp_as_coded: bool = False
    n_features: int = 1


class Posteriors(NamedTuple):
    """The posteriors of R replications, see `bestarm.models.finite_gp.FiniteGP`; arrays are changed in place."""

    points: FloatArray
    point_set: IntArray
    lengthscales: FloatArray
    signal: FloatArray
    constant: float
    noise: FloatArray
    rows: FloatArray
    variances: FloatArray
    pivots: FloatArray
    conditioned: IntArray
    n_rows: IntArray
    n_known: IntArray
    rewards: FloatArray
    offset: FloatArray
    scale: FloatArray
    means: FloatArray


class Randomness(NamedTuple):
    """The keys of a batch's draws and of its ties, which replications there are, and the number of the batch."""

    key: np.uint64
    tie_key: np.uint64
    replications: IntArray
    turn: int


@njit(cache=True)
def _width(rule: Rule, n_arms: int, t: int, means: FloatArray, variances: FloatArray, maximum: float) -> float:
    """Return the deviations of the bound: of EST, by which it is UCB ([1]_, Lemma 3.1), or the root of beta_t."""
    if rule.est:
        return est_width(means, variances, maximum)
    return ucb_width(n_arms, t, rule.delta, rule.beta_scale)


@njit(cache=True)
def _hallucinate(
    view: View, rule: Rule, n_rows: int, means: FloatArray, maximum: float, arms: IntArray
) -> tuple[int, float]:
    """Fill a batch by GP-BUCB or B-EST ([1]_, Algorithm 1); return rows, and the first width."""
    batch, first_width = len(arms), 0.0
    for b in range(batch):
        # t of beta_t: evaluations, t = (round - 1) B + b of the text, or batches, as in Contal's software.
        t = (view.round - 1) * batch + b + 1 if rule.by_evaluations else view.round
        width = rule.inflation * _width(rule, len(means), t, means, view.variances, maximum)
        if b == 0:
            first_width = width
        # x_{t,b} = argmax mu_{t-1} + width sigma_{t-1,b}: the means stay, the deviations know the arms before.
        arms[b] = argmax(view, means + width * np.sqrt(view.variances), b)
        n_rows = condition(view, n_rows, arms[b])
    return n_rows, first_width


@njit(cache=True)
def _penalise(
    view: View, rule: Rule, n_known: int, means: FloatArray, scaled: FloatArray, best: float, arms: IntArray
) -> float:
    """Fill a batch by local penalisation ([2]_); return the Lipschitz constant."""
    width = rule.lp_width
    if width <= 0.0:
        width = ucb_width(len(means), view.round, rule.delta, rule.beta_scale)
    # L, the largest slope of the posterior mean ([2]_).
    own = view.conditioned[:n_known]
    seen = np.empty((n_known, len(view.points)))
    for t in range(n_known):
        seen[t] = view.points[:, own[t]]
    weights = mean_weights(view.rows, view.pivots, own, scaled)
    lipschitz = lipschitz_constant(
        view.points, seen, weights, view.lengthscales, view.signal, N_TRIED, view.key, view.replication, view.round
    )
    # log g(mu + w sigma) with g the softplus, so that the penalties are sums ([2]_).
    deviations = np.sqrt(view.variances + (view.noise if rule.lp_as_coded else 0.0))
    scores = log_softplus(means + width * deviations)
    for b in range(len(arms)):
        arms[b] = argmax(view, scores, b)
        deviation = max(deviations[arms[b]], 1e-8)
        unit = np.sqrt(deviation) if rule.lp_as_coded else deviation
        penalise(scores, view.points, arms[b], means[arms[b]], unit, lipschitz, best)
    return lipschitz


@njit(cache=True)
def choose_batches(
    rule: Rule, known: Posteriors, random: Randomness, first_stage: BoolArray, arms: IntArray, log: FloatArray
) -> int:
    """Write a batch for every replication, shape (R, B), and what was seen on the way, shape (R, 7).

    The columns of ``log``: width, estimated maximum, arms of the region, repeats, log determinant, points of it chosen
    by M, Lipschitz constant. Returns 1 if exact maximisation was asked of a region too large for it.
    """
    fault, batch, turn = 0, arms.shape[1], random.turn
    for r in range(len(arms)):
        view = View(
            known.points[known.point_set[r]],
            known.lengthscales[r],
            known.signal[r],
            known.constant,
            known.noise[r],
            known.rows[r],
            known.variances[r],
            known.pivots[r],
            known.conditioned[r],
            random.key,
            random.tie_key,
            random.replications[r],
            turn,
        )
        n, n_arms, n_rows = known.n_known[r], known.points.shape[2], known.n_rows
        prior = known.signal[r] + known.constant
        if n_rows[r] > n:  # a batch was asked for before and never told
            forget(prior, known.rows[r], known.variances[r], n)
        log[r] = np.nan
        own, best = known.means[r], 0.0
        scaled = (known.rewards[r, :n] - known.offset[r]) / known.scale[r]
        if n > 0:
            best = scaled.max()  # the estimate of the maximum starts at the best reward

        if rule.family == RANDOM:  # rules that condition on nothing: the rewards, once told, make the rows
            for b in range(batch):
                arms[r, b] = int(uniform(random.key, random.replications[r], turn, b) * n_arms)
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

        # First stage of [3]_: largest variances, while e / (e - 1) times the greedy information, which bounds that of
        # any B - 1 arms, is above 1/2.
        if first_stage[r]:
            n_rows[r], information = variance_greedy(view, n, arms[r])
            if np.e / (np.e - 1.0) * information > _INFORMATION_LEFT and turn <= _MOST_FIRST:
                continue
            first_stage[r] = False
            forget(prior, known.rows[r], known.variances[r], n)

        maximum = np.nan
        if rule.est:
            maximum = estimate_maximum(own, view.variances, best, rule.integral)
        log[r, 1] = maximum
        if rule.family == HALLUCINATE:
            n_rows[r], log[r, 0] = _hallucinate(view, rule, n, own, maximum, arms[r])
        else:  # [1]_, Algorithm 2
            # R_t^+: mu + 2 beta_{t+1}^{1/2} sigma at least the largest mu - beta_t^{1/2} sigma ([1]_, Section 3.2).
            width = _width(rule, n_arms, turn, own, view.variances, maximum)
            next_width = width if rule.est else ucb_width(n_arms, turn + 1, rule.delta, rule.beta_scale)
            region = relevance_region(own, view.variances, width, width if rule.as_coded_region else 2.0 * next_width)
            # x_{t,1} = argmax mu + beta_t^{1/2} sigma; L_{t,1} is conditioned on it.
            arms[r, 0] = argmax(view, own + width * np.sqrt(view.variances), 0)
            log[r, 0], log[r, 2] = width, len(region)
            n_rows[r] = condition(view, n, arms[r, 0])
            if batch > 1:  # x_{t,2}, ..., x_{t,B}: a maximum or a sample of the (B - 1)-DPP of L_{t,1} on R_t^+
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
