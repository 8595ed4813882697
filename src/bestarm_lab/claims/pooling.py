r"""An estimate of the share of a claim's cells in which one side is ahead, from a model that pools the cells.

To count the cells whose estimates lie on the claim's side counts noise where a true effect lies near the margin. Here
the effects of the cells, as distances from the margin, are normal around a common mean with a common standard
deviation :math:`\tau`, and every estimate is normal around its cell's effect with its own standard error. The number of
cells whose effect is on the claim's side then has a posterior law, which is integrated and not sampled.

It describes a claim, and decides none: the posterior that *some* of many cells near their margin lie beyond it is near
one, whatever the truth. Effects are measured in units of their own root mean square, so that nothing depends on units.

References
----------
.. [1] Gelman, Carlin, Stern, Dunson, Vehtari, Rubin. "Bayesian Data Analysis". Third edition, 2013. Section 5.4.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from bestarm.interface import FloatArray

_TAU_SCALE = 1.0  # half-normal prior of tau, in units of the root mean square of the estimates
_TAUS = np.concatenate([[1e-4], np.linspace(0.005, 0.3, 60), np.linspace(0.32, 4.0, 93)])
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
_LEAST_ERROR = 1e-6


def expected_share(distances: FloatArray, errors: FloatArray) -> float:
    """Return the expected share of the cells whose effect is below the margin, see `count_law`."""
    law = count_law(distances, errors)
    return float(law @ np.arange(len(law))) / (len(law) - 1)


def count_law(distances: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the posterior probability that 0, 1, ..., m cells have an effect below the margin.

    The prior of the common mean is flat, that of the common standard deviation half-normal with scale 1 ([1]_).

    Parameters
    ----------
    distances : ndarray, shape (m,)
        Estimated effects minus the margin; negative is on the claim's side.
    errors : ndarray, shape (m,)
        Their standard errors.

    Returns
    -------
    ndarray, shape (m + 1,)
        Probabilities, which add up to 1.
    """
    unit = float(np.sqrt(np.mean(np.square(distances)))) or 1.0
    d, s = np.asarray(distances, dtype=np.float64) / unit, np.maximum(np.asarray(errors) / unit, _LEAST_ERROR)
    variance = s**2 + _TAUS[:, None] ** 2  # (taus, m)
    precision = 1.0 / variance
    spread = 1.0 / precision.sum(axis=1)
    centre = (d * precision).sum(axis=1) * spread
    fit = -0.5 * (np.log(variance) + (d - centre[:, None]) ** 2 * precision).sum(axis=1)
    log_weight = fit + 0.5 * np.log(spread) + stats.halfnorm.logpdf(_TAUS, scale=_TAU_SCALE)
    weight = np.exp(log_weight - log_weight.max()) * np.gradient(_TAUS)
    means = centre[:, None] + np.sqrt(spread)[:, None] * _NODES  # (taus, nodes)
    both = (weight / weight.sum())[:, None] * (_WEIGHTS / _WEIGHTS.sum())
    tau = _TAUS[:, None, None]
    shrunk_variance = 1.0 / (1.0 / s**2 + 1.0 / tau**2)  # (taus, 1, m)
    shrunk = shrunk_variance * (d / s**2 + means[:, :, None] / tau**2)
    ahead = stats.norm.cdf(-shrunk / np.sqrt(shrunk_variance))  # (taus, nodes, m)
    law = np.zeros((*both.shape, len(d) + 1))
    law[..., 0] = 1.0
    for j in range(len(d)):
        p = ahead[..., [j]]
        law[..., 1:] = law[..., 1:] * (1.0 - p) + law[..., :-1] * p
        law[..., :1] *= 1.0 - p
    return np.asarray((law * both[..., None]).sum(axis=(0, 1)))
