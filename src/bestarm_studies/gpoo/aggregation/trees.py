"""Figure 5: trees over posteriors."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.styles import CONVENTIONS
from bestarm_studies.gpoo.trees import draw_posterior, draw_tree


def tree_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return trees (above) and posteriors (below) of one convention, a column for each series."""
    (convention,) = values["convention"].unique()
    series = list(dict.fromkeys(values["series"]))
    figure, axes = plt.subplots(2, len(series), figsize=wide(1, 3.3), squeeze=False, sharex=True, sharey="row")
    for (above, below), label in zip(axes.T, series, strict=True):
        mine = values[values["series"] == label]
        draw_tree(above, mine[mine["panel"].str.startswith("tree")])
        draw_posterior(below, mine[mine["panel"].str.startswith("posterior")])
        above.set_title(f"{label}, {CONVENTIONS[convention]}")
    axes[0, 0].set_ylim(values[values["statistic"] == "depth"]["value"].max() + 0.5, -0.5)
    for axis in axes.flat:
        axis.label_outer()
    legend_below(figure)
    return headed(figure, title, r"one run each; band: $\beta_N^{1/2}$ standard deviations", setting)
