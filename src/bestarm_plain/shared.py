"""Largest values, least squares and logistic fits, designs, and whole numbers of pulls, for several pages."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.optimize import linprog, minimize
from scipy.special import expit

Pull = Callable[[int], float]  # an arm's next reward
Pulls = Callable[[int, int], float]  # the sum of an arm's next n rewards
Design = Callable[[ndarray, int, int], ndarray]  # weights that compare two arms
Argmax = Callable[..., int]  # the arm of largest value among some; how ties are broken is the caller's choice


def argmax(values: Any, among: Iterable[int] | None = None) -> int:
    """Return the arm with the largest value, of equal ones the first, among some arms or all."""
    return max(range(len(values)) if among is None else among, key=lambda a: values[a])


def in_order(n: int) -> list[int]:
    """Return the order in which n equal arms are served: pages take another one, such as a random permutation."""
    return list(range(n))


def span(x: ndarray) -> ndarray:
    """Return the coordinates of arms, shape (K, d), in the span of all of them, shape (K, rank)."""
    _, s, vt = np.linalg.svd(x, full_matrices=False)
    return x @ vt[s > 1e-9 * s[0]].T


def least_squares(x: ndarray, N: ndarray, sums: ndarray) -> ndarray:
    """Return the shortest least squares parameter, from pulls and sums of rewards of each arm."""
    return np.linalg.pinv((x.T * N) @ x, rcond=1e-9, hermitian=True) @ x.T @ sums


def g_optimal(x: ndarray, tolerance: float = 0.01) -> ndarray:
    """Return the design pi whose largest leverage x_i' V(pi)^-1 x_i is within ``tolerance`` of the least, the rank.

    Fedorov's steps on det V from the uniform design: weight moves to the arm of largest leverage, or away from the arm
    of smallest leverage, whichever gains more. Arms at the origin get none.
    """
    there = (x**2).sum(axis=1) > 0
    z = span(x[there])
    n, d = z.shape
    pi = np.full(n, 1 / n)
    while n > d:
        leverage = ((z @ np.linalg.inv((z.T * pi) @ z)) * z).sum(axis=1)
        s, away = int(leverage.argmax()), int(np.where(pi > 0, leverage, np.inf).argmin())
        if leverage[s] <= (1 + tolerance) * d:
            break
        i = s if d - leverage[away] <= leverage[s] - d else away
        gamma = (leverage[i] / d - 1) / (leverage[i] - 1)
        if i == away:
            drop = -pi[i] / (1 - pi[i])  # the step that takes all of its weight
            gamma = max(gamma, drop) if leverage[i] > 1 else drop
        pi *= 1 - gamma
        pi[i] = max(pi[i] + gamma, 0.0)
    pi[pi < 1e-6] = 0.0
    weights = np.zeros(len(x))
    weights[there] = pi / pi.sum()
    return weights


def apportion(weights: ndarray, n: int, served: Iterable[int]) -> ndarray:
    """Return n whole pulls near ``n * weights``, ties as they are served (Pukelsheim and Rieder 1992)."""
    support = [a for a in served if weights[a] > 0]
    pi, counts = weights[support], np.zeros(len(weights), dtype=int)
    if n <= len(support):
        counts[[support[i] for i in np.argsort(-np.round(pi, 10), kind="stable")[:n]]] = 1
        return counts
    N = np.maximum(np.ceil((n - len(support) / 2) * pi * (1 - 1e-10)), 1)
    while N.sum() != n:
        value, step = (N / pi, 1) if N.sum() < n else ((1 - N) / pi, -1)
        N[np.flatnonzero(value <= value.min() + 1e-10 * abs(value.min()))[0]] += step
    counts[support] = N
    return counts


def logistic_fit(x: ndarray, N: ndarray, sums: ndarray, ridge: float) -> ndarray:
    """Return the parameter of largest likelihood, less the ridge, from pulls and sums of rewards 0 or 1 of each arm."""

    def loss(theta: ndarray) -> float:
        z = x @ theta
        return float(N @ np.logaddexp(0, z) - sums @ z + ridge * theta @ theta / 2)

    def slope(theta: ndarray) -> ndarray:
        return x.T @ (N * expit(x @ theta) - sums) + ridge * theta

    def curvature(theta: ndarray) -> ndarray:
        p = expit(x @ theta)
        return (x.T * (N * p * (1 - p))) @ x + ridge * np.eye(x.shape[1])

    start = np.zeros(x.shape[1])
    return minimize(loss, start, jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-9}).x


def pair_design(x: ndarray, b: int, c: int) -> ndarray:
    """Return the w of smallest sum of absolute values with sum_a w_a x_a = x_b - x_c: how to compare two arms."""
    found = linprog(np.ones(2 * len(x)), A_eq=np.hstack([x.T, -x.T]), b_eq=x[b] - x[c], method="highs-ds")
    return np.round(found.x[: len(x)] - found.x[len(x) :], 12)
