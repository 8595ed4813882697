"""The figure of GeneDisco: hits found against genes tried, a panel for each screen."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import line_panels
from bestarm_studies.oae.genedisco.values import LAW


def hit_curves(values: pd.DataFrame, order: Sequence[str], *, title: str, setting: str) -> Figure:
    """Return the mean hit ratio against the number of genes; the exact law of random genes is dotted, without a band.

    Parameters
    ----------
    values : DataFrame
        `bestarm_studies.oae.genedisco.values.curve_values`.
    order : sequence of str
        Searches; the law comes last.
    title, setting : str
        The finding; where and how.
    """
    law = values["series"] == LAW
    drawn = values.assign(low=values["low"].mask(law), high=values["high"].mask(law))
    return line_panels(
        drawn,
        [*order, LAW],
        title=title,
        setting=setting,
        statistic="hit ratio",
        x="genes tried",
        y="share of the hits found",
        marks="band",
        possible=(0.0, None),
        share_y=False,
    )
