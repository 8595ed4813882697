r"""Logistic regression with an :math:`L_1` penalty on sparse features, compiled: the separator at a node of FastXML.

Source: Yuan, Ho, Lin, "An Improved GLMNET for L1-regularized Logistic Regression", JMLR 2012.
"""

import numpy as np
from numba import njit

from bestarm.interface import FloatArray, IntArray

TOLERANCE = 0.01
MAX_NEWTON_STEPS = 10
MAX_SWEEPS = 10
MAX_HALVINGS = 20
_RIDGE = 1e-12
_LARGEST_STEP = 10.0
_ARMIJO = 0.01
_NEARLY_ACTIVE = 0.1
_SWEEP_TOLERANCE = 0.1


@njit(cache=True, inline="always")
def _log_one_plus_exp(value: float) -> float:
    if value > 0.0:
        return value + np.log1p(np.exp(-value))
    return np.log1p(np.exp(value))


@njit(cache=True)
def penalised_loss(margins: FloatArray, sides: IntArray, costs: FloatArray, weights: FloatArray) -> float:
    r"""Return :math:`\|w\|_1+\sum_iC_i\log(1+e^{-\delta_iz_i})` for margins :math:`z=Xw` and sides ±1."""
    total = 0.0
    for j in range(weights.shape[0]):
        total += abs(weights[j])
    for i in range(margins.shape[0]):
        total += costs[i] * _log_one_plus_exp(-sides[i] * margins[i])
    return total


@njit(cache=True, inline="always")
def _violation(gradient: float, weight: float) -> float:
    """Return how far a coordinate is from its optimality condition."""
    if weight > 0.0:
        return abs(gradient + 1.0)
    if weight < 0.0:
        return abs(gradient - 1.0)
    return max(abs(gradient) - 1.0, 0.0)


@njit(cache=True)
def l1_logistic(
    starts: IntArray,
    rows: IntArray,
    values: FloatArray,
    sides: IntArray,
    costs: FloatArray,
    tolerance: float = TOLERANCE,
    max_steps: int = MAX_NEWTON_STEPS,
) -> tuple[FloatArray, FloatArray]:
    r"""Minimise :math:`\|w\|_1+\sum_iC_i\log(1+e^{-\delta_iw^\top x_i})` by proximal Newton steps.
    Each step minimises a quadratic model by sweeps over the coordinates that are not clearly at zero, then halves the
    step until the loss falls enough. The order of coordinates is fixed, so that the result is no random number. Columns
    of the features are compressed: column j has ``rows[starts[j]:starts[j + 1]]``. ``sides`` and ``costs``, shape (n,),
    are :math:`\delta_i=\pm1` and :math:`C_i`. It ends when the violations of the optimality conditions sum to the share
    ``tolerance`` of those at w = 0. Returned are :math:`w` and the margins :math:`Xw`."""
    n, n_features = sides.shape[0], starts.shape[0] - 1
    weights, margins = np.zeros(n_features), np.zeros(n)
    slopes, curvatures, moved = np.empty(n), np.empty(n), np.empty(n)
    gradients, curves, wanted = np.empty(n_features), np.empty(n_features), np.empty(n_features)
    active = np.empty(n_features, dtype=np.int64)
    loss, at_zero = penalised_loss(margins, sides, costs, weights), 0.0
    for step in range(max_steps):
        # first and second derivative of the loss by the margins
        for i in range(n):
            chance = 1.0 / (1.0 + np.exp(-margins[i]))
            slopes[i] = costs[i] * (chance - (1.0 if sides[i] > 0 else 0.0))
            curvatures[i] = costs[i] * chance * (1.0 - chance)
            moved[i] = 0.0
        violations, n_active = 0.0, 0
        # gradient and diagonal of the Hessian; coordinates clearly at zero are not active
        for j in range(n_features):
            gradient, curve = 0.0, _RIDGE
            for p in range(starts[j], starts[j + 1]):
                gradient += values[p] * slopes[rows[p]]
                curve += values[p] * values[p] * curvatures[rows[p]]
            gradients[j], curves[j], wanted[j] = gradient, curve, weights[j]
            violations += _violation(gradient, weights[j])
            if weights[j] != 0.0 or abs(gradient) > 1.0 - _NEARLY_ACTIVE:
                active[n_active] = j
                n_active += 1
        if step == 0:
            at_zero = violations
        # optimality conditions
        if violations <= tolerance * at_zero:
            break
        # the minimum of the quadratic model, then a line search towards it
        _sweep(starts, rows, values, curvatures, gradients, curves, active[:n_active], wanted, moved)
        loss, better = _line_search(sides, costs, gradients, active[:n_active], weights, wanted, margins, moved, loss)
        if not better:
            break
    return weights, margins


@njit(cache=True)
def _sweep(
    starts: IntArray,
    rows: IntArray,
    values: FloatArray,
    curvatures: FloatArray,
    gradients: FloatArray,
    curves: FloatArray,
    active: IntArray,
    wanted: FloatArray,
    moved: FloatArray,
) -> None:
    """Minimise the quadratic model over the active coordinates; ``moved`` follows as X times the change."""
    first = 0.0
    n_active = active.shape[0]
    for sweep in range(MAX_SWEEPS):
        violations, kept = 0.0, 0
        for s in range(n_active):
            j = active[s]
            # gradient of the model at the change so far
            gradient = gradients[j]
            for p in range(starts[j], starts[j + 1]):
                gradient += values[p] * curvatures[rows[p]] * moved[rows[p]]
            violation = _violation(gradient, wanted[j])
            violations += violation
            # at zero and bound to stay there: no longer active
            if wanted[j] == 0.0 and sweep > 0 and abs(gradient) < 1.0 - _NEARLY_ACTIVE:
                active[s], active[kept] = active[kept], active[s]
                kept += 1
                continue
            # soft thresholding: the minimum along coordinate j
            if gradient + 1.0 < curves[j] * wanted[j]:
                change = -(gradient + 1.0) / curves[j]
            elif gradient - 1.0 > curves[j] * wanted[j]:
                change = -(gradient - 1.0) / curves[j]
            else:
                change = -wanted[j]
            if abs(change) < _RIDGE:
                continue
            change = min(max(change, -_LARGEST_STEP), _LARGEST_STEP)
            wanted[j] += change
            for p in range(starts[j], starts[j + 1]):
                moved[rows[p]] += values[p] * change
        active = active[kept:]
        n_active = active.shape[0]
        if sweep == 0:
            first = violations
        elif violations <= _SWEEP_TOLERANCE * first:
            break


@njit(cache=True)
def _line_search(
    sides: IntArray,
    costs: FloatArray,
    gradients: FloatArray,
    active: IntArray,
    weights: FloatArray,
    wanted: FloatArray,
    margins: FloatArray,
    moved: FloatArray,
    loss: float,
) -> tuple[float, bool]:
    """Go from ``weights`` towards ``wanted`` as far as the loss falls enough; return the loss and whether it fell."""
    descent = 0.0
    # what the gradient and the change of |w|_1 promise
    for j in active:
        descent += gradients[j] * (wanted[j] - weights[j]) + abs(wanted[j]) - abs(weights[j])
    share = 1.0
    for _ in range(MAX_HALVINGS):
        tried = 0.0
        for j in range(weights.shape[0]):
            tried += abs(weights[j] + share * (wanted[j] - weights[j]))
        for i in range(margins.shape[0]):
            tried += costs[i] * _log_one_plus_exp(-sides[i] * (margins[i] + share * moved[i]))
        # Armijo's condition
        if tried <= loss + _ARMIJO * share * descent:
            for j in active:
                weights[j] = wanted[j] if share == 1.0 else weights[j] + share * (wanted[j] - weights[j])
            for i in range(margins.shape[0]):
                margins[i] += share * moved[i]
            return tried, True
        share *= 0.5
    return loss, False
