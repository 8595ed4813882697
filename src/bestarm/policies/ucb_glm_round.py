"""One round of UCB-GLM, compiled, over replications: the maximum likelihood estimate and the optimistic arm.

Arrays and rules are those of `bestarm.policies.ucb_glm`. Everything is computed from the counts and totals of the arms,
O(K d^2) a round; x are the features of one replication in coordinates of their span, shape (K, d).

References
----------
.. [1] Li, Lu, Zhou. "Provably Optimal Algorithms for Generalized Linear Contextual Bandits". ICML 2017. Algorithm 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.policies.fixed_budget import largest
from bestarm.streams import uniform

_MOST_STEPS = 50
_SMALLEST_STEP = 1e-8
_LEAST_GAIN = 0.25
_ROUNDING = 1e-9


@njit(cache=True)
def factorise(matrix: FloatArray) -> bool:
    """Replace the lower triangle of a symmetric matrix by its Cholesky factor; return False if it has none."""
    for i in range(len(matrix)):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            if i > j:
                matrix[i, j] = value / matrix[j, j]
            elif value > 0.0:
                matrix[i, i] = np.sqrt(value)
            else:
                return False
    return True


@njit(cache=True)
def solve_lower(factor: FloatArray, vector: FloatArray) -> None:
    """Replace v by the solution of L u = v."""
    for i in range(len(vector)):
        for k in range(i):
            vector[i] -= factor[i, k] * vector[k]
        vector[i] /= factor[i, i]


@njit(cache=True)
def solve_upper(factor: FloatArray, vector: FloatArray) -> None:
    """Replace v by the solution of L' u = v."""
    for i in range(len(vector) - 1, -1, -1):
        for k in range(i + 1, len(vector)):
            vector[i] -= factor[k, i] * vector[k]
        vector[i] /= factor[i, i]


@njit(cache=True)
def design(x: FloatArray, weights: FloatArray, ridge: float) -> FloatArray:
    """Return ridge I + sum_k w_k x_k x_k', its lower triangle; the rest is 0."""
    n_arms, d = x.shape
    matrix = np.zeros((d, d))
    for i in range(d):
        matrix[i, i] = ridge
    for k in range(n_arms):
        if weights[k] > 0.0:
            for i in range(d):
                for j in range(i + 1):
                    matrix[i, j] += weights[k] * x[k, i] * x[k, j]
    return matrix


@njit(cache=True)
def linear_predictor(x: FloatArray, theta: FloatArray) -> FloatArray:
    """Return x theta."""
    z = np.zeros(len(x))
    for k in range(len(x)):
        for i in range(len(theta)):
            z[k] += x[k, i] * theta[i]
    return z


@njit(cache=True)
def log_likelihood(z: FloatArray, counts: FloatArray, totals: FloatArray, theta: FloatArray, ridge: float) -> float:
    """Return sum_k S_k z_k - N_k log(1 + e^z_k), less ridge |theta|^2 / 2."""
    value = 0.0
    for k in range(len(z)):
        if counts[k] > 0.0:
            value += totals[k] * z[k] - counts[k] * (max(z[k], 0.0) + np.log1p(np.exp(-abs(z[k]))))
    for i in range(len(theta)):
        value -= 0.5 * ridge * theta[i] ** 2
    return value


@njit(cache=True)
def fit_logistic(x: FloatArray, counts: FloatArray, totals: FloatArray, ridge: float, theta: FloatArray) -> int:
    """Maximise the penalised likelihood from ``theta`` on, in place; return the number of Newton steps.

    A step is halved until the likelihood gains a quarter of what its slope promises (Armijo), else Newton's
    method can cycle between two points; the search ends when no entry moves by more than 1e-8.
    """
    d = x.shape[1]
    weights, step, gradient, trial = np.empty(len(x)), np.empty(d), np.empty(d), np.empty(d)
    z = linear_predictor(x, theta)
    value = log_likelihood(z, counts, totals, theta, ridge)
    for n_steps in range(_MOST_STEPS):
        step[:] = -ridge * theta
        for k in range(len(x)):
            weights[k] = 0.0
            if counts[k] > 0.0:
                p = 1.0 / (1.0 + np.exp(-z[k])) if z[k] > -700.0 else 0.0
                weights[k] = counts[k] * p * (1.0 - p)
                for i in range(d):
                    step[i] += (totals[k] - counts[k] * p) * x[k, i]
        hessian = design(x, weights, ridge)
        if not factorise(hessian):
            return n_steps
        gradient[:] = step
        solve_lower(hessian, step)
        solve_upper(hessian, step)
        promised = _LEAST_GAIN * np.sum(gradient * step)
        size, longest = 1.0, np.abs(step).max() if d > 0 else 0.0
        while True:
            trial[:] = theta + size * step
            z = linear_predictor(x, trial)
            reached = log_likelihood(z, counts, totals, trial, ridge)
            if reached >= value + size * promised - 1e-12 * (1.0 + abs(value)) or size * longest < _SMALLEST_STEP:
                break
            size /= 2.0
        theta[:], value = trial, reached
        if size * longest < _SMALLEST_STEP:
            return n_steps + 1
    return _MOST_STEPS


@njit(cache=True)
def is_at_least(matrix: FloatArray, level: float) -> bool:
    """Return whether the smallest eigenvalue of a symmetric matrix reaches a level; for level 0, exceeds rounding.

    Where it does, the matrix less the level has a Cholesky factor. Looks at the lower triangle.
    """
    rest = matrix.copy()
    greatest = 0.0
    for i in range(len(rest)):
        greatest = max(greatest, rest[i, i])
    for i in range(len(rest)):
        rest[i, i] -= max(level * (1.0 - _ROUNDING), _ROUNDING * greatest)
    return factorise(rest)


@njit(cache=True)
def choose(
    features: FloatArray,
    ranks: IntArray,
    feature_set: IntArray,
    pulls: IntArray,
    totals: FloatArray,
    theta: FloatArray,
    alpha: FloatArray,
    ridge: float,
    regulariser: float,
    least_eigenvalue: float,
    root: bool,
    in_order: bool,
    key: np.uint64,
    replications: IntArray,
    spent: IntArray,
    stopped: BoolArray,
    arms: IntArray,
) -> None:
    """Write a random arm while V is too small, else the one with the largest x' theta + bonus ([1]_), shape (R, 1)."""
    n_replications, n_arms = pulls.shape
    index, everything = np.empty(n_arms), np.ones(n_arms, dtype=np.bool_)
    for r in range(n_replications):
        if stopped[r]:
            continue
        rank = ranks[feature_set[r]]
        x, numbers = features[feature_set[r], :, :rank], pulls[r].astype(np.float64)
        v = design(x, numbers, regulariser)
        if not is_at_least(v, least_eigenvalue):
            arms[r, 0] = int(n_arms * uniform(key, replications[r], spent[r], 2 * n_arms))
            continue
        fit_logistic(x, numbers, totals[r], ridge, theta[r, :rank])
        index[:] = linear_predictor(x, theta[r, :rank])
        factorise(v)
        column = np.empty(rank)
        for k in range(n_arms):
            column[:] = x[k]
            solve_lower(v, column)
            bonus = 0.0
            for i in range(rank):
                bonus += column[i] ** 2
            index[k] += alpha[r] * (np.sqrt(bonus) if root else bonus)
        arms[r, 0] = largest(index, everything, in_order, key, replications[r], spent[r], 0)


@njit(cache=True)
def tally(pulls: IntArray, sums: FloatArray, arms: IntArray, counts: IntArray, totals: FloatArray) -> None:
    """Add what was pulled and what it paid to the counts and sums of the arms, in place."""
    for r in range(len(pulls)):
        for j in range(arms.shape[1]):
            if counts[r, j] > 0 and not np.isnan(totals[r, j]):
                pulls[r, arms[r, j]] += counts[r, j]
                sums[r, arms[r, j]] += totals[r, j]
