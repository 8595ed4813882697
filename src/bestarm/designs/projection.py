"""Coordinates of arms in their span: elimination leaves fewer arms than features, and V is then singular.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 4.
"""

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-9
_CODED_COLUMNS = 3


@njit(cache=True)
def subtract_span(vector: FloatArray, basis: FloatArray) -> None:
    """Subtract from a vector, in place, what orthonormal rows explain of it, twice against rounding."""
    for _ in range(2):
        for j in range(len(basis)):
            share = 0.0
            for k in range(len(vector)):
                share += vector[k] * basis[j, k]
            if share != 0.0:
                for k in range(len(vector)):
                    vector[k] -= share * basis[j, k]


@njit(cache=True)
def span_basis(x: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of the arms, shape (d, rank), by pivoted Gram-Schmidt, O(n d rank).

    An arm within a billionth of the longest arm's norm of the span so far adds nothing. Coordinates are ``x @ basis``.
    ``x`` (ndarray, shape (n, d)): arms; all may be zero, the rank is then 0."""
    n, d = x.shape
    rest = np.ascontiguousarray(x.T)  # what the basis does not explain, arms last: sums run over all arms at once
    squares = np.zeros(n)
    for k in range(d):
        for i in range(n):
            squares[i] += rest[k, i] ** 2
    limit = _ROUNDING * np.sqrt(squares.max()) if n > 0 else 0.0
    basis = np.empty((min(n, d), d))
    direction, along = np.empty(d), np.empty(n)
    rank = 0
    while rank < len(basis):
        longest = int(np.argmax(squares))  # pivot: the arm with the largest part outside of the span
        for k in range(d):
            direction[k] = rest[k, longest]
        subtract_span(direction, basis[:rank])
        norm = np.sqrt(np.sum(direction**2))
        if norm <= limit or norm == 0.0:
            break
        basis[rank] = direction / norm
        # take the new direction off every arm
        along[:] = 0.0
        for k in range(d):
            if basis[rank, k] != 0.0:
                for i in range(n):
                    along[i] += rest[k, i] * basis[rank, k]
        squares[:] = 0.0
        for k in range(d):
            for i in range(n):
                rest[k, i] -= along[i] * basis[rank, k]
                squares[i] += rest[k, i] ** 2
        rank += 1
    return np.ascontiguousarray(basis[:rank].T)


@njit(cache=True)
def coded_coordinates(x: FloatArray) -> FloatArray:
    """Return the arms as the authors' code of [1]_ projects them: at most three columns are left.

    Where the rank is below the number of columns, the first columns become the coordinates along the singular
    directions, and all from the fourth on are dropped; with fewer than three directions an old column stays. Where
    singular values are equal, which directions come first is LAPACK's choice.
    """
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    rank = 0
    for value in s:
        if value > _ROUNDING * s[0]:
            rank += 1
    if rank == x.shape[1]:
        return x.copy()
    found = x.copy()
    found[:, :rank] = u[:, :rank] * s[:rank]
    for i in range(len(found)):
        for k in range(rank):
            if abs(found[i, k]) <= _ROUNDING * s[0]:  # rounding errors, which a solver would take for features
                found[i, k] = 0.0
    return np.ascontiguousarray(found[:, : min(_CODED_COLUMNS, x.shape[1])])


@njit(cache=True)
def coded_columns(
    columns: FloatArray, n_columns: IntArray, live: BoolArray, seen: FloatArray, n_seen: IntArray
) -> None:
    """Write what another projection of the authors' code leaves of the columns of every replication's live arms."""
    for r in range(len(live)):
        arms = np.flatnonzero(live[r])
        x = coded_coordinates(np.ascontiguousarray(columns[r][arms][:, : n_columns[r]]))
        n_seen[r] = x.shape[1]
        seen[r] = 0.0
        for i in range(len(arms)):
            seen[r, arms[i], : n_seen[r]] = x[i]
