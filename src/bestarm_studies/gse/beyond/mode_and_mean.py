"""The arm that a search played most beside the average of those that it played: the conjecture of Appendix F."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from bestarm.interface import IntArray
from bestarm.observe import Observed
from bestarm.streams import Streams


@dataclass
class PlayedArms(Observed):
    """A policy with ``pulls`` under observation.

    ``agrees`` is whether the arm that it recommends, the one played most, is also the arm nearest to the average of the
    feature vectors that it played; ``distance`` is how far the two are apart, over the mean distance of two arms."""

    columns: ClassVar[tuple[str, ...]] = ("agrees", "distance")

    problem: Any

    def start(self, arms: Any, streams: Streams) -> Any:
        """Start the policy, and remember features and state."""
        features, feature_set = arms.feature_sets(len(streams.replications))
        self._features, self._state = features[feature_set], super().start(arms, streams)
        return self._state

    def findings(self, replications: IntArray) -> pd.DataFrame:
        """Return a row for each run."""
        x, pulls = self._features, self._state.pulls
        average = np.einsum("rk,rkd->rd", pulls / pulls.sum(axis=1, keepdims=True), x)
        apart = np.linalg.norm(x - average[:, None], axis=2)
        mode = self.recommend(self._state)[:, 0]
        scale = np.linalg.norm(x[:, :, None] - x[:, None], axis=3).sum(axis=(1, 2)) / (x.shape[1] * (x.shape[1] - 1))
        rows = np.arange(len(mode))
        table = {"agrees": apart.argmin(axis=1) == mode, "distance": apart[rows, mode] / scale}
        return pd.DataFrame({"replication": replications, **table})
