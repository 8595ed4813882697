r"""Markov chains whose stationary law is a k-DPP: exchange, as in the paper, and down-up, which needs far fewer steps.

Both run on an explicit kernel, or on :math:`L=I+\sigma^{-2}K` where K is the posterior covariance of a Gaussian process
that is never formed: an entry is the prior covariance minus a product of whitened columns.

References
----------
.. [1] Anari, Oveis Gharan, Rezaei. "Monte Carlo Markov Chain Algorithms for Sampling Strongly Rayleigh Distributions
   and Determinantal Point Processes". COLT 2016.
"""

from typing import NamedTuple, get_args

import numpy as np
from numba import njit

from bestarm.designs.k_dpp import check_kernel, greedy_map, subtract_products
from bestarm.designs.k_dpp_mixing import Chain, down_up_steps, exchange_steps, greedy_deficit
from bestarm.interface import FloatArray, IntArray
from bestarm.settings import is_whole
from bestarm.streams import Streams, uniform
from bestarm.vector_functions import exponentials

_PATIENCE = 24  # rejected proposals after which conditional variances of all points are kept instead
_ROUNDING = 1e-8  # share of the diagonal by which a conditional variance may be negative


class Entries(NamedTuple):
    """Where the entries of a DPP kernel come from: a matrix, or the posterior of a Gaussian process."""

    matrix: FloatArray  # the kernel itself, (n, n); the other fields are used if it is empty, (0, 0)
    points: FloatArray  # points over their length-scales, (d, n)
    rows: FloatArray  # whitened covariances of the observations with the points, as of `FiniteGP`, (m, n)
    signal: float  # of the prior covariance, constant + signal exp(-|x - y|^2 / 2)
    constant: float
    weight: float  # the kernel is ridge I + weight K
    ridge: float


def explicit(matrix: FloatArray) -> Entries:
    """Return the entries of a given matrix."""
    none = np.zeros((0, len(matrix)))
    return Entries(np.ascontiguousarray(matrix), none, none, 1.0, 0.0, 1.0, 0.0)


@njit(cache=True)
def _gather(entries: Entries, i: int, column: FloatArray) -> None:
    for s in range(len(column)):
        column[s] = entries.rows[s, i]


@njit(cache=True)
def _entries_with(
    entries: Entries, i: int, column: FloatArray, members: IntArray, columns: FloatArray, found: FloatArray
) -> None:
    """Write the kernel entries of point i with the members, of which i is none."""
    if entries.matrix.size > 0:
        for t in range(len(members)):
            found[t] = entries.matrix[members[t], i]  # rows of members stay in the processor's cache
        return
    products = np.dot(columns, column)
    for t in range(len(members)):
        squared = 0.0
        for c in range(len(entries.points)):
            squared += (entries.points[c, i] - entries.points[c, members[t]]) ** 2
        found[t] = entries.weight * (entries.constant + entries.signal * np.exp(-0.5 * squared) - products[t])


@njit(cache=True)
def _factor(gram: FloatArray, without: int, floor: float, factor: FloatArray, order: IntArray) -> None:
    """Write the Cholesky factor of the members' kernel matrix without one of them, and their places."""
    size = 0
    for t in range(len(gram)):
        if t != without:
            order[size] = t
            size += 1
    for i in range(size):
        for j in range(i + 1):
            value = gram[order[i], order[j]]
            for s in range(j):
                value -= factor[i, s] * factor[j, s]
            factor[i, j] = np.sqrt(max(value, floor)) if i == j else value / factor[j, j]


@njit(cache=True)
def _conditional(
    variance: float, found: FloatArray, factor: FloatArray, order: IntArray, size: int, solved: FloatArray
) -> float:
    """Return the variance of a point given members, from its kernel entries with them; ``solved`` is overwritten."""
    for i in range(size):
        value = found[order[i]]
        for s in range(i):
            value -= factor[i, s] * solved[s]
        solved[i] = value / factor[i, i]
        variance -= solved[i] ** 2
    return variance


@njit(cache=True)
def _draw_from(diagonal: FloatArray, reach: FloatArray, u: float) -> int:
    """Return a point with probability proportional to the diagonal, whose cumulative sum is ``reach``."""
    return min(np.searchsorted(reach, u * reach[-1], side="right"), len(diagonal) - 1)


@njit(cache=True)
def _among(value: int, members: IntArray, without: int, size: int) -> bool:
    for t in range(size):  # noqa: SIM110  (numba has no any over generators)
        if t != without and members[t] == value:
            return True
    return False


@njit(cache=True)
def _try_add(
    entries: Entries,
    diagonal: FloatArray,
    reach: FloatArray,
    members: IntArray,
    columns: FloatArray,
    gram: FloatArray,
    place: int,
    size: int,
    workspace: tuple[FloatArray, IntArray, FloatArray, FloatArray, FloatArray],
    draws: tuple[np.uint64, int, int, int],
) -> tuple[int, int, bool]:
    """Put a point at a place of the set, with probability proportional to its variance given the other members.

    By rejection: a point is proposed with probability proportional to its diagonal entry, which bounds its conditional
    variance. Returns the next number of a draw, whether a variance was negative beyond rounding, and whether a proposal
    was accepted before patience ran out; if none was, drawing from the target itself keeps the law exact.
    """
    factor, order, column, found, solved = workspace
    key, replication, item, number = draws
    bad = 0
    # Cholesky factor of L_S', S' the members without the one at this place
    _factor(gram[:size, :size], place, _ROUNDING * diagonal[members[0]] + 1e-300, factor, order)
    for _ in range(_PATIENCE):
        # propose j with probability proportional to L_jj
        j = _draw_from(diagonal, reach, uniform(key, replication, item, number))
        accept = uniform(key, replication, item, number + 1)
        number += 2
        if _among(j, members, place, size):
            continue
        _gather(entries, j, column)
        _entries_with(entries, j, column, members[:size], columns[:size], found)
        # L_jj - L_jS' L_S'^-1 L_S'j, at most L_jj
        variance = _conditional(diagonal[j], found, factor, order, size - 1, solved)
        if variance < -_ROUNDING * diagonal[j]:
            bad = 1
        if accept * diagonal[j] < variance:  # accept with probability variance / L_jj
            _place(members, columns, gram, diagonal, place, size, j, column, found)
            return number, bad, True
    return number, bad, False


@njit(cache=True)
def _widen(entries: Entries, diagonal: FloatArray, j: int, column: FloatArray, wide: FloatArray) -> None:
    """Write the kernel entries of point j with all points, O(m n)."""
    if entries.matrix.size > 0:
        wide[:] = entries.matrix[j]
        return
    wide[:] = 0.0
    # prior covariances: constant + signal exp(-|x - y|^2 / 2)
    for c in range(len(entries.points)):
        centre = entries.points[c, j]
        for i in range(len(wide)):
            wide[i] -= 0.5 * (entries.points[c, i] - centre) ** 2
    exponentials(wide)
    for i in range(len(wide)):
        wide[i] = entries.constant + entries.signal * wide[i]
    subtract_products(column, entries.rows, wide)  # posterior covariances: less the products of whitened columns
    wide *= entries.weight
    wide[j] = diagonal[j]  # the ridge is on the diagonal alone


@njit(cache=True)
def _add_exactly(
    entries: Entries,
    diagonal: FloatArray,
    wide: FloatArray,
    members: IntArray,
    columns: FloatArray,
    gram: FloatArray,
    place: int,
    size: int,
    workspace: tuple[FloatArray, IntArray, FloatArray, FloatArray, FloatArray],
    u: float,
) -> int:
    """Add a member at a place by all conditional variances, O((m + k) n); return whether one was negative.

    ``wide``, shape (k, n), holds the kernel entries of the members with all points.
    """
    factor, order, column, found, _ = workspace
    others = size - 1
    left = diagonal.copy()
    # left_j = L_jj - |F^-1 L_S'j|^2 with the Cholesky factor F of L_S', the members without this place
    if others > 0:
        _factor(gram[:size, :size], place, _ROUNDING * diagonal[members[0]] + 1e-300, factor, order)
        inverse = np.zeros((others, size))
        for c in range(others):  # column c of the inverse of the factor, at the member's own place
            for i in range(c, others):
                value = 1.0 if i == c else 0.0
                for s in range(c, i):
                    value -= factor[i, s] * inverse[s, order[c]]
                inverse[i, order[c]] = value / factor[i, i]
        solved = np.dot(inverse, wide[:size])
        for i in range(others):
            for j in range(len(left)):
                left[j] -= solved[i, j] ** 2
    # what is a member already cannot be added
    total, bad = 0.0, 0
    for t in range(size):
        if t != place:
            left[members[t]] = 0.0
    for j in range(len(left)):
        if left[j] < -_ROUNDING * diagonal[j]:
            bad = 1
        total += max(left[j], 0.0)
    # the first point at which the cumulative sum exceeds u times the total
    target, pick, seen = u * total, members[place], 0.0
    for j in range(len(left)):
        if left[j] > 0.0:
            pick, seen = j, seen + left[j]
            if seen > target:
                break
    if pick >= 0 and pick != members[place]:  # the new member's column, Gram entries and kernel row
        _gather(entries, pick, column)
        for t in range(size):
            found[t] = wide[t, pick]
        _place(members, columns, gram, diagonal, place, size, pick, column, found)
        _widen(entries, diagonal, pick, column, wide[place])
    return bad


@njit(cache=True)
def _place(
    members: IntArray,
    columns: FloatArray,
    gram: FloatArray,
    diagonal: FloatArray,
    place: int,
    size: int,
    j: int,
    column: FloatArray,
    found: FloatArray,
) -> None:
    """Make point j the member at a place."""
    members[place], columns[place] = j, column
    for t in range(size):
        gram[place, t] = gram[t, place] = found[t]
    gram[place, place] = diagonal[j]


@njit(cache=True)
def _exchange(
    entries: Entries,
    diagonal: FloatArray,
    members: IntArray,
    columns: FloatArray,
    gram: FloatArray,
    n_steps: int,
    workspace: tuple[FloatArray, IntArray, FloatArray, FloatArray, FloatArray],
    draws: tuple[np.uint64, int, int, int],
) -> int:
    """Run the lazy exchange chain ([1]_) in place; return whether a conditional variance was negative.

    Factors of the members but one, and the variance of that one given them, are kept until a point is exchanged.
    """
    _, _, column, found, solved = workspace
    key, replication, item, number = draws
    k, n, bad = len(members), len(diagonal), 0
    factors, orders, losses = np.zeros((k, k, k)), np.zeros((k, k), dtype=np.int64), np.zeros(k)
    ready = np.zeros(k, dtype=np.bool_)
    for _ in range(n_steps):
        lazy = uniform(key, replication, item, number) < 0.5  # stay with probability 1/2
        number += 1
        if lazy or k == n:
            continue
        # i uniform among the members, j uniform among the others
        place = int(uniform(key, replication, item, number) * k)
        j = members[0]
        while _among(j, members, -1, k):
            number += 1
            j = int(uniform(key, replication, item, number) * n)
        accept = uniform(key, replication, item, number + 1)
        number += 2
        # det L_{S-i+j} / det L_S is the variance of j over that of i, both given S - i
        factor, order = factors[place], orders[place]
        if not ready[place]:
            _factor(gram, place, _ROUNDING * diagonal[members[0]] + 1e-300, factor, order)
            losses[place] = _conditional(diagonal[members[place]], gram[place], factor, order, k - 1, solved)
            ready[place] = True
        _gather(entries, j, column)
        _entries_with(entries, j, column, members, columns, found)
        gain = _conditional(diagonal[j], found, factor, order, k - 1, solved)
        if gain < -_ROUNDING * diagonal[j]:
            bad = 1
        if accept * losses[place] < gain:  # Metropolis: exchange with probability min(1, ratio)
            _place(members, columns, gram, diagonal, place, k, j, column, found)
            ready[:] = False
    return bad


@njit(cache=True)
def run_chain(
    entries: Entries,
    diagonal: FloatArray,
    start: IntArray,
    k: int,
    n_steps: int,
    exchange: bool,
    key: np.uint64,
    replication: int,
    item: int,
) -> tuple[IntArray, int]:
    """Return the set after so many steps, and whether the kernel was seen not to be positive semi-definite.

    An empty ``start`` means points added one after the other in proportion to their conditional variances.
    """
    m = len(entries.rows)
    members, columns, gram = np.zeros(k, dtype=np.int64), np.empty((k, m)), np.zeros((k, k))
    workspace = (np.zeros((k, k)), np.zeros(k, dtype=np.int64), np.empty(m), np.zeros(k), np.empty(k))
    wide = np.zeros((k if not exchange else 0, len(diagonal)))
    reach = np.cumsum(diagonal)
    number, bad, whole = 0, 0, False
    if len(start) > 0:  # the given start, member by member
        for t in range(k):
            _gather(entries, start[t], workspace[2])
            _entries_with(entries, start[t], workspace[2], members[:t], columns[:t], workspace[3][:t])
            _place(members, columns, gram, diagonal, t, t, start[t], workspace[2], workspace[3])
        if exchange:
            draws = (key, replication, item, number)
            return members, _exchange(entries, diagonal, members, columns, gram, n_steps, workspace, draws)
    # steps below 0 fill the set; the others are down-up: one member leaves, one point is added
    for step in range(-k if len(start) == 0 else 0, n_steps):
        if step < 0:
            place, size = k + step, k + step + 1
            members[place] = -1
        else:
            place, size = int(uniform(key, replication, item, number) * k), k
            number += 1
        if not whole:  # by rejection; once patience ran out, from the variances of all points
            number, fault, added = _try_add(
                entries,
                diagonal,
                reach,
                members,
                columns,
                gram,
                place,
                size,
                workspace,
                (key, replication, item, number),
            )
            bad = max(bad, fault)
            if added:
                continue
            whole = True
            for t in range(size):
                if members[t] >= 0:
                    _widen(entries, diagonal, members[t], columns[t], wide[t])
        u = uniform(key, replication, item, number)
        number += 1
        fault = _add_exactly(entries, diagonal, wide, members, columns, gram, place, size, workspace, u)
        bad = max(bad, fault)
    return members, bad


def sample_chain(
    kernel: FloatArray,
    k: int,
    streams: Streams,
    chain: Chain = "down-up",
    epsilon: float = 0.01,
    n_steps: int | None = None,
    item: int = 0,
) -> IntArray:
    """Return one sample for each replication, shape (R, k), within ``epsilon`` of the k-DPP in total variation.

    Starts at the greedy set. A step of the down-up chain costs O(k^2) a proposal, of which there are as many as the
    trace exceeds the conditional trace; a step of the exchange chain O(k^3). ``kernel``, ``k``, ``streams``, ``item``:
    as in `bestarm.designs.k_dpp_exact.sample_exact`; ``chain`` ({"down-up", "exchange"}): remove a uniform point and
    add one by its conditional variance; or the lazy Metropolis exchange of the paper; ``epsilon``: distance in total
    variation, in (0, 1); ``n_steps``: steps; by default what the bounds ask for. Raises ValueError for a kernel that is
    not positive semi-definite, k above its rank or size, an unknown chain, or a bad number."""
    if chain not in get_args(Chain):
        raise ValueError(f"chain must be one of {', '.join(get_args(Chain))}, got {chain!r}.")
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon must lie in (0, 1), got {epsilon}: it is a distance in total variation.")
    if n_steps is not None and (not is_whole(n_steps) or n_steps < 0):
        raise ValueError(
            f"n_steps must be a whole number of at least 0, got {n_steps!r}; None takes what the bounds ask."
        )
    n_replications = len(streams.replications)
    kernels = check_kernel(kernel, k, n_replications if np.ndim(kernel) == 3 else 1)
    starts, n = greedy_map(kernels, k), kernels.shape[-1]
    if n_steps is None:
        deficit = greedy_deficit(n, k)
        n_steps = down_up_steps(deficit, k, epsilon) if chain == "down-up" else exchange_steps(deficit, n, k, epsilon)
    key = streams.key("k-DPP")
    found = np.empty((n_replications, k), dtype=np.int64)
    for r, replication in enumerate(streams.replications):
        own = r % len(kernels)
        diagonal = np.diagonal(kernels[own]).copy()
        found[r], bad = run_chain(
            explicit(kernels[own]), diagonal, starts[own], k, n_steps, chain == "exchange", key, replication, item
        )
        if bad:
            raise ValueError(f"kernel {own} is not positive semi-definite: a conditional variance is negative.")
    return found
