"""Other designs and roundings, other η, times, clusters, and the arms that LinUCB plays (conjecture of Appendix F)."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from bestarm.interface import IntArray
from bestarm.observe import Observed
from bestarm.policies.linear.peace import Peace
from bestarm.streams import Streams
from bestarm_lab.experiments.computation import Computation, computed
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import PerArm, Profile, Scale
from bestarm_lab.experiments.series import one_change
from bestarm_studies.gse.algorithms import FWG, LINEAR_GSE, OD_LINBAI, PAPER, lin_ucb, search
from bestarm_studies.gse.beyond.clusters import leverage_rows
from bestarm_studies.gse.beyond.run_times import run_times
from bestarm_studies.gse.instances import adaptive_instance, sphere_instance


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


def _stages(problem: partial[Any]) -> dict[str, Any]:
    return {
        "problem": problem,
        "series": one_change("GSE-Lin-FWG", FWG, {"η = 3": {"eta": 3}, "η = 4": {"eta": 4}, "η = K": {"eta": 1024}}),
        "vary": {"n_arms": [8, 16, 32]},
        "budgets": PerArm((10, 20, 50)),
    }


def _times(title: str, smoke: dict[str, Any], **settings: Any) -> Computation:
    profiles: dict[Profile, dict[str, Any]] = {"smoke": smoke, "laptop": {"replications": 10}}
    return Computation(title, partial(run_times, n_pulls=25_600, **settings), profiles=profiles, measured=True)


def _played(title: str, problem: partial[Any]) -> Experiment:
    """Return LinUCB at budgets from small to large, which of its arms it played being observed."""
    return search(
        f"LinUCB's arms, the most played and the average, {title}",
        problem,
        {"LinUCB": lin_ucb(6.32)},
        vary={"n_arms": [8, 16, 32]},
        budgets=PerArm((10, 100, 1000)),
        observe=PlayedArms,
        smoke=Scale(2, vary={"n_arms": [8]}, budgets=PerArm((10, 100))),
        laptop=Scale(200),
    )


EXPERIMENTS: dict[str, Experiment | Computation] = {
    "played_adaptive": _played("adaptive instance", partial(adaptive_instance)),
    "played_random": _played("random instances", partial(sphere_instance)),
    "designs": search(
        "Designs and roundings on random instances",
        partial(sphere_instance),
        one_change(
            "GSE-Lin-FWG",
            FWG,
            {
                "line search of Algorithm 2": {"allocation": "frank-wolfe"},
                "published line search": {"allocation": "coded-grid"},
                "Kumar-Yıldırım start": {"allocation": "kumar-yildirim"},
                "Wynn's steps": {"allocation": "wynn"},
                "Soare's greedy rule": {"allocation": "greedy"},
                "clusters": {"allocation": "clusters"},
                "uniform": {"allocation": "uniform"},
                "rounded up": {"rounding": "ceiling"},
                "multinomial": {"rounding": "multinomial"},
                "Allen-Zhu's rounding": {"rounding": "allen-zhu"},
                "all of the budget": {"spends_remainder": True},
            },
        ),
        vary={"n_arms": [8, 16, 32, 128]},
        budgets=PerArm((20,)),
        paper=Scale(4000, fewer={"n_arms": {128: 500}}),
    ),
    "line_search_adaptive": search(
        "Algorithm 2's line search, adaptive instance",
        partial(adaptive_instance),
        one_change("GSE-Lin-FWG", FWG, {"line search of Algorithm 2": {"allocation": "frank-wolfe"}}),
        vary={"n_arms": [8, 16, 32]},
        budgets=PerArm((10, 20, 50)),
        laptop=PAPER,
    ),
    "eta_adaptive": search("Other η, adaptive instance", **_stages(partial(adaptive_instance)), paper=Scale(20_000)),
    "eta_sphere": search("Other η, random instances", **_stages(partial(sphere_instance))),
    "growth_times": _times(
        "Time of a pull against K",
        {"replications": 2, "n_arms": [16], "n_pulls": 400},
        series={**LINEAR_GSE, "OD-LinBAI": OD_LINBAI},
        problem=partial(sphere_instance),
        n_arms=[16, 64, 256, 1024],
        per_arm=5,
    ),
    "peace_times": _times(
        "Time of a pull of Peace",
        {"replications": 2, "n_pulls": 1280},
        series={"GSE-Lin-FWG": FWG, "Peace": partial(Peace)},
        problem=partial(adaptive_instance),
        n_arms=[16, 32],
        per_arm=20,
    ),
    "bounds_clusters": computed(
        "Leverages of the example of Appendix H", 1, leverage_rows, smoke={"arms": (8,)}, arms=(8, 16, 32, 64)
    ),
}
