"""What searches without networks use of Torch, where Torch is not installed: features as single numbers, and no GPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bestarm.interface import FloatArray

float32 = np.float32


def tensor(values: FloatArray, dtype: type[np.float32], device: str) -> NDArray[np.float32]:
    """Return an array in the place of a tensor; no search without networks computes with it."""
    return np.array(values, dtype=dtype)


class cuda:
    """There is no GPU without Torch."""

    @staticmethod
    def is_available() -> bool:
        """Return no."""
        return False
