"""Parts of all bounds of the analysis: widths, information, and their product, with those of the drawn functions.

Beside the paper: Srinivas, Krause, Kakade and Seeger, IEEE Transactions on Information Theory 2012; submodular
maximisation, Nemhauser, Wolsey and Fisher, Mathematical Programming 1978.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from bestarm.interface import FloatArray
from bestarm_studies.dpp_bbo.gp_draws import DRAWN, FUNCTIONS, kernel_matrix

GREEDY = float(np.e / (np.e - 1.0))  # the largest information is at most so many times the greedy one (Nemhauser)


def ucb_beta(n_arms: float, t: Any, delta: float) -> Any:
    r"""Return :math:`\beta_t=2\log(|X|t^2\pi^2/(6\delta))`."""
    return 2.0 * np.log(n_arms * np.asarray(t) ** 2 * np.pi**2 / (6.0 * delta))


def zeta(t: Any, delta: float, divisor: float) -> Any:
    r"""Return :math:`\zeta_t=2\log(\pi^2t^2/(a\delta))`: a is 1 in Theorem 2.1, 3 in Theorems 3.3 and 3.4."""
    return 2.0 * np.log(np.pi**2 * np.asarray(t) ** 2 / (divisor * delta))


def per_information(factor: float, noise: float) -> float:
    r"""Return :math:`c/\log(1+\sigma^{-2})`: c is 2 in Theorem 2.1, 8 in Srinivas, 36 in Theorems 3.3 and 3.4."""
    return float(factor / np.log1p(1.0 / noise))


def greedy_information(kernel: FloatArray, noise: float, n: int) -> FloatArray:
    r"""Return :math:`\frac12\log\det(I+\sigma^{-2}K_A)` of the greedy sets of 1, ..., n arms, which may repeat.
    Every arm is the one with the largest variance given those before. Time is O(n m^2) for m arms."""
    covariance, found = np.array(kernel, dtype=np.float64), np.empty(n)
    for t in range(n):
        pick = int(np.argmax(np.diagonal(covariance)))
        column = covariance[pick] / np.sqrt(covariance[pick, pick] + noise)
        found[t] = 0.5 * np.log1p(covariance[pick, pick] / noise)
        covariance -= np.outer(column, column)
    return np.cumsum(found)


def regret_bound(factor: float, n: Any, root: Any, information: Any, noise: float) -> Any:
    r"""Return :math:`\sqrt{Cn\gamma_n}` times a width, C of `per_information`: the form of all the theorems."""
    return np.sqrt(per_information(factor, noise) * np.asarray(n) * information) * root


NOISE = DRAWN["sigma"] ** 2
N_ARMS, DELTA, BATCH = 400, 0.05, 5  # of the searches of drawn functions


@cache
def draw_kernel() -> FloatArray:
    """Return the kernel matrix of the candidates that all drawn functions share."""
    problem = FUNCTIONS(replications=1)
    return kernel_matrix(problem.features, DRAWN["lengthscale"])


@cache
def draw_information(n: int) -> FloatArray:
    r"""Return upper bounds on :math:`\gamma_1,\dots,\gamma_n` of these candidates: e/(e - 1) times the greedy sets'."""
    return GREEDY * greedy_information(draw_kernel(), NOISE, n)
