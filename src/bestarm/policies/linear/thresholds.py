r"""Thresholds :math:`C_{t,\delta}` that turn a standard error into the width of a confidence interval.

References
----------
.. [1] Réda, Kaufmann, Delahaye-Duriez. "Top-m identification for linear bandits". AISTATS 2021. Eq. 2, Section 5.
.. [2] Kalyanakrishnan, Tewari, Auer, Stone. "PAC Subset Selection in Stochastic Multi-armed Bandits". ICML 2012.
"""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from bestarm.interface import Arms, FloatArray

# time, then (only Eq. 2 looks at it) which set of features each replication has, by default the first
Threshold = Callable[..., FloatArray]
ThresholdName = Literal["heuristic", "eq2", "lucb1"]


def heuristic_threshold(delta: float) -> Threshold:
    r"""Return :math:`t \mapsto \sqrt{2\ln((\ln t + 1)/\delta)}` ([1]_, Section 5): no proof, checked by its error."""
    return lambda t, feature_set=0: np.sqrt(2.0 * np.log((np.log(t) + 1.0) / delta))


def linear_threshold(arms: Arms, delta: float, sigma: float, regulariser: float, norm_bound: float) -> Threshold:
    r"""Return the threshold of [1]_, Eq. 2, which makes every GIFA algorithm (epsilon, m, delta)-PAC.

    With the design matrix :math:`\rho I + \sum_a N_a x_a x_a^\top` it is :math:`\sqrt{2\ln(1/\delta) + N\ln(1 + (t+1)
    L^2/(\rho N))} + \sqrt{\rho}\,S/\sigma`. The paper prints :math:`\lambda^2` in the logarithm and
    :math:`\sqrt\lambda` in the bias; :math:`\rho=\lambda^2` makes the two agree. ``arms``: give N and :math:`L = \max_a
    \|x_a\|`; ``delta``: risk; ``sigma``: sub-Gaussian scale of the noise, in units of reward; ``regulariser``:
    :math:`\rho > 0`; ``norm_bound``: S, a bound on the norm of the parameter."""
    n = arms.n_features
    longest = np.atleast_1d((arms.features**2).sum(axis=-1).max(axis=-1))  # of each set of features
    bias = np.sqrt(regulariser) * norm_bound / sigma
    return lambda t, feature_set=0: (
        np.sqrt(2.0 * np.log(1.0 / delta) + n * np.log1p((t + 1.0) * longest[feature_set] / (regulariser * n))) + bias
    )


def lucb1_threshold(n_arms: int, delta: float) -> Threshold:
    r"""Return :math:`t \mapsto \sqrt{2\ln(5 K t^4/(4\delta))}`, the exploration rate of LUCB1 ([2]_)."""
    constant = np.log(5.0 * n_arms / (4.0 * delta))
    return lambda t, feature_set=0: np.sqrt(2.0 * (constant + 4.0 * np.log(t)))


def make_threshold(
    name: ThresholdName, arms: Arms, *, delta: float, sigma: float, regulariser: float, norm_bound: float
) -> Threshold:
    """Return the threshold of that name for these arms."""
    match name:
        case "heuristic":
            return heuristic_threshold(delta)
        case "eq2":
            return linear_threshold(arms, delta, sigma, regulariser, norm_bound)
        case "lucb1":
            return lucb1_threshold(arms.n_arms, delta)
    raise ValueError(f"threshold must be one of {', '.join(get_args(ThresholdName))}, got {name!r}.")
