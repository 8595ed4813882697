r"""Draws of what measurements of many candidates would give, all of them together.

References
----------
.. [1] Wilson et al. "Efficiently Sampling Functions from Gaussian Process Posteriors". ICML 2020. Equation 12.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.linalg import cho_solve, cholesky

from bestarm.interface import FloatArray
from bestarm.models.smooth_gp import Posterior, _squares
from bestarm.search.weighed_gp import WeighedPosterior

_EXACT = 2000  # points whose covariance is factored; of more, functions are drawn by random Fourier features
_FEATURES, _BLOCKS = 1000, 2  # of these, and how often they are drawn anew


def drawn_jointly(posterior: Posterior, x: FloatArray, n: int, rng: Generator) -> FloatArray:
    """Return draws of what measurements at some points would give, all points together, shape (n, N).

    Up to 2,000 points by a factor of their covariance, beyond that by Matheron's rule ([1]_) with random Fourier
    features of the prior.
    """
    p, z = posterior, x / posterior.scales
    if len(x) <= _EXACT:
        mean, _, rows = p.at(x)
        covariance = p.signal * p.model.kernel(_squares(z, z)) - rows.T @ rows
        covariance[np.diag_indices(len(x))] += p.noise + 1e-6 * p.signal
        found: FloatArray = rng.standard_normal((n, len(x))) @ cholesky(covariance, lower=True).T
        return found + mean
    y, k, d = p.lower @ p.whitened, *p.known.shape
    waves, blocks = [], np.array_split(np.arange(n), _BLOCKS)
    for block in blocks:
        frequency = rng.standard_normal((d, _FEATURES))
        if p.model.family == "matern52":  # whose spectral density is a Student's t with 5 degrees of freedom
            frequency /= np.sqrt(rng.chisquare(5.0, _FEATURES) / 5.0)
        phase = 2.0 * np.pi * rng.random(_FEATURES)
        weight = rng.standard_normal((_FEATURES, len(block))) * np.sqrt(2.0 * p.signal / _FEATURES)
        own = p.own_noise[:, None] if isinstance(p, WeighedPosterior) else p.noise
        error = np.sqrt(own) * rng.standard_normal((k, len(block)))
        prior = np.cos(p.known @ frequency + phase) @ weight
        waves.append((frequency, phase, weight, cho_solve((p.lower, True), y[:, None] - prior - error)))
    found = np.sqrt(p.noise) * rng.standard_normal((n, len(x)))
    for start in range(0, len(x), 4096):
        part = slice(start, start + 4096)
        across = p.signal * p.model.kernel(_squares(z[part], p.known))
        for block, (frequency, phase, weight, gain) in zip(blocks, waves, strict=True):
            found[block, part] += (np.cos(z[part] @ frequency + phase) @ weight + across @ gain).T
    return found
