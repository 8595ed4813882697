"""Boxes of settings: intervals, choices, and points spread over them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.stats import qmc

from bestarm.interface import FloatArray
from bestarm.settings import is_whole

Design = Literal["latin", "sobol", "grid"]


@dataclass(frozen=True)
class Interval:
    """A number between two bounds, ``low`` and ``high``, both included.

    It is spread evenly, with ``log`` on a logarithmic scale; with ``whole`` it is a whole number. Raises ValueError if
    the bounds are no numbers, reversed, equal, not finite or too far apart, not whole for whole numbers, or not
    positive on a log scale.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.low, Real) and isinstance(self.high, Real)):
            raise ValueError(
                f"bounds must be numbers, got {self.low!r} and {self.high!r}; a Choice has values by name."
            )
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(f"bounds must be finite, got {self.low} and {self.high}.")
        if self.low >= self.high:
            raise ValueError(f"the lower bound must be below the upper one, got {self.low} and {self.high}.")
        if self.log and self.low <= 0:
            raise ValueError(f"bounds on a log scale must be positive, got {self.low} and {self.high}.")
        if self.whole and (self.low != int(self.low) or self.high != int(self.high)):
            raise ValueError(f"bounds of whole numbers must be whole, got {self.low} and {self.high}.")
        if not math.isfinite(float(self.high) / float(self.low) if self.log else float(self.high) - float(self.low)):
            way = "ratio" if self.log else "difference"
            raise ValueError(
                f"the {way} of the bounds must be finite, got {self.low} and {self.high}; bring them closer."
            )

    def holds(self, value: Any) -> bool:
        """Return whether a value is a number between the bounds, and whole where it must be."""
        return (
            isinstance(value, Real)
            and float(self.low) <= float(value) <= float(self.high)
            and (not self.whole or float(value).is_integer())
        )

    def values(self, unit: FloatArray) -> list[Any]:
        """Return the values of places in [0, 1]; whole numbers are rounded from half a step beyond the bounds."""
        low, high = (self.low - 0.5, self.high + 0.5) if self.whole else (self.low, self.high)
        found = low * (high / low) ** unit if self.log else low + unit * (high - low)
        if self.whole:
            return [int(v) for v in np.clip(np.rint(found), self.low, self.high)]
        return [float(v) for v in np.clip(found, self.low, self.high)]

    def features(self, values: Sequence[Any]) -> FloatArray:
        """Return the places of values in [0, 1], shape (n, 1)."""
        found, low, high = np.asarray(values, dtype=np.float64), self.low, self.high
        if self.log:
            found, low, high = np.log(found), np.log(low), np.log(high)
        return ((found - low) / (high - low))[:, None]


@dataclass(frozen=True)
class Choice:
    """One of a few values, ``options``, without an order.

    Raises ValueError if there are fewer than two values, or two are equal, or a text stands in place of the values.
    """

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        if isinstance(self.options, str | bytes) or not isinstance(self.options, Sequence):
            raise ValueError(f"options must be a tuple of values, got {self.options!r}; write Choice((first, second)).")
        if len(self.options) < 2 or any(a == b for i, a in enumerate(self.options) for b in self.options[:i]):
            raise ValueError(f"a choice needs at least two different options, got {self.options}.")

    def holds(self, value: Any) -> bool:
        """Return whether a value is one of the options."""
        return value in self.options

    def values(self, unit: FloatArray) -> list[Any]:
        """Return the options of places in [0, 1]; each has an equally long stretch."""
        places = np.minimum((unit * len(self.options)).astype(np.int64), len(self.options) - 1)
        return [self.options[place] for place in places]

    def features(self, values: Sequence[Any]) -> FloatArray:
        """Return a column for each option, such that two options are at distance 1, shape (n, n_options)."""
        return np.eye(len(self.options))[[self.options.index(value) for value in values]] / math.sqrt(2.0)


Space = Mapping[str, Interval | Choice]


def unit_points(n: int, n_dimensions: int, design: Design, seed: int) -> FloatArray:
    """Return points of the unit cube.

    ``n``, ``n_dimensions``: how many, and in how many dimensions; a grid needs a whole root; ``design`` ({"latin",
    "sobol", "grid"}): a Latin hypercube, a scrambled Sobol sequence, or the centres of equal cells; ``seed``: of the
    draw; a grid is no draw. Raises ValueError for an unknown design, fewer than two points, or a number no grid has."""
    if not is_whole(n):
        raise ValueError(f"n must be a whole number of at least 2, got {n!r}; give such an int.")
    if n < 2 or n_dimensions < 1:
        raise ValueError(f"at least 2 points in 1 dimension are needed, got {n} in {n_dimensions}.")
    if design == "latin":
        return np.asarray(qmc.LatinHypercube(n_dimensions, rng=seed).random(n))
    if design == "sobol":
        drawn = qmc.Sobol(n_dimensions, scramble=True, rng=seed).random_base2(math.ceil(math.log2(n)))
        return np.ascontiguousarray(drawn[:n])
    if design != "grid":
        raise ValueError(f"design must be latin, sobol or grid, got {design!r}.")
    side = round(n ** (1 / n_dimensions))
    if side**n_dimensions != n:
        raise ValueError(f"a grid in {n_dimensions} dimensions has a whole number to that power, got {n} points.")
    ticks = (np.arange(side) + 0.5) / side
    return np.stack(np.meshgrid(*[ticks] * n_dimensions, indexing="ij"), axis=-1).reshape(n, n_dimensions)


def check_space(space: Any) -> None:
    """Refuse what is no mapping of names to intervals and choices."""
    if not isinstance(space, Mapping):
        raise ValueError(f"the space must be a dict of names to Interval or Choice, got {space!r}.")
    if not space:
        raise ValueError("the space is empty; name at least one setting.")
    for name, about in space.items():
        if not isinstance(about, Interval | Choice):
            raise ValueError(f"{name} must be an Interval or a Choice, got {about!r}.")
