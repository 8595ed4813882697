r"""The posterior of a search that has asked for a batch and knows no reward of it."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.batch_rules import UpperBound
from bestarm.policies.gaussian.gp_acquisition import ucb_width
from bestarm.policies.gaussian.gp_state import LOG, BatchGPState

_ROUNDING = 1e-9
_WIDTH = LOG.index("width")


def hallucinated(state: BatchGPState) -> range:
    """Return the rows of the batch that a state hallucinates: none before the first batch and after the last."""
    return range(int(state.n_known[0]), int(state.n_rows[0]))


def before_batch(state: BatchGPState) -> FloatArray:
    """Return the variances given the known rewards alone, shape (R, n_arms)."""
    batch = hallucinated(state)
    return np.asarray(state.variances + (state.rows[:, batch.start : batch.stop] ** 2).sum(axis=1))


def relevance_regions(policy: BatchGP, state: BatchGPState, as_coded: bool = False) -> BoolArray:
    r"""Return which arms the relevance region of the batch has, shape (R, n_arms).
    The paper's reaches up by :math:`2\beta_{t+1}^{1/2}`, with EST by twice the present width; that of Contal's software
    (``as_coded``) by the present width."""
    deviations, means, width = np.sqrt(before_batch(state)), state.means, state.log[:, [_WIDTH]]
    reach = width if as_coded else 2.0 * width
    bound = policy.acquisition
    if isinstance(bound, UpperBound) and not as_coded:
        turn = state.round + (policy.first == 0)
        reach = np.array(2.0 * ucb_width(means.shape[1], turn + 1, bound.delta, bound.beta_scale))
    lowest = (means - width * deviations).max(axis=1, keepdims=True)
    return np.asarray(means + reach * deviations >= lowest - _ROUNDING)


def dpp_kernel(state: BatchGPState, replication: int, region: IntArray, b: int = 1) -> FloatArray:
    r"""Return :math:`L=I+\sigma^{-2}k_{t,b}` of a region after the first b arms of the batch, shape (n, n)."""
    r = replication
    points = (state.points[state.point_set[r]][:, region] / state.lengthscales[r][:, None]).T
    rows = state.rows[r, : state.n_known[r] + b][:, region]
    prior = state.constant + state.signal[r] * np.exp(-0.5 * cdist(points, points, "sqeuclidean"))
    return np.asarray(np.eye(len(region)) + (prior - rows.T @ rows) / state.noise[r])
