r"""Logistic regression from the counts and totals of arms: maximum likelihood, safe under separation.

Newton's method with step halving (iteratively reweighted least squares) and a ridge, compiled, O(K d^2 + d^3) a step.
Where 0s and 1s are separated, no maximum likelihood estimate exists; the ridge keeps the estimate finite and hardly
touches it otherwise.

References
----------
.. [1] McCullagh, Nelder. "Generalized Linear Models". 1989.
.. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 5.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bestarm.designs.projection import span_basis
from bestarm.interface import BoolArray, FloatArray, IntArray

RIDGE = 1e-4
_MOST_STEPS = 50
_SMALLEST_STEP = 1e-8
_LEAST_GAIN = 0.25


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
def _linear_predictors(
    features: FloatArray,
    feature_set: IntArray,
    live: BoolArray,
    counts: IntArray,
    totals: FloatArray,
    ridge: float,
    means: FloatArray,
) -> None:
    for r in range(len(live)):
        x = features[feature_set[r]]
        arms = np.flatnonzero(live[r] & (counts[r] > 0) & ~np.isnan(totals[r]))
        means[r] = 0.0
        if len(arms) == 0:
            continue
        basis = span_basis(x[arms])
        theta = np.zeros(basis.shape[1])
        fit_logistic(x[arms] @ basis, counts[r][arms].astype(np.float64), totals[r][arms], ridge, theta)
        direction = basis @ theta
        for a in np.flatnonzero(live[r]):
            means[r, a] = np.sum(x[a] * direction)


def _check_binary(counts: IntArray, totals: FloatArray) -> None:
    """Refuse totals that no sum of so many rewards 0 or 1 can be; NaN is a failed evaluation.

    Raises
    ------
    ValueError
        Naming the first total, the rule and the remedy.
    """
    pulled = (counts > 0) & ~np.isnan(totals)
    wrong = pulled & ((totals < 0) | (totals > counts) | (totals != np.round(totals)))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(
            f"a logistic model needs rewards of 0 or 1, got a total of {totals[place]} from {counts[place]} "
            f"pulls at index {place}; use a linear model for other rewards."
        )


def logistic_scores(
    features: FloatArray,
    feature_set: IntArray,
    live: BoolArray,
    counts: IntArray,
    totals: FloatArray,
    ridge: float = RIDGE,
) -> FloatArray:
    r"""Return :math:`x^\top\hat\theta` of every live arm before the link, shape (R, K), 0 elsewhere ([2]_, Equation 4).

    Parameters
    ----------
    features : ndarray, shape (n_sets, K, d)
        Sets of features.
    feature_set : ndarray of int64, shape (R,)
        Which of them each replication has.
    live : ndarray of bool, shape (R, K)
        Arms whose rewards are used and predicted.
    counts, totals : ndarray, shape (R, K)
        Pulls and sums of rewards 0 or 1 of every arm; a total that is NaN is left out.
    ridge : float
        Penalty on :math:`|\theta|^2/2`, positive.

    Raises
    ------
    ValueError
        If the ridge is not positive, or a total is none of so many rewards 0 or 1.
    """
    if not 0 < ridge < np.inf:
        raise ValueError(f"ridge must be positive, got {ridge}: without it separated rewards have no estimate.")
    _check_binary(counts, totals)
    scores = np.empty(live.shape)
    _linear_predictors(features, feature_set, live, counts, totals, ridge, scores)
    return scores
