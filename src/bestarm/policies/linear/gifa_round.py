"""One round of a gap-index focused algorithm, compiled, over replications.

Arrays and rules are those of `gifa`, which says what they mean. ``scale`` is C sigma, shape (R,).

References
----------
.. [1] Réda, Kaufmann, Delahaye-Duriez. "Top-m identification for linear bandits". AISTATS 2021. Algorithm 1, Table 1.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.streams import uniform

SELECTION = {"largest_variance": 0, "both": 1, "greedy": 2}


class Rule(NamedTuple):
    """The parts of [1]_, Table 1 that choose a pair, and the key of random ties."""

    paired: bool
    by_gap_index: bool
    challenged_by_mth: bool
    stop_ugape: bool
    epsilon: float
    key: np.uint64


@njit(cache=True)
def random_argmax(
    values: FloatArray, allowed: BoolArray, key: np.uint64, replication: int, time: int, draw: int
) -> int:
    """Return the position of the largest allowed value, ties broken uniformly; ``draw`` names the choice."""
    best, n_ties = -1, 0
    for i in range(len(values)):
        if not allowed[i]:
            continue
        if best < 0 or values[i] > values[best]:
            best, n_ties = i, 1
        elif values[i] == values[best]:
            n_ties += 1
            if uniform(key, replication, time, draw * len(values) + i) * n_ties < 1.0:
                best = i
    return best


@njit(cache=True)
def gap_index(gram: FloatArray, means: FloatArray, scale: float, paired: bool, i: int, j: int) -> float:
    """Return B_{i,j}, the upper confidence bound of mean i minus mean j ([1]_, Section 2)."""
    if paired:
        width = np.sqrt(max(gram[i, i] + gram[j, j] - 2.0 * gram[i, j], 0.0))
    else:
        width = np.sqrt(gram[i, i]) + np.sqrt(gram[j, j])
    return means[i] - means[j] + scale * width


@njit(cache=True)
def mth_largest_gap(
    gram: FloatArray, means: FloatArray, scale: float, paired: bool, j: int, largest: FloatArray
) -> float:
    """Return the m-th largest B_{i,j} over i != j; ``largest`` is room for m values."""
    m = len(largest)
    largest[:] = -np.inf
    for i in range(len(means)):
        if i == j:
            continue
        value = gap_index(gram, means, scale, paired, i, j)
        if value > largest[m - 1]:  # insertion into the m largest so far, which stand in descending order
            place = m - 1
            while place > 0 and largest[place - 1] < value:
                largest[place] = largest[place - 1]
                place -= 1
            largest[place] = value
    return largest[m - 1]


@njit(cache=True)
def choose_pair(
    rule: Rule,
    gram: FloatArray,
    means: FloatArray,
    pulls: IntArray,
    scale: FloatArray,
    replications: IntArray,
    stopped: BoolArray,
    candidates: IntArray,
    pair: IntArray,
    due: BoolArray,
) -> None:
    """Compute J(t), b, c and the stopping rule of every replication that searches, in place ([1]_, Algorithm 1)."""
    n_replications, n_arms = means.shape
    paired, by_gap_index, challenged_by_mth, stop_ugape, epsilon, key = rule
    m = candidates.shape[1]
    needs_mth = by_gap_index or challenged_by_mth or stop_ugape
    room, mth_gaps = np.empty(m), np.empty(n_arms)
    outside, in_j = np.empty(n_arms, dtype=np.bool_), np.empty(n_arms, dtype=np.bool_)
    ambiguity = np.empty(n_arms)
    for r in range(n_replications):
        if stopped[r]:
            continue
        g, mu, replication, time = gram[r], means[r], replications[r], pulls[r].sum()
        if needs_mth:
            for j in range(n_arms):
                mth_gaps[j] = mth_largest_gap(g, mu, scale[r], paired, j, room)
        # compute_Jt
        outside[:] = True
        merit = -mth_gaps if by_gap_index else mu
        for k in range(m):
            candidates[r, k] = random_argmax(merit, outside, key, replication, time, k)
            outside[candidates[r, k]] = False
        # compute_bt
        for j in range(n_arms):
            in_j[j] = not outside[j]
            if in_j[j] and challenged_by_mth:
                ambiguity[j] = mth_gaps[j]
            elif in_j[j]:
                ambiguity[j] = -np.inf
                for i in range(n_arms):
                    if outside[i]:
                        ambiguity[j] = max(ambiguity[j], gap_index(g, mu, scale[r], paired, i, j))
        b = random_argmax(ambiguity, in_j, key, replication, time, m)
        # challenger
        for i in range(n_arms):
            if outside[i]:
                ambiguity[i] = gap_index(g, mu, scale[r], paired, i, b)
        c = random_argmax(ambiguity, outside, key, replication, time, m + 1)
        pair[r, 0], pair[r, 1] = b, c
        # stopping rule
        if stop_ugape:
            value = -np.inf
            for k in range(m):
                value = max(value, mth_gaps[candidates[r, k]])
        else:
            value = ambiguity[c]
        due[r] = value <= epsilon


@njit(cache=True)
def select(
    gram: FloatArray,
    pulls: IntArray,
    pair: IntArray,
    rule: int,
    key: np.uint64,
    replications: IntArray,
    stopped: BoolArray,
    arms: IntArray,
) -> None:
    """Write the arms to pull, shape (R, 1), or (R, 2) for "both" ([1]_, Section 3.2)."""
    n_replications, n_arms = pulls.shape
    worth, allowed = np.empty(n_arms), np.ones(n_arms, dtype=np.bool_)
    in_pair = np.zeros(n_arms, dtype=np.bool_)
    draw = n_arms + 2
    for r in range(n_replications):
        if stopped[r]:
            continue
        g, b, c, time = gram[r], pair[r, 0], pair[r, 1], pulls[r].sum()
        if rule == 1:
            # "both"
            arms[r, 0], arms[r, 1] = b, c
        elif rule == 0:
            # "largest variance": the less known one of b and c
            in_pair[b], in_pair[c] = True, True
            worth[b], worth[c] = g[b, b], g[c, c]
            arms[r, 0] = random_argmax(worth, in_pair, key, replications[r], time, draw)
            in_pair[b], in_pair[c] = False, False
        else:
            # the variance of x_b - x_c falls by this much when arm a is pulled (Sherman and Morrison)
            for a in range(n_arms):
                worth[a] = (g[b, a] - g[c, a]) ** 2 / (1.0 + g[a, a])
            arms[r, 0] = random_argmax(worth, allowed, key, replications[r], time, draw)


@njit(cache=True)
def select_optimised(
    pulls: IntArray,
    pair: IntArray,
    feature_set: IntArray,
    design_row: IntArray,
    designs: FloatArray,
    key: np.uint64,
    replications: IntArray,
    stopped: BoolArray,
    arms: IntArray,
) -> None:
    """Write the arm that lags most behind the solution w of Eq. 1: argmin N_a / |w_a| over w_a != 0.

    The paper prints arg max and w_a > 0, which would pull ever more of what is already there.
    """
    n_replications, n_arms = pulls.shape
    worth, allowed = np.empty(n_arms), np.empty(n_arms, dtype=np.bool_)
    for r in range(n_replications):
        if stopped[r]:
            continue
        weights = designs[design_row[feature_set[r], pair[r, 0], pair[r, 1]]]  # w*(b, c)
        for a in range(n_arms):
            allowed[a] = weights[a] != 0.0
            worth[a] = -pulls[r, a] / abs(weights[a]) if allowed[a] else 0.0
        arms[r, 0] = random_argmax(worth, allowed, key, replications[r], pulls[r].sum(), n_arms + 2)


@njit(cache=True)
def learn(
    gram: FloatArray,
    means: FloatArray,
    pulls: IntArray,
    arms: IntArray,
    counts: IntArray,
    totals: FloatArray,
    uses_features: bool,
) -> None:
    """Update G, the means and the counts with n pulls of one arm at a time, in place."""
    n_replications, n_arms = means.shape
    column = np.empty(n_arms)
    for r in range(n_replications):
        for k in range(arms.shape[1]):
            n = counts[r, k]
            if n == 0 or np.isnan(totals[r, k]):
                continue
            a = arms[r, k]
            if uses_features:
                gain = n / (1.0 + n * gram[r, a, a])  # Sherman and Morrison for n pulls at once, in arm space
                surprise = gain * (totals[r, k] / n - means[r, a])
                column[:] = gram[r, :, a]
                for i in range(n_arms):
                    if column[i] != 0.0:  # zeros are many where arms are orthogonal
                        means[r, i] += column[i] * surprise
                        for j in range(n_arms):
                            gram[r, i, j] -= gain * column[i] * column[j]
            else:
                # without features: empirical means, and 1 / N_a on the diagonal
                means[r, a] += (totals[r, k] - n * means[r, a]) / (pulls[r, a] + n)
                gram[r, a, a] = 1.0 / (pulls[r, a] + n)
            pulls[r, a] += n


@njit(cache=True)
def old_pair_is_separated(
    gram: FloatArray, means: FloatArray, scale: FloatArray, paired: bool, epsilon: float, pair: IntArray, due: BoolArray
) -> None:
    """Test tau^LUCB with the new data on the pair chosen before them, as the authors' code does."""
    for r in range(len(due)):
        due[r] = gap_index(gram[r], means[r], scale[r], paired, pair[r, 1], pair[r, 0]) <= epsilon
