r"""Laws of k-DPPs on few points: sets and chains by enumeration, the largest determinant, and the k-DPP of I + M."""

from itertools import combinations
from math import comb

import numpy as np
from numba import njit
from scipy.special import gammaln, logsumexp

from bestarm.designs.k_dpp import NEGLIGIBLE, branch_and_bound, check_definite, check_kernel, check_size, greedy_map
from bestarm.designs.k_dpp_exact import choose_vectors, elementary, log_elementary, project
from bestarm.designs.k_dpp_mixing import Chain
from bestarm.interface import FloatArray, IntArray
from bestarm.streams import Streams, uniform

MOST_SETS = 2_000_000


def log_determinants(kernel: FloatArray, sets: IntArray) -> FloatArray:
    """Return the log determinants of the kernel matrices of sets, shape (...), for sets of shape (..., k)."""
    sign, value = np.linalg.slogdet(kernel[sets[..., :, None], sets[..., None, :]])
    return np.asarray(np.where(sign > 0, value, -np.inf))


def subset_law(kernel: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """Return all sets of size k, shape (N, k), and their probabilities, by enumeration.
    Raises ValueError for a kernel not positive semi-definite, more than two million sets, or k above the rank."""
    kernel = check_kernel(kernel, k, 1)[0]
    check_definite(kernel[None])
    n_sets = comb(len(kernel), k)
    if n_sets > MOST_SETS:
        raise ValueError(f"there are {n_sets} sets of {k} out of {len(kernel)}, more than {MOST_SETS} to enumerate.")
    sets = np.array(list(combinations(range(len(kernel)), k)), dtype=np.int64)
    logs = log_determinants(kernel, sets)
    if not np.isfinite(logs).any():
        raise ValueError(f"k = {k} exceeds the rank of the kernel: every determinant of that size is 0.")
    return sets, np.exp(logs - logsumexp(logs))


def max_determinant(kernel: FloatArray, k: int, most: int = 20_000_000) -> IntArray:
    """Return the set with the largest determinant, in ascending order, shape (k,), by branch and bound.
    A branch is cut where Hadamard's bound on the rest is not above the best set so far, at first the greedy one. Raises
    ValueError for a bad kernel, k above the rank, or more than ``most`` branches."""
    start = np.sort(greedy_map(kernel, k)[0])
    best, visited = branch_and_bound(check_kernel(kernel, k, 1)[0], start, most)
    if visited >= most:
        raise ValueError(f"the search for the largest determinant passed {most} branches; take fewer points or k.")
    return np.asarray(best)


def transition_matrix(kernel: FloatArray, k: int, chain: Chain) -> tuple[FloatArray, FloatArray]:
    """Return the transition matrix of a chain over all sets of size k, shape (N, N), and its law, by enumeration."""
    sets, law = subset_law(kernel, k)
    n, places = len(kernel), {tuple(s): i for i, s in enumerate(sets.tolist())}
    moves = np.zeros((len(sets), len(sets)))
    for i, members in enumerate(sets.tolist()):
        for out in members:
            rest = [m for m in members if m != out]
            targets = np.array([places[tuple(sorted([*rest, j]))] for j in range(n) if j not in rest])
            if chain == "down-up":
                moves[i, targets] += law[targets] / law[targets].sum() / k
            else:
                others = targets[targets != i]
                with np.errstate(divide="ignore"):
                    moves[i, others] += 0.5 * np.minimum(1.0, law[others] / law[i]) / (k * (n - k))
        moves[i, i] += 1.0 - moves[i].sum()
    return moves, law


def distances(moves: FloatArray, law: FloatArray, start: int, n_steps: int) -> FloatArray:
    """Return the total variation distance to the law after 0, ..., ``n_steps`` steps from one set."""
    own, found = np.zeros(len(law)), np.empty(n_steps + 1)
    own[start] = 1.0
    for t in range(n_steps + 1):
        found[t] = 0.5 * np.abs(own - law).sum()
        own = own @ moves
    return found


def low_rank(kernel: FloatArray, tolerance: float = 1e-12) -> FloatArray:
    """Return F, shape (rank, n), with F^T F equal to the kernel up to ``tolerance`` of its trace: pivoted Cholesky.
    Raises ValueError for a kernel that is not positive semi-definite."""
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
    The other k - j points are uniform. ``values`` are the positive eigenvalues of M, of size n."""
    j = np.arange(k + 1)
    logs = log_elementary(values, k) + gammaln(n - j + 1) - gammaln(k - j + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(logs - logsumexp(logs)))


def sample_mixture(factor: FloatArray, k: int, streams: Streams, item: int = 0) -> IntArray:
    """Return one sample for each replication of the k-DPP of I + F^T F, shape (R, k), exact and without I + M.
    Time is O(n r^2) for each factor of rank r, then O(n k^2) for each replication. ``factor``, shape (rank, n): F, of
    all replications, see `low_rank`; others as in `sample_exact`. Raises ValueError if k is not from 1 to n."""
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
    Its mean over samples is the mean of the law of `mixture_law`; the rest of a batch is uniform. ``sets`` (..., k)."""
    inverse = np.linalg.inv(kernel[sets[..., :, None], sets[..., None, :]])
    return np.asarray(sets.shape[-1] - np.einsum("...ii->...", inverse))
