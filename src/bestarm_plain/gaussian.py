"""Gaussian processes over finitely many arms: posterior, widths, relevance region.

The prior is a covariance matrix of the arms with mean 0; learning hyper-parameters is another matter.
"""

from collections.abc import Callable

import numpy as np
from numpy import ndarray
from scipy.special import log_ndtr

Observe = Callable[[list[int]], ndarray]  # rewards of a batch


def posterior(K: ndarray, noise: float, seen: list[int], y: list[float]) -> tuple[ndarray, ndarray]:
    """Return mean and covariance of all arms, given rewards y of arms seen."""
    gain = np.linalg.solve(K[np.ix_(seen, seen)] + noise * np.eye(len(seen)), K[seen])
    return gain.T @ np.array(y), K - K[:, seen] @ gain


def condition(cov: ndarray, x: int, noise: float) -> ndarray:
    """Return the covariance once an arm has been observed, too: it does not depend on the reward."""
    return cov - np.outer(cov[:, x], cov[x]) / (cov[x, x] + noise)


def deviations(cov: ndarray) -> ndarray:
    """Return the standard deviations."""
    return np.sqrt(np.maximum(np.diag(cov), 0))


def ucb_width(n_arms: int, t: int, delta: float, beta_scale: float = 1.0) -> float:
    """Return the root of beta_t = 2 log(|X| t^2 pi^2 / (6 delta))."""
    return np.sqrt(beta_scale * 2 * np.log(n_arms * t**2 * np.pi**2 / (6 * delta)))


def estimated_maximum(mu: ndarray, sd: ndarray, best: float) -> float:
    """Return ESTn (Wang, Zhou, Jegelka 2016): the expected maximum of independent values and the best reward."""
    w = np.linspace(best, max(best, (mu + 6 * sd).max()), 200)
    above = -np.expm1(log_ndtr((w[:, None] - mu) / np.maximum(sd, 1e-12)).sum(axis=1))
    return max(best + np.trapezoid(above, w), mu.max() + 1e-6)


def est_width(mu: ndarray, sd: ndarray, maximum: float) -> float:
    """Return the width by which the upper bound is EST: min (m - mu) / sigma (Lemma 3.1 of the DPP paper)."""
    return ((maximum - mu) / np.maximum(sd, 1e-12)).min()


def first_and_region(
    mu: ndarray, cov: ndarray, t: int, best: float, delta: float, estimate: bool, argmax: Callable[..., int]
) -> tuple[int, ndarray]:
    """Return the arm of largest upper bound, and the relevance region R_t^+ (DPP paper, Section 3.2)."""
    sd, n = deviations(cov), len(mu)
    width = est_width(mu, sd, estimated_maximum(mu, sd, best)) if estimate else ucb_width(n, t, delta)
    reach = 2 * (width if estimate else ucb_width(n, t + 1, delta))
    return argmax(mu + width * sd), np.flatnonzero(mu + reach * sd >= (mu - width * sd).max())
