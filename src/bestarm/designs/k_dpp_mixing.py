r"""The distance of a chain from its k-DPP: bounds on the steps that it needs.

References
----------
.. [1] Anari, Oveis Gharan, Rezaei. "Monte Carlo Markov Chain Algorithms for Sampling Strongly Rayleigh Distributions
   and Determinantal Point Processes". COLT 2016. Its constants are quoted from other works, not checked in the text.
.. [2] Cryan, Guo, Mousa. "Modified log-Sobolev Inequalities for Strongly Log-Concave Distributions". FOCS 2019. The
   relative entropy of the down-up chain contracts by 1 - 1/k in every step.
"""

from typing import Literal

import numpy as np
from numba import njit

Chain = Literal["down-up", "exchange"]


@njit(cache=True)
def greedy_deficit(n: int, k: int) -> float:
    r"""Return a bound on :math:`\log(1/\pi(S_0))` of the greedy set, whose determinant is at least max / (k!)^2."""
    found = 0.0
    for t in range(k):
        found += 2.0 * np.log(t + 1.0) + np.log((n - t) / (t + 1.0))
    return found


@njit(cache=True)
def sequential_deficit(total: float, ridge: float, n: int, k: int) -> float:
    """Return a bound on the relative entropy of points added one after the other to a k-DPP of trace ``total``.

    Their law is the target's times k! e_k over a product of conditional traces, of which each is at least the ridge
    times the points left, and k! e_k is at most the k-th power of the trace.
    """
    return k * np.log(total / (ridge * (n - k + 1)))


@njit(cache=True)
def down_up_steps(deficit: float, k: int, epsilon: float) -> int:
    """Return steps after which the down-up chain is within ``epsilon`` in total variation, by [2]_ and Pinsker."""
    if k == 1:
        return 1
    return int(np.ceil(max(0.0, k * np.log(max(deficit, 1e-300) / (2.0 * epsilon**2)))))


@njit(cache=True)
def exchange_steps(deficit: float, n: int, k: int, epsilon: float) -> int:
    """Return steps after which the exchange chain is within ``epsilon`` in total variation, by [1]_."""
    return int(np.ceil(2.0 * k * n * (deficit - np.log(epsilon))))
