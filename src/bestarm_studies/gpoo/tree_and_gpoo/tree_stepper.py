"""An interactive picture of a search over cells, round by round, for a notebook; without a browser it shows nothing."""

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

from bestarm_studies.gpoo.tree_and_gpoo.cells import adaptive_tree_figure


def tree_stepper(values: pd.DataFrame, curve: pd.DataFrame) -> Any:
    """Return a slider over the rounds of one run, each drawn as in Figure 1 of the GPOO paper.
    ``values``: `bestarm_studies.gpoo.tree_figures.tree_values` of one run at several rounds; ``curve``: f: ``x,
    value``."""
    import ipywidgets  # type: ignore[import-untyped]  # only needed where a person looks

    trees = values[values["panel"].str.startswith("tree")]
    panels = {int(str(name).removeprefix("tree, t = ")): mine for name, mine in trees.groupby("panel")}

    def show(t: int) -> None:
        adaptive_tree_figure(panels[t], curve, title=f"Round {t}")
        plt.show()

    slider = ipywidgets.SelectionSlider(options=sorted(panels), description="round t")
    return ipywidgets.interactive(show, t=slider)
