r"""The oracle of top-m identification with fixed confidence: it knows the means and pulls by the best fixed design.

References
----------
.. [1] Garivier, Kaufmann. "Optimal Best Arm Identification with Fixed Confidence". COLT 2016. Tracking.
"""

from dataclasses import dataclass

import numpy as np

from bestarm.designs.characteristic_time import characteristic_time
from bestarm.interface import Arms, Ask, FloatArray, shared
from bestarm.policies.linear.gifa import Gifa, GifaState
from bestarm.streams import Streams


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
