r"""k-DPPs: sets of k points whose probability is proportional to the determinant of their kernel matrix.

This module has the sets of largest determinant; `k_dpp_exact` samples exactly, and `k_dpp_chains` by Markov chains,
which also run on the posterior of a Gaussian process without its matrix.

References
----------
.. [1] Chen, Zhang, Zhou. "Fast Greedy MAP Inference for Determinantal Point Process to Improve Recommendation
   Diversity". NeurIPS 2018. Algorithm 1.
.. [2] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016.
"""

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.settings import is_whole

NEGLIGIBLE = 1e-10  # a conditional variance or an eigenvalue below this share of the largest is rounding
_NEGATIVE = 1e3 * NEGLIGIBLE  # an eigenvalue below minus this share of the largest is no rounding


@njit(cache=True)
def subtract_products(weights: FloatArray, rows: FloatArray, found: FloatArray) -> None:
    """Subtract weights @ rows in place, four rows at a time; a BLAS would round by its number of threads."""
    m = len(weights)
    whole = m - m % 4
    for s in range(0, whole, 4):
        a, b, c, d = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
        for i in range(len(found)):
            found[i] -= a * rows[s, i] + b * rows[s + 1, i] + c * rows[s + 2, i] + d * rows[s + 3, i]
    for s in range(whole, m):
        for i in range(len(found)):
            found[i] -= weights[s] * rows[s, i]


def check_kernel(kernel: FloatArray, k: int, n_replications: int) -> FloatArray:
    """Return kernels of shape (R, n, n), refusing what is no symmetric matrix, and a k outside 1, ..., n.

    Raises ValueError for such a k, and a kernel that is empty or not square, symmetric, finite, of diagonal from 0."""
    kernel = np.asarray(kernel, dtype=np.float64)
    if kernel.ndim not in (2, 3) or kernel.shape[-1] != kernel.shape[-2]:
        raise ValueError(f"kernel must have shape (n, n) or (R, n, n), got {kernel.shape}.")
    if kernel.size == 0:
        raise ValueError(f"kernel must have at least one point, got shape {kernel.shape}; there is nothing to choose.")
    if kernel.ndim == 3 and len(kernel) != n_replications:
        raise ValueError(f"kernel is that of {len(kernel)} replications, but the streams have {n_replications}.")
    if not np.isfinite(kernel).all():
        raise ValueError("kernel must be finite; it has NaN or infinite entries.")
    largest = np.abs(kernel).max()
    if np.abs(kernel - np.swapaxes(kernel, -1, -2)).max() > 1e-8 * largest:
        raise ValueError("kernel must be symmetric; K and its transpose differ.")
    diagonal = np.diagonal(kernel, axis1=-2, axis2=-1)
    if diagonal.min() < -NEGLIGIBLE * largest:
        raise ValueError(
            f"kernel is not positive semi-definite: its diagonal has {diagonal.min():.3g}. Check the covariance."
        )
    n = kernel.shape[-1]
    check_size(k, n)
    return np.ascontiguousarray(np.broadcast_to(kernel, (n_replications, n, n)))


def check_size(k: int, n: int) -> None:
    """Refuse a size of sets that is no integer from 1 to the number of points."""
    if not is_whole(k) or not 1 <= k <= n:
        raise ValueError(
            f"k must be a whole number from 1 to {n}, the size of the kernel, got {k!r}; give such an int."
        )


def check_spectrum(smallest: float, largest: float) -> None:
    """Refuse a kernel whose smallest eigenvalue is negative beyond rounding."""
    if smallest < -_NEGATIVE * max(largest, 0.0):
        raise ValueError(
            f"kernel is not positive semi-definite: its smallest eigenvalue is {smallest:.3g}, its largest "
            f"{largest:.3g}. Add jitter to the diagonal, or check the covariance function."
        )


def check_definite(kernels: FloatArray) -> None:
    """Refuse kernels, shape (R, n, n), with a negative eigenvalue; O(n^3) a kernel, mostly a Cholesky factor's cost.

    The largest diagonal entry is at most the largest eigenvalue, so that a factor of the kernel with that much rounding
    added shows that `check_spectrum` holds; only where there is none are eigenvalues found.
    """
    for kernel in kernels:
        lifted = kernel.copy()
        lifted.flat[:: len(kernel) + 1] += _NEGATIVE * np.diagonal(kernel).max()
        try:
            np.linalg.cholesky(lifted)
        except np.linalg.LinAlgError:
            values = np.linalg.eigvalsh(kernel)
            check_spectrum(float(values[0]), float(values[-1]))


@njit(cache=True)
def greedy(kernel: FloatArray, k: int, chosen: IntArray) -> int:
    """Write the greedy set of one kernel; return how many points were found before the variances vanished."""
    n = len(kernel)
    left = np.diag(kernel).copy()
    floor = NEGLIGIBLE * left.max()
    rows = np.empty((k, n))
    free = np.ones(n, dtype=np.bool_)
    for t in range(k):
        # [1]_, Algorithm 1: j = argmax d_i^2, the variance of a point given those chosen
        best = -1
        for j in range(n):
            if free[j] and (best < 0 or left[j] > left[best]):
                best = j
        if left[best] <= floor:
            return t
        # e_i = (L_ji - <c_j, c_i>) / d_j
        row = kernel[best].copy()
        for s in range(t):
            row -= rows[s, best] * rows[s]
        rows[t] = row / np.sqrt(left[best])
        left -= rows[t] ** 2  # d_i^2 = d_i^2 - e_i^2
        free[best], chosen[t] = False, best
    return k


@njit(cache=True)
def _greedy_all(kernels: FloatArray, k: int) -> tuple[IntArray, IntArray]:
    chosen, found = np.zeros((len(kernels), k), dtype=np.int64), np.empty(len(kernels), dtype=np.int64)
    for r in range(len(kernels)):
        found[r] = greedy(kernels[r], k, chosen[r])
    return chosen, found


def greedy_map(kernel: FloatArray, k: int) -> IntArray:
    """Return sets found greedily, each point with the largest conditional variance, shape (R, k) ([1]_).

    Time is O(n k^2) a replication, and O(n^3) to refuse an indefinite kernel. Points come in the order in which they
    were chosen; the first of equals is taken. ``kernel`` (ndarray, shape (n, n) or (R, n, n)): positive semi-definite
    matrices; ``k``: size of a set. Raises ValueError for a kernel that is not positive semi-definite, or k above its
    size or the rank that the greedy pivots show."""
    kernels = check_kernel(kernel, k, len(kernel) if np.ndim(kernel) == 3 else 1)
    check_definite(kernels)
    chosen, found = _greedy_all(kernels, k)
    if (found < k).any():
        r = int(np.argmin(found))
        raise ValueError(
            f"k = {k} exceeds the rank of kernel {r}: only {found[r]} points have a positive determinant; take fewer."
        )
    return chosen


@njit(cache=True)
def branch_and_bound(kernel: FloatArray, start: IntArray, most: int) -> tuple[IntArray, int]:
    """Return the set of largest determinant, in ascending order, and how many branches were visited."""
    n, k = len(kernel), len(start)
    best = start.copy()
    best_value = np.log(np.linalg.det(kernel[best][:, best])) * (1.0 + 1e-15)
    # row t: variances of all points given the first t of the branch; log determinants are sums of their logs
    left = np.empty((k + 1, n))
    rows = np.empty((k, n))
    left[0] = np.diag(kernel)
    value = np.zeros(k + 1)
    chosen = np.full(k, -1, dtype=np.int64)
    depth, visited = 0, 0
    floor = NEGLIGIBLE * left[0].max()
    while depth >= 0 and visited < most:
        chosen[depth] += 1
        j = chosen[depth]
        if j > n - (k - depth):  # too few points are left to complete the set: one level up
            depth -= 1
            continue
        visited += 1
        if left[depth, j] <= floor:
            continue
        # bound: variances only fall, so no completion gains more than the largest of them
        reach = np.sort(left[depth, j:])[::-1][: k - depth]
        if value[depth] + np.log(np.maximum(reach, 1e-300)).sum() <= best_value:
            depth -= 1  # later points have smaller bounds still
            continue
        value[depth + 1] = value[depth] + np.log(left[depth, j])
        if depth == k - 1:  # a complete set
            if value[k] > best_value:
                best_value = value[k]
                best[:] = chosen
            continue
        # one level down: condition on point j, as `greedy` does
        row = kernel[j].copy()
        for s in range(depth):
            row -= rows[s, j] * rows[s]
        rows[depth] = row / np.sqrt(left[depth, j])
        left[depth + 1] = np.maximum(left[depth] - rows[depth] ** 2, 0.0)
        depth += 1
        chosen[depth] = j
    return best, visited
