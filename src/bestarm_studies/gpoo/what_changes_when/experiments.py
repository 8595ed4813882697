"""Experiments on settings and readings of GPOO."""

from bestarm_lab.experiments.experiment import Experiment, Metric
from bestarm_lab.metrics import aggregated_regret, cell_regret, depth
from bestarm_studies.gpoo.experiments import BOTH, F1, F2, F3, WRITTEN, of_each
from bestarm_studies.gpoo.what_changes_when import settings

READING: tuple[Metric, ...] = (aggregated_regret, cell_regret, depth)
EXPERIMENTS: dict[str, Experiment] = {
    **of_each("scale", "c of δ(h) = c 2^-h", [F1, F2, F3], settings.DELTA_SCALES, READING, BOTH),
    **of_each("beta", "β and θ", [F1, F2, F3], settings.BETAS, READING, WRITTEN),
    **of_each("model_scale", "Length-scale of the model", [F1, F2, F3], settings.LENGTHSCALES, READING, BOTH),
    **of_each("literal", "Readings of the functions", [F1, F2, F3], settings.FUNCTION_READINGS, READING, WRITTEN),
    **of_each("order", "Readings of Algorithm 1", [F1, F2, F3], settings.ORDERS, READING, WRITTEN),
    **of_each(
        "integral", "Averages and integrals of whole cells", [F1, F3], settings.FEEDBACK_READINGS, READING, WRITTEN
    ),
}
