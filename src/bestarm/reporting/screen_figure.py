"""The figure of a replay: hits against batches, beside chance."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from bestarm.reporting.appearance import Look, use_style
from bestarm.reporting.figures import line_panels
from bestarm.screens.replay import CHANCE

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#A34800", "#7B4FA3", "#4A90D9", "#7F7F00", "#C0398B")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
_LINES = ("-", "--", "-.", (0, (1, 1.2)))


def looks_of(order: list[str]) -> dict[str, Look]:
    """Return colour, marker and line of each series; chance is a grey dotted line without a marker."""
    found = {
        name: Look(_COLOURS[i % 8], _MARKERS[i % 8], _LINES[i % 4])
        for i, name in enumerate(name for name in order if name != CHANCE)
    }
    return found | {CHANCE: Look("0.35", "", (0, (1, 1.2)))}


def hits_figure(table: pd.DataFrame, n_hits: int, batch: int, *, title: str = "", setting: str = "") -> Figure:
    """Return hits against batches, one line for each policy with its interval, and of chance the exact mean.

    Parameters
    ----------
    table : DataFrame
        As `bestarm.screens.replay.replay` returns it.
    n_hits, batch : int
        Hits there are, and genes in a batch.
    title, setting : str
        The finding and the setting; by default what is shown.
    """
    use_style()
    order = list(dict.fromkeys(table["series"]))
    return line_panels(
        table, order, statistic="hits",
        title=title or f"Hits found by each batch of {batch} genes, of {n_hits}",
        setting=setting or "finished screen, dotted: the exact mean of random batches",
        x="batch", y="hits found", marks="band", possible=(0.0, None), looks=looks_of(order), height=3.2,
    )  # fmt: skip
