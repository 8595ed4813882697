"""Experiments on settings and readings of GPOO, and on a square."""

import math
from functools import partial

from bestarm.kernels import Stationary
from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.experiments.experiment import Experiment, Metric
from bestarm_lab.metrics import aggregated_regret, cell_regret, depth
from bestarm_studies.gpoo.experiments import BOTH, CURVE, F1, F2, F3, WRITTEN, of_each, search
from bestarm_studies.gpoo.functions import two_peaks
from bestarm_studies.gpoo.series import KERNEL_VARIANCE, controls, gpoo
from bestarm_studies.gpoo.what_changes_when.settings import (
    BETAS,
    DELTA_RATIOS,
    DELTA_SCALES,
    FEEDBACK_READINGS,
    FUNCTION_READINGS,
    LENGTHSCALES,
    ORDERS,
)

SQUARE_BUDGET, SQUARE_KERNEL = 160, Stationary("rbf", KERNEL_VARIANCE, 0.15)
_ON_SQUARE = partial(Gpoo, budget=SQUARE_BUDGET, kernel=SQUARE_KERNEL, delta_scale=4.0, delta_ratio=math.sqrt(0.5))
ON_SQUARE = {
    **{f"GPOO (S = {size})": gpoo(size, _ON_SQUARE) for size in (1, 4, 10)},
    **controls(SQUARE_BUDGET, kernel=SQUARE_KERNEL),
}
READING: tuple[Metric, ...] = (aggregated_regret, cell_regret, depth)
EXPERIMENTS: dict[str, Experiment] = {
    **of_each("scale", "c of δ(h) = c 2^-h", [F1, F2, F3], DELTA_SCALES, READING, BOTH),
    **of_each("beta", "β and θ", [F1, F2, F3], BETAS, READING, WRITTEN),
    **of_each("model_scale", "Length-scale of the model", [F1, F2, F3], LENGTHSCALES, READING, BOTH),
    **of_each("literal", "Readings of the functions", [F1, F2, F3], FUNCTION_READINGS, READING, WRITTEN),
    **of_each("order", "Readings of Algorithm 1", [F1, F2, F3], ORDERS, READING, WRITTEN),
    **of_each("arity_ratio", "δ falls like the cells", [F3], DELTA_RATIOS, READING, BOTH, runs=250),
    **of_each("integral", "Averages and integrals of whole cells", [F1, F3], FEEDBACK_READINGS, READING, WRITTEN),
    "square": search("Two dimensions", partial(two_peaks), ON_SQUARE, CURVE[:-1], BOTH, every=8, runs=250),
}
