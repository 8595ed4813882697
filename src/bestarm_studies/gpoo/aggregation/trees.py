"""Figure 5: trees over posteriors."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.styles import CONVENTIONS
from bestarm_studies.gpoo.trees import draw_posterior, draw_tree


def tree_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return trees (above) and posteriors (below): a column for each series, a pair of rows for each convention."""
    conventions = [c for c in CONVENTIONS if c in set(values["convention"])]
    series = list(dict.fromkeys(values["series"]))
    figure, axes = plt.subplots(
        2 * len(conventions), len(series), figsize=wide(len(conventions), 3.3), squeeze=False, sharex=True, sharey="row"
    )
    for row, convention in enumerate(conventions):
        for column, label in enumerate(series):
            mine = values[(values["convention"] == convention) & (values["series"] == label)]
            above, below = axes[2 * row, column], axes[2 * row + 1, column]
            draw_tree(above, mine[mine["panel"].str.startswith("tree")])
            draw_posterior(below, mine[mine["panel"].str.startswith("posterior")])
            above.set_title(f"{label}, {CONVENTIONS[convention]}")
        depths = values[(values["convention"] == convention) & (values["statistic"] == "depth")]["value"]
        axes[2 * row, 0].set_ylim(depths.max() + 0.5, -0.5)
    for axis in axes.flat:
        axis.label_outer()
    legend_below(figure)
    return headed(
        figure, title, "; ".join(filter(None, [r"one run each; band: $\beta_N^{1/2}$ standard deviations", setting]))
    )
