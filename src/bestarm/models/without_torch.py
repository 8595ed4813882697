"""The part of Torch that searches without networks use, where it is not installed: arrays of single numbers, no GPU."""

import numpy as np
from numpy.typing import NDArray

from bestarm.interface import FloatArray

float32 = np.float32


def tensor(values: FloatArray, dtype: type[np.float32], device: str) -> NDArray[np.float32]:
    """Return an array in place of a tensor; no search without networks computes with it."""
    return np.array(values, dtype=dtype)


class cuda:
    """There is no GPU without Torch."""

    @staticmethod
    def is_available() -> bool:
        """Return no."""
        return False
