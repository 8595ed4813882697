r"""The oracle of top-m identification with fixed confidence: the best fixed design, and the policy that tracks it.

References
----------
.. [1] Garivier, Kaufmann. "Optimal Best Arm Identification with Fixed Confidence". COLT 2016. Theorem 1, tracking.
.. [2] Réda, Tirinzoni, Degenne. "Dealing With Misspecification In Fixed-Confidence Linear Top-m Identification".
   NeurIPS 2021. Theorem 1, for a linear model.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestarm.designs.direction_design import xy_design
from bestarm.designs.projection import span_basis
from bestarm.interface import Arms, Ask, FloatArray, shared
from bestarm.policies.linear.gifa import Gifa, GifaState
from bestarm.streams import Streams


class CharacteristicTime(NamedTuple):
    """The best fixed design.

    ``time``: T*: no algorithm with risk delta needs fewer than T* kl(delta, 1 - delta) pulls on average; ``weights``
    (ndarray, shape (n_arms,)): share of each arm in the pulls."""

    time: float
    weights: FloatArray


def characteristic_time(features: FloatArray, means: FloatArray, n_best: int, sigma: float) -> CharacteristicTime:
    r"""Solve :math:`T^* = \min_w\max_{i, a} 2\sigma^2\|x_i-x_a\|^2_{V_w^{-1}}/(\mu_i-\mu_a)^2`, i best and a not.

    It is the design for the directions :math:`(x_i-x_a)/(\mu_i-\mu_a)` by `xy_design`, in general within 2%. The cost
    of a step is that of the m (K - m) pairs times d and the arms. ``features``, ``means`` (ndarray, shapes (n_arms,
    n_features) and (n_arms,)): arms and their true means, in units of reward; ``n_best``: m; ``sigma``: standard
    deviation of a reward, in units of reward. Raises ValueError if means are missing or not finite, or the m best are
    not unique."""
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
    x = np.ascontiguousarray(x @ span_basis(x))
    weights = np.empty(len(x))
    least = xy_design(x, (x[best][:, None] - x[others]).reshape(-1, x.shape[1]) / gaps[:, None], weights)
    return CharacteristicTime(2.0 * sigma**2 * least, weights)


@dataclass
class OracleState(GifaState):
    """The state of the algorithm, and the best fixed design."""

    design: FloatArray = shared()  # (K,)


@dataclass(frozen=True)
class OracleTracking(Gifa):
    r"""Track the weights of `characteristic_time`, and stop as m-LinGapE does: a yardstick, no policy for real arms.

    It pulls the arm farthest behind :math:`t w^*` [1]_ and stops when the gap index of every pair is at most
    ``epsilon``, for paired indices the generalised likelihood ratio at :math:`C_{t,\delta}^2/2`. With the stopping rule
    of the policies that it is compared with, what they need beyond its pulls is the price of not knowing the means.

    Parameters
    ----------
    means : tuple of float
        True means of the arms, in units of reward. The other settings are those of `Gifa`.
    """

    label: str = "oracle"
    n_best: int = 1
    means: tuple[float, ...] = ()

    def start(self, arms: Arms, streams: Streams) -> OracleState:
        """Return the state before the first pull; refuses where true means are not given, or arms differ by run."""
        if arms.features.ndim == 3:
            raise ValueError(f"the oracle knows one set of arms, got {len(arms.features)}; run it for each.")
        design = characteristic_time(arms.features, np.array(self.means), self.n_best, self.sigma).weights
        return OracleState(**vars(super().start(arms, streams)), design=design)

    def ask(self, state: GifaState) -> Ask:
        """Stop where the rule holds; elsewhere pull the arm farthest behind the design."""
        asked = super().ask(state)
        if not state.initialised or not isinstance(state, OracleState):
            return asked
        behind = state.pulls.sum(axis=1, keepdims=True) * state.design - state.pulls
        return Ask(behind.argmax(axis=1)[:, None], asked.counts)
