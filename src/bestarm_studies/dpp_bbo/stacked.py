"""Figures of parts, one below the other, each with a legend of its own."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import WIDTH, headed


def stacked(parts: Sequence[tuple[float, Callable[..., object]]], title: str, *settings: str) -> Figure:
    """Return a figure of parts: each has a height in inches and a function that draws into a subfigure, ``figure``."""
    heights = [height for height, _ in parts]
    figure = plt.figure(figsize=(WIDTH, sum(heights)))
    places: Any = figure.subfigures(len(parts), 1, height_ratios=heights)
    for place, (_, draw) in zip(places, parts, strict=True):
        draw(figure=place)
    return headed(figure, title, *settings)
