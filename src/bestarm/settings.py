"""Whether a setting is a number of the right kind."""

from __future__ import annotations

import operator
from numbers import Real
from typing import Any

import numpy as np


def is_whole(value: Any) -> bool:
    """Return whether a setting is an integer; a float that happens to be whole and a truth value are none."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool | np.bool_)


def is_number(value: Any) -> bool:
    """Return whether a setting is a real number; NaN and infinity are."""
    return isinstance(value, Real)
