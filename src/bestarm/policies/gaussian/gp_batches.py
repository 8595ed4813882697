r"""Rules that fill a batch, for one replication: hallucinate, explore, maximise or sample a determinant, draw.

Every function conditions the posterior on the points it returns, so that their rewards, once known, cost little.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Algorithms 1 and 2.
.. [2] Wilson, Borovitskiy, Terenin, Mostowsky, Deisenroth. "Efficiently Sampling Functions from Gaussian Process
   Posteriors". ICML 2020. Random features for the prior, the data by Matheron's rule.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.designs.k_dpp import branch_and_bound, greedy
from bestarm.designs.k_dpp_chains import Entries, run_chain
from bestarm.designs.k_dpp_exact import choose_vectors, elementary, project
from bestarm.designs.k_dpp_mixing import down_up_steps, exchange_steps, greedy_deficit, sequential_deficit
from bestarm.interface import FloatArray, IntArray
from bestarm.models.finite_gp import condition_row, prior_column
from bestarm.policies.linear.fixed_budget import largest
from bestarm.streams import standard_normal, uniform
from bestarm.vector_functions import cosines

MAX, EXPLORE, SAMPLE, UNIFORM, EXACT = 0, 1, 2, 3, 4
DOWN_UP, EXCHANGE, EIGEN = 0, 1, 2
_MOST_EXACT, _MOST_BRANCHES = 400, 5_000_000


class View(NamedTuple):
    """The posterior of one replication, see `bestarm.models.finite_gp.FiniteGP`, and its random draws."""

    points: FloatArray
    lengthscales: FloatArray
    signal: float
    constant: float
    noise: float
    rows: FloatArray
    variances: FloatArray
    pivots: FloatArray
    conditioned: IntArray
    key: np.uint64
    tie_key: np.uint64
    replication: int
    round: int


@njit(cache=True)
def condition(view: View, n_rows: int, arm: int) -> int:
    """Condition on an arm; return the number of rows."""
    condition_row(
        view.points,
        view.lengthscales,
        view.signal,
        view.constant,
        view.noise,
        view.rows,
        view.variances,
        view.pivots,
        n_rows,
        arm,
    )
    view.conditioned[n_rows] = arm
    return n_rows + 1


@njit(cache=True)
def argmax(view: View, scores: FloatArray, draw: int) -> int:
    """Return the arm with the largest score; ties at random."""
    allowed = np.ones(len(scores), dtype=np.bool_)
    return largest(scores, allowed, False, view.tie_key, view.replication, view.round, draw)


@njit(cache=True)
def region_covariance(view: View, n_rows: int, region: IntArray) -> FloatArray:
    r"""Return the DPP kernel of a region, :math:`L=I+\sigma^{-2}k_{t,1}` ([1]_, Algorithm 2), shape (n, n)."""
    n = len(region)
    found, points = np.empty((n, n)), np.empty((len(view.points), n))
    rows = np.empty((n_rows, n))
    for i in range(n):
        points[:, i] = view.points[:, region[i]]
        rows[:, i] = view.rows[:n_rows, region[i]]
    # k_{t,1}(p_i, p_j) = k(p_i, p_j) - sum_s v_s(p_i) v_s(p_j), with one row v_s of the posterior for each known arm.
    for i in range(n):
        prior_column(points, points[:, i].copy(), view.lengthscales, view.signal, view.constant, found[i])
    if n_rows > 0:
        found -= np.dot(np.ascontiguousarray(rows.T), rows)
    found /= view.noise
    found = 0.5 * (found + found.T)
    for i in range(n):
        found[i, i] = 1.0 + view.variances[region[i]] / view.noise
    return found


@njit(cache=True)
def _sample_by_chain(view: View, n_rows: int, region: IntArray, k: int, epsilon: float) -> tuple[IntArray, int]:
    """Return places in a region by the down-up chain, which takes entries of the kernel as it needs them."""
    n, n_arms = len(region), view.points.shape[1]
    points, diagonal = np.empty((len(view.points), n)), np.empty(n)
    rows = view.rows[:n_rows]
    if n < n_arms:
        rows = np.empty((n_rows, n))
        for s in range(n_rows):
            for i in range(n):
                rows[s, i] = view.rows[s, region[i]]
    for i in range(n):
        diagonal[i] = 1.0 + view.variances[region[i]] / view.noise
        for c in range(len(view.points)):
            points[c, i] = view.points[c, region[i]] / view.lengthscales[c]
    entries = Entries(np.empty((0, 0)), points, rows, view.signal, view.constant, 1.0 / view.noise, 1.0)
    # Steps until the distance is epsilon: the entropy of the first set, drawn arm after arm, shrinks by 1 - 1/k a step.
    steps = down_up_steps(sequential_deficit(diagonal.sum(), 1.0, n, k), k, epsilon)
    none = np.empty(0, dtype=np.int64)
    return run_chain(entries, diagonal, none, k, steps, False, view.key, view.replication, view.round)


@njit(cache=True)
def _from_matrix(
    view: View, n_rows: int, region: IntArray, k: int, rule: int, sampler: int, epsilon: float
) -> tuple[IntArray, int]:
    """Return places in a region by a rule that needs the kernel itself; what fails is 1 as the second number."""
    kernel, n = region_covariance(view, n_rows, region), len(region)
    start = np.empty(k, dtype=np.int64)
    if rule == SAMPLE and sampler == EIGEN:
        values, vectors = np.linalg.eigh(kernel)
        values = np.maximum(values, 1.0)  # the kernel is at least I
        values *= k / values.sum()  # the law is the same; elementary polynomials stay in range
        kept = choose_vectors(elementary(values, k), values, k, view.key, view.replication, view.round)
        basis = np.empty((n, k))
        for t in range(k):
            basis[:, t] = vectors[:, kept[t]]
        return project(basis, view.key, view.replication, view.round, n), 0
    greedy(kernel, k, start)  # where the paper's chain and the exact search start
    if rule == EXACT:
        found, visited = branch_and_bound(kernel, np.sort(start), _MOST_BRANCHES)
        return found, int(visited >= _MOST_BRANCHES)
    steps = exchange_steps(greedy_deficit(n, k), n, k, epsilon)
    entries = Entries(kernel, kernel[:0], kernel[:0], 1.0, 0.0, 1.0, 0.0)
    diagonal = np.diag(kernel).copy()
    return run_chain(entries, diagonal, start, k, steps, True, view.key, view.replication, view.round)


@njit(cache=True)
def fill_from_region(
    view: View, n_rows: int, region: IntArray, arms: IntArray, rule: int, sampler: int, epsilon: float
) -> tuple[int, int, int]:
    """Write arms of a region by a rule ([1]_, Algorithm 2).

    A region with fewer arms than wanted is taken whole and filled up with uniform repeats. Returns rows conditioned on,
    repeats that filled the batch, and 1 if a region was too large for exact maximisation."""
    k, n = len(arms), len(region)
    whole = min(k, n)
    if rule == EXPLORE or (rule == MAX and n > k):
        # det L_{S+j} / det L_S = 1 + sigma_S^2(p_j) / noise: the greedy maximum is the largest variance that is left,
        # which is pure exploration ([1]_, Section 3.2); a set has an arm once.
        free = np.ones(n, dtype=np.bool_)
        left = np.empty(n)
        for t in range(k):
            for i in range(n):
                left[i] = view.variances[region[i]]
            pick = largest(left, free, False, view.tie_key, view.replication, view.round, t + 1)
            free[pick] = rule == EXPLORE
            arms[t] = region[pick]
            n_rows = condition(view, n_rows, arms[t])
        return n_rows, 0, 0
    fault = 0
    if n <= k:
        arms[:n] = region
    elif rule == UNIFORM:
        order = region.copy()
        for t in range(k):  # Fisher and Yates
            place = t + int(uniform(view.key, view.replication, view.round, t) * (n - t))
            order[t], order[place] = order[place], order[t]
            arms[t] = order[t]
    elif rule == SAMPLE and sampler == DOWN_UP:
        found, fault = _sample_by_chain(view, n_rows, region, k, epsilon)
        arms[:] = region[found]
    elif rule == EXACT and n > _MOST_EXACT:
        return n_rows, 0, 1
    else:
        found, fault = _from_matrix(view, n_rows, region, k, rule, sampler, epsilon)
        arms[:] = region[found]
    for t in range(whole, k):
        arms[t] = region[int(uniform(view.key, view.replication, view.round, t) * n)]
    for t in range(k):
        n_rows = condition(view, n_rows, arms[t])
    return n_rows, k - whole, fault


@njit(cache=True)
def determinant_of(view: View, first: int, n_rows: int) -> tuple[float, float]:
    r"""Return :math:`\log\det L_S` of the last rows, and how many of them M chose on average."""
    k = n_rows - first
    inverse, value, trace = np.zeros((k, k)), 0.0, 0.0
    # The rows' pivots are the Cholesky factor of noise L_S, whose inverse C^-1 is made row by row; k - noise |C^-1|^2
    # is the trace of I - L_S^-1.
    for i in range(k):
        arm = view.conditioned[first + i]
        value += 2.0 * np.log(view.pivots[first + i]) - np.log(view.noise)
        for c in range(i + 1):
            entry = 1.0 if i == c else 0.0
            for s in range(c, i):
                entry -= view.rows[first + s, arm] * inverse[s, c]
            inverse[i, c] = entry / view.pivots[first + i]
            trace += inverse[i, c] ** 2 * view.noise
    return value, k - trace


@njit(cache=True)
def variance_greedy(view: View, n_rows: int, arms: IntArray) -> tuple[int, float]:
    """Write arms with the largest variance, one after the other; return rows, and the information of all but one."""
    gain = 0.0
    for t in range(len(arms)):
        arms[t] = argmax(view, view.variances, t)
        n_rows = condition(view, n_rows, arms[t])
        if t < len(arms) - 1:
            gain += np.log(view.pivots[n_rows - 1]) - 0.5 * np.log(view.noise)  # log(1 + variance / noise) / 2
    return n_rows, gain


@njit(cache=True)
def thompson(view: View, n_rows: int, scaled: FloatArray, arms: IntArray, n_features: int) -> None:
    """Write the maximisers of draws of f from the posterior ([2]_); the prior's part has random Fourier features."""
    d, n_arms = view.points.shape
    k = len(arms)
    # Features of the prior: cos(omega x + phase), omega normal over the length-scales, phase uniform.
    features = np.empty((n_features, n_arms))
    number = 0
    for m in range(n_features):
        phase = 2.0 * np.pi * uniform(view.key, view.replication, view.round, number)
        features[m] = phase
        for c in range(d):
            number += 1
            frequency = standard_normal(view.key, view.replication, view.round, number) / view.lengthscales[c]
            for i in range(n_arms):
                features[m, i] += frequency * view.points[c, i]
        number += 1
        cosines(features[m])
    # Draws from the prior: (2 signal / m)^(1/2) sum_m w_m features_m, plus the constant.
    weights = np.empty((k, n_features))
    for b in range(k):
        for m in range(n_features):
            number += 1
            weights[b, m] = standard_normal(view.key, view.replication, view.round, number)
    draws = np.dot(weights, features) * np.sqrt(2.0 * view.signal / n_features)
    for b in range(k):
        number += 1
        draw = draws[b]
        draw += np.sqrt(view.constant) * standard_normal(view.key, view.replication, view.round, number)
        # Matheron: add k(x, X) (K + noise I)^-1 (y - f(X) - e), one known arm after the other.
        for t in range(n_rows):
            number += 1
            noise = np.sqrt(view.noise) * standard_normal(view.key, view.replication, view.round, number)
            arm = view.conditioned[t]
            gain = (scaled[t] - noise - draw[arm]) / view.pivots[t]
            for i in range(n_arms):
                draw[i] += gain * view.rows[t, i]
        arms[b] = argmax(view, draw, b)
