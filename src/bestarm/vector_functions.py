r"""Exponential and cosine of whole arrays, written so that a compiler vectorises them.

The mathematics library computes one value a call, 8 to 20 ns each. A kernel matrix needs millions of exponentials, and
one draw of a function by random features half a million cosines.

References
----------
.. [1] Cody, Waite. "Software Manual for the Elementary Functions". Prentice-Hall 1980. Chapters 6 and 8: reduction of
   the argument by a constant in two parts.
"""

import numpy as np
from numba import njit

from bestarm.interface import FloatArray

_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to the nearest whole number
_LEAST = -700.0  # exp of less is 1e-304 here
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_PI_HIGH, _PI_MIDDLE, _PI_LOW = 3.141592651605606, 1.9841871479187034e-09, 1.1442377452219664e-17
_BIAS = 1023


@njit(cache=True, fastmath={"contract"})
def exponentials(values: FloatArray) -> None:
    """Replace values, shape (n,), at most 700 each, by their exponentials, within 2 units in the last place."""
    for i in range(len(values)):
        x = max(values[i], _LEAST)
        shifted = x * 1.4426950408889634 + _ROUND
        # x = k log 2 + r with a whole k
        k = shifted - _ROUND
        r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
        p = 1.6059043836821613e-10  # 1 / 13!
        p = p * r + 2.08767569878681e-09
        p = p * r + 2.505210838544172e-08
        p = p * r + 2.755731922398589e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.48015873015873e-05
        p = p * r + 1.984126984126984e-04
        p = p * r + 1.3888888888888889e-03
        p = p * r + 8.333333333333333e-03
        p = p * r + 4.1666666666666664e-02
        p = p * r + 1.6666666666666666e-01
        p = p * r + 0.5
        p = p * r * r + r
        # 2^k, written as the bits of its exponent
        power = np.int64((np.float64(shifted).view(np.int64) + _BIAS) << 52).view(np.float64)
        values[i] = power * p + power


@njit(cache=True, fastmath={"contract"})
def cosines(values: FloatArray) -> None:
    """Replace values, shape (n,), at most 1e6 in size each, by their cosines, within 4e-16."""
    for i in range(len(values)):
        x = values[i]
        # x = k pi + r with a whole k
        k = (x * 0.3183098861837907 + _ROUND) - _ROUND
        r = ((x - k * _PI_HIGH) - k * _PI_MIDDLE) - k * _PI_LOW
        square = r * r
        p = -8.896791392450574e-22  # -1 / 22!
        p = p * square + 4.110317623312165e-19
        p = p * square - 1.5619206968586225e-16
        p = p * square + 4.779477332387385e-14
        p = p * square - 1.1470745597729725e-11
        p = p * square + 2.08767569878681e-09
        p = p * square - 2.755731922398589e-07
        p = p * square + 2.48015873015873e-05
        p = p * square - 1.3888888888888889e-03
        p = p * square + 4.1666666666666664e-02
        p = p * square - 0.5
        odd = k - 2.0 * ((0.5 * k + _ROUND) - _ROUND)  # -1, 0 or 1
        values[i] = (1.0 - 2.0 * odd * odd) * (p * square + 1.0)
