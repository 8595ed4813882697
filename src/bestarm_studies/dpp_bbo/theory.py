r"""Bounds and formulas of the DPP-BBO paper's analysis, as printed and as they follow, and what they count.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Sections 2 and 3, appendix.
.. [2] Srinivas, Krause, Kakade, Seeger. "Information-Theoretic Regret Bounds for Gaussian Process Optimization in the
   Bandit Setting". IEEE Transactions on Information Theory 2012.
.. [3] Desautels, Krause, Burdick. "Parallelizing Exploration-Exploitation Tradeoffs in Gaussian Process Bandit
   Optimization". JMLR 2014. Its Table 1 is quoted from other works, not checked in the text.
.. [4] Nemhauser, Wolsey, Fisher. "An Analysis of Approximations for Maximizing Submodular Set Functions". Mathematical
   Programming 1978.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln, ndtr

from bestarm.designs.k_dpp_mixing import down_up_steps, exchange_steps, greedy_deficit
from bestarm.interface import FloatArray
from bestarm.policies.gp_acquisition import maximum_by_approximation, maximum_by_integral

GREEDY = float(np.e / (np.e - 1.0))  # the largest information is at most so many times the greedy one ([4]_)


def ucb_beta(n_arms: float, t: Any, delta: float) -> Any:
    r"""Return :math:`\beta_t=2\log(|X|t^2\pi^2/(6\delta))`."""
    return 2.0 * np.log(n_arms * np.asarray(t) ** 2 * np.pi**2 / (6.0 * delta))


def zeta(t: Any, delta: float, divisor: float) -> Any:
    r"""Return :math:`\zeta_t=2\log(\pi^2t^2/(a\delta))`: a is 1 in Theorem 2.1, 3 in Theorems 3.3 and 3.4."""
    return 2.0 * np.log(np.pi**2 * np.asarray(t) ** 2 / (divisor * delta))


def per_information(factor: float, noise: float) -> float:
    r"""Return :math:`c/\log(1+\sigma^{-2})`: c is 2 in Theorem 2.1, 8 in [2]_, 36 in Theorems 3.3 and 3.4."""
    return float(factor / np.log1p(1.0 / noise))


# --------------------------------------------------------------------------------------------------------------------
# Information


def greedy_information(kernel: FloatArray, noise: float, n: int) -> FloatArray:
    r"""Return :math:`\frac12\log\det(I+\sigma^{-2}K_A)` of the greedy sets of 1, ..., n arms, which may repeat.

    Every arm is the one with the largest variance given those before. Time is O(n m^2) for m arms.
    """
    covariance, found = np.array(kernel, dtype=np.float64), np.empty(n)
    for t in range(n):
        pick = int(np.argmax(np.diagonal(covariance)))
        column = covariance[pick] / np.sqrt(covariance[pick, pick] + noise)
        found[t] = 0.5 * np.log1p(covariance[pick, pick] / noise)
        covariance -= np.outer(column, column)
    return np.cumsum(found)


def first_stage(kernel: FloatArray, noise: float, batch: int, level: float, most: int = 1000) -> int:
    r"""Return how many greedy arms must come first until B - 1 more tell at most ``level`` of information.

    What they can tell is bounded by e/(e - 1) times what the next greedy arms tell ([4]_).
    """
    gains = np.diff(greedy_information(kernel, noise, most + batch - 1), prepend=0.0)
    left = GREEDY * np.convolve(gains, np.ones(batch - 1), mode="valid")
    enough = np.flatnonzero(left <= level)
    return int(enough[0]) if len(enough) else -1


def kernel_eigenvalues(lengthscale: float, n_nodes: int = 400, n_terms: int = 400) -> FloatArray:
    r"""Return the eigenvalues of the squared-exponential kernel's operator on [0, 1] with the uniform law.

    By Gauss and Legendre's quadrature. With x from the middle, :math:`k(x,y)=\sum_n\phi_n(x)\phi_n(y)` and
    :math:`\phi_n(x)=e^{-x^2/2\ell^2}(x/\ell)^n/\sqrt{n!}`, so that they are squared singular values of
    :math:`\sqrt{w_i}\phi_n(x_i)`, right down to the square of the rounding.
    """
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    x = 0.5 * nodes / lengthscale
    features = np.empty((n_nodes, n_terms))
    features[:, 0] = np.exp(-0.5 * x**2)
    for n in range(1, n_terms):
        features[:, n] = features[:, n - 1] * x / np.sqrt(n)
    return np.asarray(np.linalg.svd(np.sqrt(0.5 * weights)[:, None] * features, compute_uv=False) ** 2)


def information_gain(eigenvalues: FloatArray, sizes: FloatArray, noise: float) -> FloatArray:
    r"""Return :math:`\frac12\sum_i\log(1+\sigma^{-2}S\lambda_i)` for each S: the rate of :math:`\gamma_S`."""
    return np.array([0.5 * np.log1p(s * eigenvalues / noise).sum() for s in sizes])


def operator_eigenvalues(lengthscale: float, dimension: int, floor: float = 1e-22) -> FloatArray:
    """Return the eigenvalues above ``floor`` of the operator on the cube: products of those on [0, 1]."""
    one = kernel_eigenvalues(lengthscale)
    found = one = one[one > floor]
    for _ in range(dimension - 1):
        found = np.outer(found, one).ravel()
        found = found[found > floor]
    return np.sort(found)[::-1]


def local_slopes(sizes: FloatArray, information: FloatArray) -> FloatArray:
    r"""Return the slope of :math:`\log\gamma` against :math:`\log\log S` between neighbouring sizes."""
    return np.asarray(np.diff(np.log(information)) / np.diff(np.log(np.log(sizes))))


# --------------------------------------------------------------------------------------------------------------------
# Regret


def regret_bound(factor: float, n: Any, root: Any, information: Any, noise: float) -> Any:
    r"""Return :math:`\sqrt{Cn\gamma_n}` times a width, C of `per_information`: the form of all the theorems."""
    return np.sqrt(per_information(factor, noise) * np.asarray(n) * information) * root


def first_step_excess(n_arms: int, delta: float, factor: float) -> float:
    r"""Return the probability that UCB's first regret exceeds Theorem 2.1's bound, where arms are independent.

    For the kernel :math:`k(x,x')=1[x=x']` and T = 1 the bound is :math:`\sqrt{c\beta_1/2}` whatever the noise, since
    :math:`\gamma_1=\frac12\log(1+\sigma^{-2})`, and the regret is the maximum of all arms less any one of them.
    """
    bound = np.sqrt(0.5 * factor * ucb_beta(n_arms, 1, delta))
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    beyond = -np.expm1((n_arms - 1) * np.log(ndtr(nodes + bound)))
    return float(weights @ beyond / np.sqrt(2.0 * np.pi))


def confidence_misses(delta: float, n: int = 10**6) -> float:
    r"""Return at most how likely Lemma 6.1 is to fail in some round.

    That is :math:`\sum_tP(|f(x_t)-\mu_{t-1}(x_t)|>\zeta_t^{1/2}\sigma_{t-1}(x_t))` with the lemma's a = 6, each the
    tail of a normal variable given the rewards before; those after the first n are bounded by :math:`e^{-\zeta_t/2}`.
    """
    tails = 2.0 * ndtr(-np.sqrt(zeta(np.arange(1, n + 1), delta, 6.0)))
    return float(tails.sum() + 6.0 * delta / (np.pi**2 * n))


def independent_batch(variances: FloatArray, noise: float) -> tuple[int, FloatArray, FloatArray]:
    r"""Return the first arm of UCB on independent arms without rewards, the variances after it, and a sample's law.

    All means are equal, so the first arm has the largest variance, and the relevance region has every arm. The law is
    that of the one later arm of a batch of two: :math:`1+\sigma^{-2}\sigma^2(x)`, normalised.
    """
    first, after = int(np.argmax(variances)), np.array(variances, dtype=np.float64)
    after[first] *= noise / (after[first] + noise)
    law = 1.0 + after / noise
    return first, after, law / law.sum()


def lemma_6_4_violated(variances: FloatArray, noise: float, delta: float) -> float:
    r"""Return a lower bound on the probability that a sampled batch of two violates Lemma 6.4, on independent arms.

    If the sampled arm has a smaller deviation than the first arm afterwards and than some arm that was not tried, the
    next first arm has a larger one, unless the rewards lift the sampled arm itself above the one that was not tried.
    """
    variances = np.asarray(variances, dtype=np.float64)
    first, after, law = independent_batch(variances, noise)
    width = np.sqrt(ucb_beta(len(variances), 2, delta))
    total = 0.0
    for arm in range(len(variances)):
        untried = np.delete(variances, np.array([first, arm])).max(initial=0.0)
        if arm == first or after[arm] >= min(untried, after[first]):
            continue
        own, spread = after[arm] * noise / (after[arm] + noise), after[arm] / np.sqrt(after[arm] + noise)
        total += law[arm] * ndtr(width * (np.sqrt(untried) - np.sqrt(own)) / spread)
    return float(total)


def inflation_of(dimension: int) -> float:
    r"""Return :math:`\log C'` for the squared-exponential kernel, :math:`((2d+2)/e)^{d+1}` ([3]_, Table 1)."""
    return float(((2.0 * dimension + 2.0) / np.e) ** (dimension + 1))


def constants_table(dimensions: Sequence[int], batch: int, rounds: int, n_arms: int, delta: float) -> pd.DataFrame:
    r"""Return by dimension how much larger the bounds of GP-BUCB and B-EST are than those of DPP-MAX.

    Both have the same :math:`\gamma_{TB}`. What remains is :math:`C'\sqrt{8\beta_{TB}/(36\beta_T)}` for UCB, and for
    EST, with the same largest width and leaving out :math:`\zeta`, :math:`C'\sqrt{2/36}`: the proof of
    Lemma 6.2 needs no more than 2. The regret of the first stage is left out, which favours GP-BUCB.

    Returns
    -------
    DataFrame
        ``d, log10_C, log10_growth`` (of the :math:`e^{d^d}` that [1]_ names), ``log10_ucb, log10_est`` (the ratios).
    """
    ucb = np.sqrt(8.0 * ucb_beta(n_arms, rounds * batch, delta) / (36.0 * ucb_beta(n_arms, rounds, delta)))
    ten = np.log(10.0)
    lines = []
    for d in dimensions:
        log_c = inflation_of(d)
        lines.append(
            {
                "d": d,
                "log10_C": log_c / ten,
                "log10_growth": float(d) ** d / ten,
                "log10_ucb": log_c / ten + float(np.log10(ucb)),
                "log10_est": log_c / ten + 0.5 * float(np.log10(2.0 / 36.0)),
            }
        )
    return pd.DataFrame(lines)


def needed_inflation(batch: int, rounds: int, n_arms: int, delta: float) -> tuple[float, float]:
    """Return C' below which GP-BUCB's bound, and B-EST's, is smaller than that of DPP-MAX; see `constants_table`."""
    table = constants_table([1], batch, rounds, n_arms, delta).iloc[0]
    return float(10 ** (table["log10_C"] - table["log10_ucb"])), float(10 ** (table["log10_C"] - table["log10_est"]))


def prior_widths(sizes: Sequence[int]) -> pd.DataFrame:
    r"""Return the widths of UCB and EST before any reward, for so many independent arms with variance 1.

    ``first`` is :math:`\sqrt{2\log|X|}`, which the largest of so many standard normal values approaches; the estimates
    take 0 for the best reward.
    """
    lines = []
    for n in sizes:
        zeros, ones = np.zeros(n), np.ones(n)
        lines.append(
            {
                "arms": n,
                "UCB": float(np.sqrt(ucb_beta(n, 1, 0.05))),
                "ESTn": maximum_by_integral(zeros, ones, 0.0),
                "ESTa": maximum_by_approximation(zeros, ones, 0.0),
                "first": float(np.sqrt(2.0 * np.log(n))),
            }
        )
    return pd.DataFrame(lines)


def three_points(noise: float, spacing: float, lengthscale: float, known: float) -> pd.DataFrame:
    r"""Return the determinants of the pairs of three points on a line, and which pair is greedy.

    The points are at ``-spacing, 0, spacing``; arms at plus and minus ``known`` were observed, so that the middle one
    has the largest variance and is taken first.
    """
    x, seen = np.array([-spacing, 0.0, spacing]), np.array([-known, known])

    def kernel(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-0.5 * ((a[:, None] - b[None]) / lengthscale) ** 2))

    own = kernel(seen, seen) + noise * np.eye(2)
    left = np.eye(3) + (kernel(x, x) - kernel(x, seen) @ np.linalg.solve(own, kernel(seen, x))) / noise
    pairs = [(0, 1), (1, 2), (0, 2)]
    determinants = np.array([np.linalg.det(left[np.ix_(p, p)]) for p in pairs])
    names = ["left and middle (greedy)", "middle and right (greedy)", "both ends"]
    law = determinants / determinants.sum()
    return pd.DataFrame({"pair": names, "log det": np.log(determinants), "probability": law})


# --------------------------------------------------------------------------------------------------------------------
# The cost of one sample


def sampling_operations(n: int, k: int, epsilon: float) -> dict[str, float]:
    r"""Return the multiplications behind one sample of a k-DPP of size n, within ``epsilon`` in total variation.

    Exact: an eigen-decomposition with all vectors, counted as :math:`9n^3`, the table of elementary symmetric
    polynomials nk, and k projections, :math:`2nk^2`. A step of the exchange chain factors a k by k matrix and solves
    with it twice, :math:`k^3/6+k^2`; a step of the down-up chain does the same once for all n points,
    :math:`k^3/6+nk^2/2`. Both start at the greedy set, :math:`nk^2/2`.
    """
    deficit, greedy = greedy_deficit(n, k), 0.5 * n * k**2
    return {
        "exact": 9.0 * n**3 + n * k + 2.0 * n * k**2,
        "exchange chain": greedy + exchange_steps(deficit, n, k, epsilon) * (k**3 / 6.0 + k**2),
        "down-up chain": greedy + down_up_steps(deficit, k, epsilon) * (k**3 / 6.0 + 0.5 * n * k**2),
    }


def log_binomial(n: Any, k: Any) -> Any:
    """Return the logarithm of the number of sets of size k out of n."""
    return gammaln(np.asarray(n) + 1.0) - gammaln(np.asarray(k) + 1.0) - gammaln(np.asarray(n) - k + 1.0)
