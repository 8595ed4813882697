"""Peace: the best arm of a linear bandit within a budget, by rounds that halve the Gaussian width of the arms left.

Idea: with xi ~ N(0, I) the width of some arms is E max_a z_a' A(lambda)^-1/2 xi: how far the largest of their
correlated estimates strays under the design lambda. Pull by the design of ALL arms that makes the width of the live
ones smallest, keep those with the largest estimates as long as their squared width gamma is at most half as large.

Source: Katz-Samuels, Jain, Karnin, Jamieson. "An Empirical Process Approach to the Union Bound: Practical Algorithms
for Combinatorial and Linear Bandits". NeurIPS 2020. Theorem 7, and the authors' script for a fixed budget. What Azizi,
Kveton, Ghavamzadeh (IJCAI 2022, Appendix E.1) call Peace is `peace_live_arms`: designs of live arms that halve them.

Deviations: 64 draws of xi stand for the expectation, and exponentiated gradients with a step that adapts solve for the
design, where the papers use stochastic mirror descent.
"""

from collections.abc import Callable, Iterable

import numpy as np
from numpy import ndarray

from bestarm_plain.shared import Pulls, apportion, in_order, least_squares, span

N_DRAWS, N_STEPS = 64, 200


def normals(n: int, d: int) -> ndarray:
    """Return n draws of xi, shape (n, d)."""
    return np.random.default_rng().standard_normal((n, d))


def width(z: ndarray, lam: ndarray, v: ndarray, xi: ndarray) -> tuple[float, ndarray]:
    """Return the mean over xi of max_v v' A(lambda)^-1/2 xi, and its gradient by lambda."""
    a, Q = np.linalg.eigh((z.T * lam) @ z)  # A = Q diag(a) Q'
    a = np.maximum(a, 1e-12)
    s = 1 / np.sqrt(a)
    turned, rotated = v @ Q, xi @ Q
    heights = turned @ (s * rotated).T
    best = heights.argmax(axis=0)
    middle = turned[best].T @ rotated / (s[:, None] + s)
    u = z @ Q / a
    return heights.max(axis=0).mean(), -((u @ middle) * u).sum(axis=1) / len(xi)


def smallest_width(z: ndarray, v: ndarray, xi: ndarray) -> tuple[float, ndarray]:
    """Return the smallest width of the directions v over designs of the arms z, and its design."""
    n, step = len(z), 1.0
    lam = np.full(n, 1 / n)
    value, gradient = width(z, lam, v, xi)
    for _ in range(N_STEPS):
        scale = np.abs(gradient).max()
        if scale == 0 or step < 1e-6:
            break
        trial = lam * np.exp(-step * (gradient - gradient.min()) / scale)
        trial = np.maximum(trial / trial.sum(), 1e-3 / n)  # the gradient need not exist at 0
        trial /= trial.sum()
        reached, slope = width(z, trial, v, xi)
        if reached < value:
            lam, value, gradient, step = trial, reached, slope, 1.3 * step
        else:
            step /= 2
    return value, lam


def peace(
    x: ndarray,  # features, shape (K, d)
    pull: Pulls,
    budget: int,
    *,
    normals: Callable[[int, int], ndarray] = normals,
    span: Callable[[ndarray], ndarray] = span,
    order: Callable[[int], Iterable[int]] = in_order,
) -> int:
    """Return the live arm with the largest estimate after ceil(max(log2 gamma, 2)) rounds."""
    K, z = len(x), span(x)
    live, N, sums = np.arange(K), np.zeros(K, dtype=int), np.zeros(K)
    gamma = smallest_width(z, z, normals(N_DRAWS, z.shape[1]))[0] ** 2
    R = int(np.ceil(max(np.log2(max(gamma, 1e-12)), 2)))
    for _ in range(R):
        xi = normals(N_DRAWS, z.shape[1])
        value, lam = smallest_width(z, z[live], xi)  # the design weighs all arms
        counts = apportion(lam, budget // R, order(K))
        sums += [pull(a, int(counts[a])) if counts[a] else 0.0 for a in range(K)]
        N += counts
        mean = x @ least_squares(x, N, sums)  # from all rewards so far
        live = live[np.argsort(-mean[live])]
        limit = max(1.0, np.ceil(value**2 / 2))
        if len(live) > 2 and value**2 > limit:  # bisect for the longest prefix, best first, within the limit
            low, high = 1, len(live)
            while low + 1 < high:
                middle = (low + high) // 2
                fits = max(smallest_width(z, z[live[:middle]], xi)[0], 0) ** 2 <= limit
                low, high = (middle, high) if fits else (low, middle)
            live = live[:low]
        live = np.sort(live)
    return int(live[mean[live].argmax()])


def peace_live_arms(
    x: ndarray,
    pull: Pulls,
    budget: int,
    *,
    shift: float = 1.0,
    normals: Callable[[int, int], ndarray] = normals,
    span: Callable[[ndarray], ndarray] = span,
    order: Callable[[int], Iterable[int]] = in_order,
) -> int:
    """Return the arm that floor(log2 K) halvings leave, by widths of differences to the best over their gaps."""
    live, mean, R = np.arange(len(x)), np.zeros(len(x)), max(1, len(x).bit_length() - 1)
    for t in range(R):
        z, estimates = span(x[live]), mean[live]
        best = int(estimates.argmax())
        v = (z[best] - z) / (shift + estimates[best] - estimates)[:, None]
        lam = smallest_width(z, v, normals(N_DRAWS, z.shape[1]))[1]
        counts = (budget // R * lam + 1e-9).astype(int)
        counts[list(order(len(live)))[: budget // R - counts.sum()]] += 1
        sums = np.array([pull(int(a), int(n)) if n else 0.0 for a, n in zip(live, counts, strict=True)])
        mean[live] = x[live] @ least_squares(x[live], counts, sums)  # from the rewards of this stage
        live = np.sort(live[np.argsort(-mean[live])][: max(1, len(x) // 2 ** (t + 1)) if t < R - 1 else 1])
    return int(live[0])
