r"""Exact samples of k-DPPs by eigen-decomposition.

References
----------
.. [1] Kulesza, Taskar. "k-DPPs: Fixed-Size Determinantal Point Processes". ICML 2011. Algorithms 1 and 2.
"""

import numpy as np
from numba import njit

from bestarm.designs.k_dpp import NEGLIGIBLE, check_kernel, check_spectrum
from bestarm.interface import FloatArray, IntArray
from bestarm.streams import Streams, uniform


@njit(cache=True)
def elementary(values: FloatArray, k: int) -> FloatArray:
    """Return e_0, ..., e_k of the first 0, ..., n values, shape (k + 1, n + 1)."""
    n = len(values)
    table = np.zeros((k + 1, n + 1))
    table[0] = 1.0
    for j in range(1, k + 1):
        for i in range(1, n + 1):
            table[j, i] = table[j, i - 1] + values[i - 1] * table[j - 1, i - 1]
    return table


def log_elementary(values: FloatArray, k: int) -> FloatArray:
    """Return the logarithms of the elementary symmetric polynomials e_0, ..., e_k of non-negative numbers."""
    total = float(np.sum(values))
    if total == 0.0:
        return np.concatenate([np.zeros(1), np.full(k, -np.inf)])
    scale = max(k, 1) / total  # e_j of scaled values is at most k^j / j!, which does not overflow
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(elementary(values * scale, k)[:, -1]) - np.arange(k + 1) * np.log(scale))


@njit(cache=True)
def choose_vectors(
    table: FloatArray, values: FloatArray, k: int, key: np.uint64, replication: int, item: int
) -> IntArray:
    """Return k eigenvectors, chosen from the last to the first ([1]_, Algorithm 2); draws 0, ..., n - 1."""
    chosen = np.empty(k, dtype=np.int64)
    left = k
    for i in range(len(values) - 1, -1, -1):
        if left == 0:
            break
        whole = table[left, i + 1]
        if uniform(key, replication, item, i) * whole < values[i] * table[left - 1, i]:
            left -= 1
            chosen[left] = i
    return chosen[left:]


@njit(cache=True)
def project(basis: FloatArray, key: np.uint64, replication: int, item: int, number: int) -> IntArray:
    """Return the set that orthonormal columns, shape (n, k), span: pick by squared norms, project out, repeat."""
    n, k = basis.shape
    left = (basis**2).sum(axis=1)
    rows = np.empty((k, n))
    chosen = np.empty(k, dtype=np.int64)
    for t in range(k):
        # point i with probability proportional to |V_i|^2, rows V_i of the basis given the points so far
        target = uniform(key, replication, item, number + t) * left.sum()
        pick, reach = -1, 0.0
        for j in range(n):
            if left[j] > 0.0:
                pick, reach = j, reach + left[j]
                if reach > target:
                    break
        # project the direction of that point out of all rows: a Cholesky step on V V'
        row = basis @ basis[pick]
        for s in range(t):
            row -= rows[s, pick] * rows[s]
        rows[t] = row / np.sqrt(left[pick])
        left = np.maximum(left - rows[t] ** 2, 0.0)
        left[chosen[:t]] = 0.0
        left[pick] = 0.0
        chosen[t] = pick
    return chosen


def eigen_decomposition(kernel: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues, negligible ones as 0, and vectors; ValueError for negative ones, or a rank below k."""
    values, vectors = np.linalg.eigh(kernel)
    check_spectrum(float(values[0]), float(values[-1]))
    floor = NEGLIGIBLE * max(values[-1], 0.0)
    values = np.where(values > floor, values, 0.0)
    if (rank := int((values > 0).sum())) < k:
        raise ValueError(
            f"k = {k} exceeds the rank of the kernel, {rank}: every determinant of that size is 0; take a smaller k."
        )
    return values, vectors


def sample_exact(kernel: FloatArray, k: int, streams: Streams, item: int = 0) -> IntArray:
    """Return one k-DPP sample for each replication, shape (R, k), by eigen-decomposition ([1]_).

    Time is O(n^3) for each kernel, then O(n k^2) for each replication; one kernel for all is decomposed once.
    ``kernel`` (ndarray, shape (n, n) or (R, n, n)): positive semi-definite matrices; ``k``: size of a set; ``streams``:
    names the replications; ``item``: names the draw, such as the round of a search. Raises ValueError for a kernel that
    is not positive semi-definite, or k above its rank or size."""
    kernel = np.asarray(kernel, dtype=np.float64)
    check_kernel(kernel, k, len(streams.replications) if kernel.ndim == 3 else 1)
    found = np.empty((len(streams.replications), k), dtype=np.int64)
    key, n = streams.key("k-DPP"), kernel.shape[-1]
    for r, replication in enumerate(streams.replications):
        if r == 0 or kernel.ndim == 3:
            values, vectors = eigen_decomposition(kernel if kernel.ndim == 2 else kernel[r], k)
            scaled = values * (k / values.sum())
            table = elementary(scaled, k)
        kept = choose_vectors(table, scaled, k, key, replication, item)
        found[r] = project(np.ascontiguousarray(vectors[:, kept]), key, replication, item, n)
    return found
