r"""G- and D-optimal designs of live arms, for many sets of arms at once.

The G-optimal design makes the largest leverage smallest, the D-optimal one makes the determinant of V largest; they are
the same, and the largest leverage is then the dimension of the span [2]_.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 6,
   Appendix C.
.. [2] Kiefer, Wolfowitz. "The Equivalence of Two Extremum Problems". Canadian Journal of Mathematics 1960.
.. [3] Wynn. "The Sequential Generation of D-Optimum Experimental Designs". Annals of Mathematical Statistics 1970;
   Fedorov. "Theory of Optimal Experiments". 1972.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from bestarm.designs import design_steps
from bestarm.designs.design_steps import D_OPTIMAL, FRANK_WOLFE, GRID, WYNN
from bestarm.designs.projection import span_basis
from bestarm.designs.rounding import checked_features, checked_live
from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.settings import check_settings

Steps = Literal["frank-wolfe", "grid", "d-optimal", "wynn"]
Start = Literal["uniform", "kumar-yildirim"]

_CODES: dict[str, int] = {"frank-wolfe": FRANK_WOLFE, "grid": GRID, "d-optimal": D_OPTIMAL, "wynn": WYNN}
_NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class DesignRule:
    r"""How an optimal design is solved for.

    ``steps`` ({"d-optimal", "frank-wolfe", "grid", "wynn"}): "d-optimal": Frank-Wolfe with the exact step on the
    determinant ([1]_, Appendix C; Fedorov's step) and away steps, which reaches the optimum. "frank-wolfe": [1]_,
    Algorithm 2, the exact step on the largest leverage; it stalls as soon as two arms tie for the largest leverage.
    "grid": as in the authors' code of [1]_, with steps :math:`0.75^k`. "wynn": steps 1/(k + 1), where k is the number
    of design points [3]_; ``start`` ({"uniform", "kumar-yildirim"}): uniform over the live arms, or over as few arms as
    the dimension ([1]_, Corollary 2); ``tolerance``: stop when the largest leverage is at most (1 + tolerance) times
    the dimension; ``max_steps``: stop then. Raises ValueError for a value out of range."""

    steps: Steps = "d-optimal"
    start: Start = "uniform"
    tolerance: float = 0.01
    max_steps: int = 2000

    def __post_init__(self) -> None:
        check_settings(self, positive=("tolerance",), max_steps=1)


class Design(NamedTuple):
    """Designs of S sets of arms.

    Attributes
    ----------
    weights : ndarray, shape (S, K)
        Shares, 0 for dead arms; each row sums to 1.
    leverage : ndarray, shape (S,)
        Largest leverage of a live arm; at the optimum it is the rank.
    rank : ndarray of int64, shape (S,)
        Dimension of the live arms' span.
    n_steps : ndarray of int64, shape (S,)
        Steps taken.
    converged : ndarray of bool, shape (S,)
        Whether the largest leverage is within the tolerance of the rank.
    """

    weights: FloatArray
    leverage: FloatArray
    rank: IntArray
    n_steps: IntArray
    converged: BoolArray


@njit(cache=True)
def _solve_all(
    features: FloatArray,
    live: BoolArray,
    rule: int,
    spanning_start: bool,
    tolerance: float,
    max_steps: int,
    zero_arms: bool,
    key: np.uint64,
    replications: IntArray,
    found: Design,
) -> None:
    """Write the design of each set of live arms, its largest leverage, its steps, and whether they were enough."""
    weights, leverage, ranks, n_steps, converged = found
    for s in range(len(live)):
        arms = np.flatnonzero(live[s])
        squares = np.array([np.sum(features[s, a] ** 2) for a in arms])
        # an arm at the origin teaches nothing
        if squares.max() > 0.0 and not zero_arms:
            arms = arms[squares > 0.0]
        if squares.max() == 0.0:  # nothing to learn: every live arm is the origin
            weights[s][live[s]] = 1.0 / np.sum(live[s])
            converged[s] = True
            continue
        x = features[s][arms]
        # coordinates in the span of the live arms, in which V has an inverse
        basis = span_basis(x)
        z = x @ basis
        n, ranks[s] = z.shape
        pi = np.full(n, 1.0 / n)
        leverage[s], converged[s] = ranks[s], True
        # independent arms have the uniform design, and need no solver
        if ranks[s] < n:
            if spanning_start:
                pi = design_steps.kumar_yildirim(z, key, replications[s])
            n_steps[s], converged[s], leverage[s] = design_steps.solve(z, pi, rule, tolerance, max_steps)
            if rule == D_OPTIMAL:
                pi[pi < _NEGLIGIBLE] = 0.0
                pi /= pi.sum()
        weights[s][arms] = pi


def optimal_design(
    features: FloatArray,
    live: BoolArray,
    rule: DesignRule,
    *,
    zero_arms: bool = False,
    key: np.uint64 = np.uint64(0),  # noqa: B008
    replications: IntArray | None = None,
) -> Design:
    """Return a design of the live arms of each set; arms at the origin get no weight unless they are asked for.

    Linearly independent arms have the uniform design, without a step. A set costs O(n d + d^2) a step.

    Parameters
    ----------
    features : ndarray, shape (S, K, d)
        Sets of arms.
    live : ndarray of bool, shape (S, K)
        Which arms there are.
    rule : DesignRule
        How to solve.
    zero_arms : bool
        Solve with live arms at the origin among the others, as the authors' code of [1]_ does. A uniform start gives
        them weight, and a line search that stalls leaves it to them.
    key, replications
        Name the random start, if there is one.

    Raises
    ------
    ValueError
        If a set has no live arm, a feature is not finite, or shapes do not fit.
    """
    there = checked_live(live)
    x = checked_features(features, *there.shape)
    n_sets = len(there)
    names = np.arange(n_sets) if replications is None else np.ascontiguousarray(replications, dtype=np.int64)
    found = Design(
        np.zeros(there.shape),
        np.zeros(n_sets),
        np.zeros(n_sets, dtype=np.int64),
        np.zeros(n_sets, dtype=np.int64),
        np.zeros(n_sets, dtype=np.bool_),
    )
    _solve_all(
        x,
        there,
        _CODES[rule.steps],
        rule.start == "kumar-yildirim",
        rule.tolerance,
        rule.max_steps,
        zero_arms,
        key,
        names,
        found,
    )
    return found
