r"""Exact samples of k-DPPs: by eigen-decomposition, and by a mixture of smaller ones if the kernel is I + M.

References
----------
.. [1] Kulesza, Taskar. "k-DPPs: Fixed-Size Determinantal Point Processes". ICML 2011. Algorithms 1 and 2.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.special import gammaln, logsumexp

from bestarm.designs.k_dpp import NEGLIGIBLE, check_definite, check_kernel, check_size, check_spectrum
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
    """Return the eigenvalues of a kernel, negligible ones set to 0, and its eigenvectors.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite, or k is above its rank.
    """
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

    Parameters
    ----------
    kernel : ndarray, shape (n, n) or (R, n, n)
        Positive semi-definite matrices.
    k : int
        Size of a set.
    streams : Streams
        Names the replications.
    item : int
        Names the draw, such as the round of a search.

    Raises
    ------
    ValueError
        For a kernel that is not positive semi-definite, or k above its rank or size.
    """
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


def low_rank(kernel: FloatArray, tolerance: float = 1e-12) -> FloatArray:
    """Return F, shape (rank, n), with F^T F equal to the kernel up to ``tolerance`` of its trace: pivoted Cholesky.

    Raises
    ------
    ValueError
        For a kernel that is not positive semi-definite.
    """
    kernel = check_kernel(kernel, 1, 1)[0]
    check_definite(kernel[None])
    factor, rank = _pivoted(kernel, tolerance)
    return np.asarray(factor[:rank])


@njit(cache=True)
def _pivoted(kernel: FloatArray, tolerance: float) -> tuple[FloatArray, int]:
    n = len(kernel)
    left = np.diag(kernel).copy()
    allowed = tolerance * left.sum()
    rows = np.empty((n, n))
    for t in range(n):
        if left.sum() <= allowed:
            return rows, t
        pick = np.argmax(left)
        row = kernel[pick] - np.dot(np.ascontiguousarray(rows[:t, pick]), rows[:t])
        rows[t] = row / np.sqrt(left[pick])
        left = np.maximum(left - rows[t] ** 2, 0.0)
        left[pick] = 0.0
    return rows, n


def mixture_law(values: FloatArray, n: int, k: int) -> FloatArray:
    r"""Return the law of j, the points that :math:`M` chooses in a k-DPP of :math:`I+M`, shape (k + 1,).

    The weight of j is :math:`e_j(M)\binom{n-j}{k-j}`, because :math:`\det(I+M)_S=\sum_{T\subseteq S}\det M_T`.
    The other k - j points are uniform. ``values`` are the positive eigenvalues of M, of size n.
    """
    j = np.arange(k + 1)
    logs = log_elementary(values, k) + gammaln(n - j + 1) - gammaln(k - j + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(logs - logsumexp(logs)))


def sample_mixture(factor: FloatArray, k: int, streams: Streams, item: int = 0) -> IntArray:
    """Return one sample for each replication of the k-DPP of I + F^T F, shape (R, k), exact and without I + M.

    Time is O(n r^2) for each factor of rank r, then O(n k^2) for each replication.

    Parameters
    ----------
    factor : ndarray, shape (rank, n)
        F, of all replications, see `low_rank`.
    k, streams, item
        As in `sample_exact`.

    Raises
    ------
    ValueError
        If k is not from 1 to n.
    """
    n = factor.shape[1]
    check_size(k, n)
    values, vectors = np.linalg.eigh(factor @ factor.T)
    kept = values > NEGLIGIBLE * max(values[-1], 0.0) if len(values) else np.zeros(0, dtype=np.bool_)
    values, vectors = values[kept], vectors[:, kept]
    law = np.cumsum(mixture_law(values, n, k))
    basis = factor.T @ (vectors / np.sqrt(values))
    found = np.empty((len(streams.replications), k), dtype=np.int64)
    key, rank = streams.key("k-DPP"), len(values)
    scaled = values * (k / values.sum()) if rank else values
    table = elementary(scaled, min(k, rank))
    for r, replication in enumerate(streams.replications):
        j = int(np.searchsorted(law, uniform(key, replication, item, rank + k), side="right"))
        own = np.zeros(0, dtype=np.int64)
        if j > 0:
            chosen = choose_vectors(table, scaled, j, key, replication, item)
            own = project(np.ascontiguousarray(basis[:, chosen]), key, replication, item, rank)
        rest = np.setdiff1d(np.arange(n), own)
        for t in range(k - j):  # a uniform choice without replacement, by Fisher and Yates
            place = t + int(uniform(key, replication, item, rank + k + 1 + t) * (len(rest) - t))
            rest[t], rest[place] = rest[place], rest[t]
        found[r] = np.concatenate([own, rest[: k - j]])
    return found


def informative(kernel: FloatArray, sets: IntArray) -> FloatArray:
    r"""Return how many points of sets M chose on average, if the kernel is I + M: :math:`k-\mathrm{tr}L_S^{-1}`.

    Its mean over samples is the mean of the law of `mixture_law`; the rest of a batch is uniform. ``sets`` (..., k).
    """
    inverse = np.linalg.inv(kernel[sets[..., :, None], sets[..., None, :]])
    return np.asarray(sets.shape[-1] - np.einsum("...ii->...", inverse))
