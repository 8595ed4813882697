"""Posteriors of three kinds of feedback (points, averages, integrals of cells), and what each says of a cell."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.interface import Ask, IntArray
from bestarm.kernels import Stationary
from bestarm.partition import Partition
from bestarm.streams import Streams
from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.values import as_values
from bestarm_studies.gpoo.aggregated_gp import AggregatedGP, observed_averages
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.trees import draw_posterior


def feedback_values(
    bandit: CellBandit, cells: IntArray, kernel: Stationary, streams: Streams, panel: str, profile: str
) -> pd.DataFrame:
    """Return the posterior of f after one reward of each cell, the rewards, and f, as plotted values.
    Rewards of integrals are shown per volume, at the centres of their cells."""
    partition, x = bandit.partition, np.linspace(0.0, 1.0, 201)
    rewards = bandit.rewards(Ask(cells[None], np.ones((1, len(cells)), dtype=np.int64)), partition.no_pulls(1), streams)
    points, averaging = observed_averages(partition, cells, kernel.lengthscale)
    means, variances = AggregatedGP(kernel, bandit.sigma**2).fit(points, rewards, averaging).predict(x[:, None])
    band = 2.0 * np.sqrt(variances[0])
    volumes = partition.widths(partition.depth(cells)).prod(axis=-1) if partition.feedback == "integral" else 1.0
    frames = [
        pd.DataFrame({"statistic": "mean", "x": x, "value": means[0], "low": means[0] - band, "high": means[0] + band}),
        pd.DataFrame({"statistic": "f", "x": x, "value": bandit.evaluate(x[:, None])}),
        pd.DataFrame({"statistic": "observation", "x": partition.centres(cells)[:, 0], "value": rewards[0] / volumes}),
    ]
    return as_values(pd.concat(frames, ignore_index=True), panel=panel, series=panel, profile=profile)


def feedback_figure(values: pd.DataFrame, titles: Mapping[str, str], *, title: str, setting: str = "") -> Figure:
    """Return one posterior a panel, side by side, with a band of two standard deviations."""
    figure, axes = plt.subplots(1, len(titles), figsize=wide(1, 2.9), sharey=True, squeeze=False)
    for axis, (panel, heading) in zip(axes[0], titles.items(), strict=True):
        draw_posterior(axis, values[values["panel"] == panel])
        axis.set_title(heading)
        axis.label_outer()
    legend_below(figure)
    return headed(figure, title, "band: two standard deviations", setting)


def cell_statistics(kernel: Stationary, depths: range, sizes: list[int], sigma: float, profile: str) -> pd.DataFrame:
    """Return the prior standard deviation of a cell's mean reward, for each S and for the whole cell, by depth.
    For integrals the value is that of the integral, in the same units as the noise; x is the depth."""
    lines = []
    kinds = [(f"S = {s}", Partition(2, s)) for s in sizes]
    kinds += [("whole cell", Partition(2, feedback="average")), ("integral", Partition(2, feedback="integral"))]
    for name, partition in kinds:
        for depth in depths:
            points, averaging = observed_averages(partition, np.array([partition.cell(depth, 0)]), kernel.lengthscale)
            value = float(np.sqrt((averaging @ kernel.K(points) @ averaging.T)[0, 0]))
            lines.append({"series": name, "x": depth, "value": value})
    lines += [{"series": "noise", "x": depth, "value": sigma} for depth in depths]
    return as_values(pd.DataFrame(lines), panel="prior", statistic="standard deviation", profile=profile)
