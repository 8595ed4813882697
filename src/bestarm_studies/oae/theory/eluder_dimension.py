r"""The eluder dimension of finitely many arms under linear functions with :math:`|\theta|\leq1`, from both sides.

An arm a is :math:`\epsilon`-independent of arms :math:`a_1,\dots,a_n` if two functions may differ by more than
:math:`\epsilon` at a although :math:`\sum_i(f(a_i)-f'(a_i))^2\leq\epsilon^2`. With :math:`v=\theta-\theta'` and
:math:`G=\sum_ia_ia_i^\top`, the most by which they differ is :math:`w(a)=\max\{v^\top a:\ v^\top Gv\leq\epsilon^2,\
|v|\leq2\}=\min_{0\leq t\leq1}\sqrt{a^\top(t\epsilon^{-2}G+\tfrac{1-t}4I)^{-1}a}`. The dimension is the length of the
longest sequence in which, for one :math:`\epsilon'\geq\epsilon`, each arm is :math:`\epsilon'`-independent of those
before it. Of the paper: Definition D.2; after Russo and Van Roy, NIPS 2013.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray

_MARGIN = 1e-8  # a width counts as larger only by more than this share, so that rounding makes no arm independent


@njit(cache=True)
def least_independent(
    squares: FloatArray, eigenvalues: FloatArray, epsilon: float, live: BoolArray
) -> tuple[int, float]:
    r"""Return the arm with the smallest width above :math:`\epsilon` and that width; -1 if there is none.
    ``squares`` are squared coordinates of the arms along the eigenvectors of G, shape (n_arms, d), ``eigenvalues``
    those of G; only ``live`` arms may be chosen: those found dependent are struck, for more arms before them change
    nothing. Bisection over t. Each t has a v that keeps both constraints, so that a width returned is one attained; v
    at the optimum has both equal, or only one that binds."""
    chosen, least = -1, np.inf
    for a in range(len(squares)):
        if not live[a]:
            continue
        low, high, attained, independent = 0.0, 1.0, 0.0, False
        for _ in range(60):
            t = 0.5 * (low + high)
            bound, data, norm = 0.0, 0.0, 0.0
            # v = H^-1 a with H = t G / epsilon^2 + (1 - t) I / 4: a'v, v'Gv / epsilon^2 and |v|^2 / 4
            for j in range(len(eigenvalues)):
                scale = eigenvalues[j] / epsilon**2
                weight = t * scale + 0.25 * (1.0 - t)
                share = squares[a, j] / weight
                bound += share
                data += share / weight * scale
                norm += 0.25 * share / weight
            if bound <= epsilon**2 or bound == 0.0:
                break
            # v, scaled until the tighter constraint binds
            attained = max(attained, bound / np.sqrt(max(data, norm)))
            independent = attained > epsilon * (1.0 + _MARGIN)
            if (independent and attained >= least * (1.0 - _MARGIN)) or attained >= np.sqrt(bound) * (1.0 - _MARGIN):
                break
            # towards the t at which both bind
            if data > norm:
                low = t
            else:
                high = t
        if not independent:
            live[a] = False
        elif attained < least * (1.0 - _MARGIN):
            chosen, least = a, attained
    return chosen, least


def independent_sequence(x: FloatArray, epsilon: float) -> IntArray:
    r"""Return a sequence of arms, each :math:`\epsilon`-independent of those before it, next that of smallest width.
    ``x``: (n_arms, d). Its length is at most the eluder dimension. A small width takes little from later arms."""
    gram, live = np.zeros((x.shape[1], x.shape[1])), np.ones(len(x), dtype=np.bool_)
    sequence: list[int] = []
    while True:
        eigenvalues, vectors = np.linalg.eigh(gram)
        chosen, _ = least_independent((x @ vectors) ** 2, np.maximum(eigenvalues, 0.0), epsilon, live)
        if chosen < 0:
            return np.array(sequence, dtype=np.int64)
        sequence.append(chosen)
        live[chosen] = False
        gram += np.outer(x[chosen], x[chosen])


def longest_possible(x: FloatArray, epsilon: float) -> int:
    r"""Return a number that the eluder dimension of arms, shape (n_arms, d), cannot exceed, of order
    :math:`d\log(1/\epsilon)`. With :math:`V=\frac s4\epsilon^2I+G` an independent arm has
    :math:`|a|^2_{V^{-1}}>1/(1+s)`, so the determinant of V grows by more than :math:`1+1/(1+s)` an arm, while its trace
    allows :math:`n\log(1+\frac1{1+s})<d\log(1+4nL^2/(ds\epsilon^2))`, L the longest arm; for any s, of which some are
    tried. Larger :math:`\epsilon'` allow less. An arm with :math:`2|a|\leq\epsilon` is independent of nothing. The
    order is that of Russo and Van Roy."""
    d, norms = x.shape[1], np.linalg.norm(x, axis=1)
    n = np.arange(1, int((2.0 * norms > epsilon).sum()) + 1)
    if len(n) == 0:
        return 0
    s = 2.0 ** -np.arange(8)[:, None]
    allowed = n * np.log1p(1.0 / (1.0 + s)) < d * np.log1p(4.0 * n * norms.max() ** 2 / (d * s * epsilon**2))
    return int(np.where(allowed, n, 0).max(axis=1).min())


def eluder_bounds(x: FloatArray, epsilons: Sequence[float]) -> tuple[IntArray, IntArray]:
    r"""Return a lower and an upper bound on the :math:`\epsilon`-eluder dimension (Definition D.2), shape
    (n_epsilons,). They are the length of an `independent_sequence` of arms (n_arms, d), and `longest_possible`; a
    sequence found for a larger :math:`\epsilon` counts for the smaller ones too."""
    wanted = np.asarray(epsilons, dtype=np.float64)
    if not (wanted > 0.0).all():
        raise ValueError(f"epsilons must be positive, got {list(epsilons)}.")
    found = np.array([len(independent_sequence(x, epsilon)) for epsilon in wanted], dtype=np.int64)
    lower = np.where(wanted >= wanted[:, None], found, 0).max(axis=1, initial=0)
    return lower, np.array([longest_possible(x, epsilon) for epsilon in wanted], dtype=np.int64)
