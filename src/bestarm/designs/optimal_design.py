r"""G- and D-optimal designs of live arms, for many sets of arms at once, by Frank-Wolfe steps.

The G-optimal design makes the largest leverage smallest, the D-optimal one makes the determinant of V largest; they are
the same, and the largest leverage is then the dimension of the span [2]_.

A design :math:`\pi` over arms z, in coordinates of their span, has information :math:`V(\pi)=\sum_i\pi_iz_iz_i^\top`,
and gives arm i the leverage :math:`g_i=z_i^\top V(\pi)^{-1}z_i`. A step moves :math:`\pi` to
:math:`(1-\gamma)\pi+\gamma e_s`; with :math:`c_i=z_i^\top V^{-1}z_s` the leverages become

.. math:: h_i(\gamma)=\frac1{1-\gamma}\Big(g_i-\frac{\gamma c_i^2}{1-\gamma+\gamma g_s}\Big),

so a step costs :math:`O(nd+d^2)` and no inversion. A negative :math:`\gamma` moves away from arm s.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 6,
   Algorithm 2, Appendix C.
.. [2] Kiefer, Wolfowitz. "The Equivalence of Two Extremum Problems". Canadian Journal of Mathematics 1960.
.. [3] Wynn. "The Sequential Generation of D-Optimum Experimental Designs". Annals of Mathematical Statistics 1970;
   Fedorov. "Theory of Optimal Experiments". 1972.
.. [4] Wolfe. "Convergence Theory in Nonlinear Programming". 1970; Atwood. "Sequences Converging to D-Optimal Designs of
   Experiments". Annals of Statistics 1973. Away steps.
.. [5] Kumar, Yildirim. "Minimum-Volume Enclosing Ellipsoids and Core Sets". JOTA 2005. Algorithm 3.1.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from bestarm.designs.projection import span_basis, subtract_span
from bestarm.designs.rounding import checked_features, checked_live
from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.settings import check_settings
from bestarm.streams import standard_normal

FRANK_WOLFE, GRID, D_OPTIMAL, WYNN = 0, 1, 2, 3
Steps = Literal["frank-wolfe", "grid", "d-optimal", "wynn"]
Start = Literal["uniform", "kumar-yildirim"]

_CODES: dict[str, int] = {"frank-wolfe": FRANK_WOLFE, "grid": GRID, "d-optimal": D_OPTIMAL, "wynn": WYNN}
_NEGLIGIBLE = 1e-6

_REFRESH = 50  # steps between inversions, against the growth of rounding
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_SECTIONS = 60
_GRID_SIZE, _GRID_RATIO, _GRID_GAIN = 24, 0.75, 1e-6
_STALLED = 1e-12


@njit(cache=True)
def information_inverse(z: FloatArray, weights: FloatArray, inverse: FloatArray, leverage: FloatArray) -> None:
    """Write V(pi)^-1 and the leverages."""
    n, d = z.shape
    v = np.zeros((d, d))
    for i in range(n):
        if weights[i] > 0.0:
            for k in range(d):
                if z[i, k] != 0.0:  # zeros are many where arms are orthogonal
                    for m in range(d):
                        v[k, m] += weights[i] * z[i, k] * z[i, m]
    inverse[:] = np.linalg.inv(v)
    u = z @ inverse
    for i in range(n):
        leverage[i] = np.sum(u[i] * z[i])


@njit(cache=True)
def largest_after(leverage: FloatArray, c: FloatArray, gain: float, step: float) -> float:
    """Return max_i h_i(gamma); ``gain`` is g_s."""
    if step >= 1.0:
        return np.inf
    factor = step / (1.0 - step + step * gain)
    most = 0.0
    for i in range(len(c)):
        most = max(most, leverage[i] - factor * c[i] * c[i])
    return most / (1.0 - step)


@njit(cache=True)
def golden_section(leverage: FloatArray, c: FloatArray, gain: float) -> float:
    """Return the gamma in [0, 1) with the smallest max_i h_i; the function is convex."""
    low, high = 0.0, 1.0
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = largest_after(leverage, c, gain, left), largest_after(leverage, c, gain, right)
    for _ in range(_SECTIONS):  # keep the part of [low, high] around the lower of the two inner points
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = largest_after(leverage, c, gain, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = largest_after(leverage, c, gain, right)
    # where several arms tie for the largest leverage no step lowers it, and the line search stalls at 0
    middle = 0.5 * (low + high)
    return middle if largest_after(leverage, c, gain, middle) < leverage.max() else 0.0


@njit(cache=True)
def best_on_grid(leverage: FloatArray, c: FloatArray, gain: float) -> tuple[float, bool]:
    """Return the best of the steps 0.75^k, k < 24, and whether the smallest one still gains a millionth."""
    least, chosen, last = np.inf, 0.0, np.inf
    for k in range(_GRID_SIZE):
        step = _GRID_RATIO**k
        last = largest_after(leverage, c, gain, step)
        if last < least:
            least, chosen = last, step
    return chosen, last <= leverage.max() - _GRID_GAIN


@njit(cache=True)
def move(
    z: FloatArray, weights: FloatArray, inverse: FloatArray, leverage: FloatArray, s: int, step: float, c: FloatArray
) -> None:
    """Move the design by ``step`` towards arm s, and update the inverse and the leverages, in place."""
    n, d = z.shape
    u = inverse @ z[s]
    denominator = 1.0 - step + step * leverage[s]
    factor, scale = step / denominator, 1.0 / (1.0 - step)
    for k in range(d):
        for m in range(d):
            inverse[k, m] = scale * (inverse[k, m] - factor * u[k] * u[m])
    for i in range(n):
        leverage[i] = scale * (leverage[i] - factor * c[i] * c[i])
        weights[i] *= 1.0 - step
    weights[s] = max(weights[s] + step, 0.0)


@njit(cache=True)
def kumar_yildirim(z: FloatArray, key: np.uint64, replication: int) -> FloatArray:
    """Return uniform weights on arms that span everything, each the farthest along a random direction ([5]_)."""
    n, d = z.shape
    weights, basis = np.zeros(n), np.zeros((d, d))
    for k in range(d):
        # [5]_, Algorithm 3.1: a random direction, orthogonal to the arms chosen so far
        direction = np.empty(d)
        for m in range(d):
            direction[m] = standard_normal(key, replication, m, k)
        subtract_span(direction, basis[:k])
        chosen = int(np.argmax(np.abs(z @ direction)))  # the arm that reaches farthest along it
        weights[chosen] = 1.0 / d
        # Gram-Schmidt: rows of the basis span the arms chosen
        basis[k] = z[chosen]
        subtract_span(basis[k], basis[:k])
        basis[k] /= np.sqrt(np.sum(basis[k] ** 2))
    return weights


@njit(cache=True)
def _d_step(weights: FloatArray, leverage: FloatArray, s: int, d: int) -> tuple[int, float]:
    """Return the arm and the step that raise det V most: towards the largest leverage, or away from the smallest."""
    away, smallest = -1, np.inf
    for i in range(len(weights)):
        if weights[i] > 0.0 and leverage[i] < smallest:
            away, smallest = i, leverage[i]
    if d - smallest <= leverage[s] - d or weights[away] >= 1.0:
        return s, (leverage[s] / d - 1.0) / (leverage[s] - 1.0)
    drop = -weights[away] / (1.0 - weights[away])
    return away, max((smallest / d - 1.0) / (smallest - 1.0), drop) if smallest > 1.0 else drop


@njit(cache=True)
def solve(z: FloatArray, weights: FloatArray, rule: int, tolerance: float, max_steps: int) -> tuple[int, bool, float]:
    """Improve a design in place; return the steps, whether the largest leverage is at most (1 + tolerance) d, and it.

    ``z`` (ndarray, shape (n, d)): arms in coordinates of their span, d = rank; ``weights`` (ndarray, shape (n,)): the
    start; its arms span everything; ``rule``: ``FRANK_WOLFE`` (exact line search on the largest leverage), ``GRID``
    (that of the authors' code), ``D_OPTIMAL`` (exact line search on the determinant, with away steps [4]_), ``WYNN``
    (steps 1/(k + 1), k the points so far)."""
    n, d = z.shape
    inverse, leverage, c = np.empty((d, d)), np.empty(n), np.empty(n)
    n_points = np.sum(weights > 0.0)
    information_inverse(z, weights, inverse, leverage)
    taken = 0
    while taken < max_steps:
        if taken % _REFRESH == _REFRESH - 1:
            information_inverse(z, weights, inverse, leverage)
        s = int(np.argmax(leverage))  # [1]_, Algorithm 2: the vertex is the arm with the largest leverage
        # Kiefer and Wolfowitz: the largest leverage is at least d, and d at the optimum alone
        if leverage[s] <= (1.0 + tolerance) * d:
            break
        chosen, goes_on = s, True
        if d == 1 and rule == D_OPTIMAL:  # the exact step is 1: all weight to the farthest arm
            weights[:], weights[s] = 0.0, 1.0
            break
        # gamma: exact for the determinant, predetermined, or exact (or best on a grid) for the largest leverage
        if rule == D_OPTIMAL:
            chosen, step = _d_step(weights, leverage, s, d)
        elif rule == WYNN:
            step = 1.0 / (n_points + taken + 1.0)
        else:
            c[:] = z @ (inverse @ z[s])
            if rule == FRANK_WOLFE:
                step = golden_section(leverage, c, leverage[s])
            else:
                step, goes_on = best_on_grid(leverage, c, leverage[s])
            goes_on = goes_on and step > _STALLED
        if not goes_on:
            break
        # pi = (1 - gamma) pi + gamma e_s, with the leverages h_i(gamma) of the module
        c[:] = z @ (inverse @ z[chosen])
        move(z, weights, inverse, leverage, chosen, step, c)
        taken += 1
    information_inverse(z, weights, inverse, leverage)
    most = leverage.max()
    return taken, most <= (1.0 + tolerance) * d * (1.0 + 1e-9), most


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
    """Designs of S sets of arms."""

    weights: FloatArray  # shares, 0 for dead arms; each row sums to 1, (S, K)
    leverage: FloatArray  # largest leverage of a live arm; at the optimum it is the rank, (S,)
    rank: IntArray  # dimension of the live arms' span, (S,)
    n_steps: IntArray  # steps taken, (S,)
    converged: BoolArray  # whether the largest leverage is within the tolerance of the rank, (S,)


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
        if squares.max() > 0.0 and not zero_arms:  # an arm at the origin teaches nothing
            arms = arms[squares > 0.0]
        if squares.max() == 0.0:  # nothing to learn: every live arm is the origin
            weights[s][live[s]] = 1.0 / np.sum(live[s])
            converged[s] = True
            continue
        x = features[s][arms]
        basis = span_basis(x)  # coordinates in the span of the live arms, in which V has an inverse
        z = x @ basis
        n, ranks[s] = z.shape
        pi = np.full(n, 1.0 / n)
        leverage[s], converged[s] = ranks[s], True
        if ranks[s] < n:  # independent arms have the uniform design, and need no solver
            if spanning_start:
                pi = kumar_yildirim(z, key, replications[s])
            n_steps[s], converged[s], leverage[s] = solve(z, pi, rule, tolerance, max_steps)
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

    Linearly independent arms have the uniform design, without a step. A set costs O(n d + d^2) a step. Raises
    ValueError if a set has no live arm, a feature is not finite, or shapes do not fit.

    * ``features``, (S, K, d), and ``live`` of bool, (S, K): sets of arms, and which arms there are
    * ``rule``: how to solve
    * ``zero_arms``: solve with live arms at the origin among the others, as the authors' code of [1]_ does. A uniform
      start gives them weight, and a line search that stalls leaves it to them
    * ``key``, ``replications`` of int64, (S,): name the random start, if there is one
    """
    there = checked_live(live)
    x = checked_features(features, *there.shape)
    n_sets = len(there)
    names = np.arange(n_sets) if replications is None else np.ascontiguousarray(replications, dtype=np.int64)
    found = Design(
        np.zeros(there.shape), np.zeros(n_sets), np.zeros(n_sets, dtype=np.int64), np.zeros(n_sets, dtype=np.int64),
        np.zeros(n_sets, dtype=np.bool_),
    )  # fmt: skip
    _solve_all(
        x, there, _CODES[rule.steps], rule.start == "kumar-yildirim", rule.tolerance, rule.max_steps, zero_arms, key,
        names, found,
    )  # fmt: skip
    return found
