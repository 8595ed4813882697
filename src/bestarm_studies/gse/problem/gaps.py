"""Gaps of the instances beside their noise."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import as_values

INSTANCE_STYLES = {
    "static": Style("#D55E00", "P"),
    "adaptive": Style("#0072B2", "s", "--"),
    "sphere": Style("#009E73", "o"),
    "logistic": Style("#C0609A", "<", DOTS),
    "automobile": Style("#30267A", "d", "-."),
    "motor": Style("0.35", "^", "--"),
}
_N_INSTANCES = 200  # random instances behind a gap
_BINARY_SIGMA = 0.5  # the largest standard deviation of a reward of 0 or 1


def instance_gaps(experiments: Mapping[str, Any], profile: str) -> pd.DataFrame:
    """Return the gap between the best two means in standard deviations of one reward, a series for each experiment.
    Of 200 instances of each cell: the smallest and the largest median over the cells, and the largest gap of all."""
    lines = []
    for name, experiment in experiments.items():
        for cell in {tuple(cell.where.items()): cell for cell in experiment.cells("laptop")}.values():
            problem = cell.build().take(np.arange(_N_INSTANCES))
            means = np.sort(problem.means, axis=1)[:, ::-1]
            ratio = (means[:, 0] - means[:, 1]) / getattr(problem, "sigma", _BINARY_SIGMA)
            lines.append({"series": name, "median": np.median(ratio), "largest": ratio.max()})
    grouped = pd.DataFrame(lines).groupby("series", sort=False)
    found = grouped.agg(low=("median", "min"), high=("median", "max"), largest=("largest", "max")).reset_index()
    names = {"low": "smallest median", "high": "largest median", "largest": "largest of all"}
    return as_values(found.rename(columns=names).melt("series", var_name="statistic"), n=_N_INSTANCES, profile=profile)


def instance_figure(values: pd.DataFrame, names: Mapping[str, str], *, title: str, setting: str = "") -> Figure:
    """Return how large gaps are beside the noise: a line for each experiment, from `instance_gaps`."""
    table = values.pivot(index="series", columns="statistic", values="value")
    figure, axis = plt.subplots(figsize=wide(1, 0.28 * len(names) + 1.0))
    labels = "median gap, over the cells of a figure", "largest gap of any instance"
    for place, name in enumerate(names):
        spans = table.loc[[name], ["smallest median", "largest median", "largest of all"]]
        low, high, largest = spans.to_numpy(dtype=np.float64)[0]
        axis.plot([low, high], [place] * 2, "o-", color="#0072B2", lw=5, ms=5, label=labels[0])
        axis.plot(largest, place, marker="|", ms=11, mew=1.6, color="black", ls="", label=labels[1])
    axis.axvline(1.0, color="0.3", ls="--", lw=1.0, zorder=1, label="the standard deviation of one reward")
    axis.set(xscale="log", xlabel="gap between the best two arms / standard deviation of one reward")
    axis.set_yticks(range(len(names)), list(names.values()))
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.grid(axis="y", visible=False)
    legend_below(figure)
    return headed(figure, title, setting)
