"""The printed bounds, the instances on which they are checked, and what runs can say about a bound.

Of the paper: Sections 4 and 5, Appendices A and B.
"""

from typing import Any

import numpy as np
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from bestarm.interface import FloatArray
from bestarm.problems.linear_bandit import LinearBandit
from bestarm_studies.gse.logistic_instances import LogisticBandit


def theory_instance(model: str, n_arms: int, n_features: int, sigma: float, signal: float) -> Any:
    """Return one fixed instance with random unit arms: of replication 0 of the randomised experiment, or logistic.
    ``signal`` is the norm of the parameter."""
    rng = np.random.default_rng([n_arms, n_features])
    x = rng.standard_normal((n_arms, n_features))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    theta = rng.standard_normal(n_features)
    theta *= signal / np.linalg.norm(theta)
    if model == "logistic":
        return LogisticBandit("bounds logistic", x, theta)
    return LinearBandit("bounds linear", x, theta, sigma)


def variance(problem: Any) -> float:
    """Return the sub-Gaussian variance of a reward: of the Gaussian noise, or 1/4 of a reward of 0 or 1."""
    return float(getattr(problem, "sigma", 0.5) ** 2)


def gaps(problem: Any) -> FloatArray:
    """Return the gaps before the link, shape (K,), of an instance that all replications share."""
    values = problem.features @ problem.theta
    return np.asarray(values.max() - values)


def printed_bound(
    gap: FloatArray | float, variance: float, uncertainty: FloatArray | float, n_arms: int, constant: float
) -> Any:
    r"""Return :math:`\min(1, 2\eta\log_\eta(K)\exp(-\Delta^2/(c\sigma^2u)))` with :math:`\eta=2` (Equation 2)."""
    return np.minimum(1.0, 4.0 * np.log2(n_arms) * np.exp(-(gap**2) / (constant * variance * uncertainty)))


def smallest_slopes(problem: LogisticBandit, scores: FloatArray, live: Any) -> FloatArray:
    r"""Return :math:`c_{\min}`, the least :math:`h'` between true and estimated score of a live arm, shape (R,)."""
    largest = np.maximum(np.abs(problem.features @ problem.theta)[None, :], np.abs(scores))
    slopes = expit(largest) * expit(-largest)
    return np.asarray(np.where(live, slopes, np.inf).min(axis=1))


def high_without_error(n: Any) -> Any:
    """Return the upper end of Wilson's 95% interval where nothing was seen in n runs: no bound below can be tested."""
    return proportion_confint(np.zeros_like(np.asarray(n)), np.asarray(n), method="wilson")[1]
