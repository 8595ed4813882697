"""Errors of measurements: a reward may be told with its standard error, or the number of measurements behind it."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bestarm.interface import FloatArray

Errors = Mapping[str, "Error"]  # by candidate
Error = tuple[float, float]  # standard error of a mean, NaN where none is known, and how many measurements it is of


class Reading(float):
    """A reward with its standard error, NaN where none was told, and the number of measurements behind it."""

    __slots__ = ("n", "sem")
    n: float
    sem: float

    def __new__(cls, value: float, sem: float = math.nan, n: float = 1.0) -> "Reading":
        found = super().__new__(cls, value)
        found.sem, found.n = float(sem), float(n)
        return found


def reading(value: float, sem: float = math.nan, n: float = 1.0) -> float:
    """Return a `Reading`, or a plain number where no error was told."""
    return float(value) if sem != sem and n == 1.0 else Reading(value, sem, n)


def error_of(value: float) -> Error:
    """Return the standard error of one reward, and its number."""
    return (value.sem, value.n) if isinstance(value, Reading) else (math.nan, 1.0)


def _weights(errors: FloatArray) -> FloatArray:
    """Return the weight of each of a candidate's rewards in their mean: inverse variances, or else numbers."""
    if not (errors[:, 0] > 0.0).all():
        return errors[:, 1]
    with np.errstate(over="ignore"):  # in units of the least, whose square may be 0, by a power of two: exactly
        return np.asarray(1.0 / (errors[:, 0] / 2.0 ** np.floor(np.log2(errors[:, 0].min()))) ** 2)


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of the measurements that did not fail, weighted by their errors; NaN where all did."""
    if len(values) == 1:
        return float(values[0])
    known = [value for value in values if value == value]
    if not any(isinstance(value, Reading) for value in known):
        return float(np.mean(known)) if known else math.nan
    return float(np.average(known, weights=_weights(np.array([error_of(value) for value in known]))))


def errors_of(measured: Mapping[str, Sequence[float]]) -> dict[str, Error]:
    """Return the error of each candidate's mean, unless it is one measurement about which nothing is known.

    Where some standard errors are known, a reward without one has the median of a single measurement's.
    """
    known = {name: [value for value in values if value == value] for name, values in measured.items()}
    told = [v.sem * v.n**0.5 for values in known.values() for v in values if isinstance(v, Reading) and v.sem == v.sem]
    unit = max(told, default=math.nan) or 1.0  # squares of errors may be 0 or infinite
    usual = unit * float(np.median(np.square(np.array(told) / unit))) ** 0.5 if told else math.nan
    found: dict[str, Error] = {}
    for name, values in known.items():
        if not values or (not told and len(values) == 1 and not isinstance(values[0], Reading)):
            continue
        errors = np.array([error_of(value) for value in values])
        weights, n = _weights(errors), float(errors[:, 1].sum())
        own = np.where(np.isnan(errors[:, 0]), usual / np.sqrt(errors[:, 1]), errors[:, 0])
        found[name] = (math.hypot(*(weights * own)) / float(weights.sum()), n)
    return found
