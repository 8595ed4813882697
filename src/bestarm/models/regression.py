r"""Regression on the counts and totals of a few arms, compiled: least squares, and logistic regression.

Least squares is one Cholesky factor. Logistic regression is maximum likelihood, safe under separation: Newton's method
with step halving (iteratively reweighted least squares) and a ridge, O(K d^2 + d^3) a step. Where 0s and 1s are
separated, no maximum likelihood estimate exists; the ridge keeps the estimate finite and hardly touches it otherwise.

References
----------
.. [1] McCullagh, Nelder. "Generalized Linear Models". 1989.
.. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 5.
"""

import numpy as np
from numba import njit

from bestarm.interface import FloatArray

RIDGE = 1e-4
_MOST_STEPS = 50
_SMALLEST_STEP = 1e-8
_LEAST_GAIN = 0.25


@njit(cache=True)
def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product of two short vectors, without the overhead of a call to BLAS."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def factorise(matrix: FloatArray) -> bool:
    """Replace the lower triangle of a symmetric matrix by its Cholesky factor; return False if it has none."""
    column = np.empty(len(matrix))
    for k in range(len(matrix)):
        if not matrix[k, k] > 0.0:
            return False
        matrix[k, k] = np.sqrt(matrix[k, k])
        for i in range(k + 1, len(matrix)):
            matrix[i, k] /= matrix[k, k]
            column[i] = matrix[i, k]
        for i in range(k + 1, len(matrix)):
            if column[i] != 0.0:  # zeros are many where arms are orthogonal
                for j in range(k + 1, i + 1):
                    matrix[i, j] -= column[i] * column[j]
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
                if x[k, i] != 0.0:
                    for j in range(i + 1):
                        matrix[i, j] += weights[k] * x[k, i] * x[k, j]
    return matrix


@njit(cache=True)
def fit_least_squares(x: FloatArray, counts: FloatArray, totals: FloatArray) -> FloatArray:
    """Return the parameter of least squares, given arms that span their space, each pulled at least once."""
    theta = np.zeros(x.shape[1])
    for k in range(len(x)):
        for i in range(len(theta)):
            theta[i] += totals[k] * x[k, i]
    matrix = design(x, counts, 0.0)
    factorise(matrix)
    solve_lower(matrix, theta)
    solve_upper(matrix, theta)
    return theta


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
        # gradient: X'(S - N p) - ridge theta
        step[:] = -ridge * theta
        for k in range(len(x)):
            weights[k] = 0.0
            if counts[k] > 0.0:
                p = 1.0 / (1.0 + np.exp(-z[k])) if z[k] > -700.0 else 0.0
                weights[k] = counts[k] * p * (1.0 - p)
                for i in range(d):
                    step[i] += (totals[k] - counts[k] * p) * x[k, i]
        hessian = design(x, weights, ridge)  # minus the Hessian: X' diag(N p (1 - p)) X + ridge I
        if not factorise(hessian):
            return n_steps
        gradient[:] = step
        solve_lower(hessian, step)
        solve_upper(hessian, step)
        # Newton's step, then its halves until Armijo's condition holds
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
