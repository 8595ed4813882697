r"""The best fixed design for the m best arms with fixed confidence, and the characteristic time that it attains.

References
----------
.. [1] Garivier, Kaufmann. "Optimal Best Arm Identification with Fixed Confidence". COLT 2016. Theorem 1.
.. [2] Réda, Tirinzoni, Degenne. "Dealing With Misspecification In Fixed-Confidence Linear Top-m Identification".
   NeurIPS 2021. Theorem 1, for a linear model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from bestarm.designs.projection import span_basis
from bestarm.interface import FloatArray

_SHARPNESS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)


class CharacteristicTime(NamedTuple):
    """The best fixed design.

    ``time``: T*: no algorithm with risk delta needs fewer than T* kl(delta, 1 - delta) pulls on average; ``weights``
    (ndarray, shape (n_arms,)): share of each arm in the pulls; ``gap``: by how much the time can be too long at most,
    as a share of it: a bound by convexity."""

    time: float
    weights: FloatArray
    gap: float


def characteristic_time(
    features: FloatArray, means: FloatArray, n_best: int, sigma: float, tolerance: float = 0.05
) -> CharacteristicTime:
    r"""Solve :math:`T^* = \min_w\max_{i, a} 2\sigma^2\|x_i-x_a\|^2_{V_w^{-1}}/(\mu_i-\mu_a)^2`, i best and a not.

    The largest of the terms is made smooth and sharpened step by step. The cost of an evaluation is that of the m (K -
    m) pairs times d and the arms. ``features``, ``means`` (ndarray, shapes (n_arms, n_features) and (n_arms,)): arms
    and their true means, in units of reward; ``n_best``: m; ``sigma``: standard deviation of a reward, in units of
    reward; ``tolerance``: largest ``gap`` that is accepted. Raises ValueError if means are missing or not finite, the m
    best are not unique, or the solver ends above the tolerance."""
    x, mu = np.asarray(features, dtype=np.float64), np.asarray(means, dtype=np.float64)
    if mu.shape != x.shape[:1] or not np.isfinite(mu).all():
        raise ValueError(
            f"the oracle needs the true mean of each of {len(x)} arms, got shape {mu.shape}; it is a yardstick for "
            "simulated problems, no policy for arms whose means are to be found."
        )
    if not 1 <= n_best < len(x):
        raise ValueError(f"n_best must be between 1 and n_arms - 1 = {len(x) - 1}, got {n_best}.")
    order = np.argsort(-mu, kind="stable")
    best, others = order[:n_best], order[n_best:]
    gaps = (mu[best][:, None] - mu[others][None, :]).ravel()
    if gaps.min() <= 0.0:
        raise ValueError(f"the {n_best} best arms must be unique, got equal means; change n_best.")
    x = x @ span_basis(x)
    pairs = np.sqrt(2.0) * sigma * (x[best][:, None] - x[others][None, :]).reshape(-1, x.shape[1]) / gaps[:, None]

    def terms(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the term of each pair, and its derivative by each weight, up to the sign."""
        reach = np.linalg.solve((x.T * weights) @ x, pairs.T)
        return np.einsum("pd,dp->p", pairs, reach), (x @ reach) ** 2

    def smooth(logits: FloatArray, sharpness: float) -> tuple[float, FloatArray]:
        weights = softmax(logits)
        values, slopes = terms(weights)
        power = sharpness * np.log(values)
        slope = -slopes @ (softmax(power) / values)
        return float(logsumexp(power) / sharpness), weights * (slope - weights @ slope)

    logits = np.zeros(len(x))
    found = CharacteristicTime(np.inf, softmax(logits), np.inf)
    for sharpness in _SHARPNESS:
        logits = minimize(smooth, logits, args=(sharpness,), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
        weights = softmax(np.maximum(logits - logits.max(), -30.0))
        values, slopes = terms(weights)
        # a convex function lies above its tangents, also the mixture of the pairs that are nearly the largest
        mixture = softmax(sharpness * np.log(values))
        least = 2.0 * mixture @ values - (slopes @ mixture).max()
        time, gap = values.max(), 1.0 - least / values.max()
        if gap < found.gap:
            found = CharacteristicTime(float(time), weights, float(gap))
    if found.gap > tolerance:
        raise ValueError(
            f"the design is within {found.gap:.2g} of the best one only, not {tolerance}; raise tolerance."
        )
    return found
