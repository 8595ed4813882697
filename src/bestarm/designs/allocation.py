"""Allocations of a stage's pulls to the live arms: a design and a rounding, chosen by name.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Sections 6
   and 8, Appendices C and H.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bestarm.designs.cluster_allocation import cluster_counts
from bestarm.designs.greedy_design import greedy_counts
from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.designs.rounding import RoundingMethod, round_design, uniform_counts
from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.settings import check_settings

Allocation = Literal[
    "uniform",
    "g-optimal",
    "frank-wolfe",
    "coded-grid",
    "kumar-yildirim",
    "wynn",
    "fedorov",
    "greedy",
    "coded-greedy",
    "coded-ellipsoid",
    "clusters",
]

DESIGNS: dict[str, DesignRule] = {
    "g-optimal": DesignRule("d-optimal"),
    "frank-wolfe": DesignRule("frank-wolfe", max_steps=200),
    "coded-grid": DesignRule("grid", max_steps=100),
    "kumar-yildirim": DesignRule("d-optimal", start="kumar-yildirim"),
    "wynn": DesignRule("wynn"),
    "fedorov": DesignRule("d-optimal", tolerance=1e-3),
    "coded-ellipsoid": DesignRule("d-optimal", start="kumar-yildirim", tolerance=1e-9, max_steps=5000),
}

# allocation and rounding in the authors' code of [1]_
CODED: dict[str, tuple[Allocation, RoundingMethod]] = {
    "g-optimal": ("coded-grid", "ceiling"),
    "frank-wolfe": ("coded-grid", "ceiling"),
    "wynn": ("fedorov", "multinomial"),
    "greedy": ("coded-greedy", "apportionment"),
}


@dataclass(frozen=True)
class AllocationRule:
    """A way to spread pulls.

    ``name``: "uniform"; an optimal design, by its solver: "g-optimal" (steps on the determinant with away steps, which
    reach the optimum), "frank-wolfe" ([1]_, Algorithm 2 as printed), "coded-grid" (its form in the authors' code),
    "kumar-yildirim" (their start, Appendix C), "wynn" (steps of 1, 1/2, 1/3, ...), "fedorov" (Wynn's method in the
    authors' code), "coded-ellipsoid" (as "kumar-yildirim", but solved until arms that the optimum can do without have
    no weight, as by the solver of ellipsoids that their OD-LinBAI calls); "greedy" (Soare et al. 2014), "coded-greedy"
    (with an intercept); "clusters" (Appendix H); ``rounding`` ({"apportionment", "ceiling", "multinomial",
    "allen-zhu"}): from a design's weights to whole numbers; only optimal designs are rounded; ``zero_arms``: whether
    optimal designs are solved for with the live arms at the origin among them. Raises ValueError for an unknown name.
    """

    name: Allocation
    rounding: RoundingMethod = "apportionment"
    zero_arms: bool = False

    def __post_init__(self) -> None:
        check_settings(self)

    def counts(
        self,
        features: FloatArray,
        feature_set: IntArray,
        live: BoolArray,
        budget: IntArray,
        key: np.uint64,
        replications: IntArray,
        stage: int,
    ) -> IntArray:
        """Return how often to pull each arm, shape (R, K).

        Designs that use no random numbers are solved once for each set of features and live arms. ``features``,
        ``feature_set`` (ndarray, shapes (n_sets, K, d) and (R,)): sets of features, and which of them each replication
        has; ``live``, ``budget`` (ndarray, shapes (R, K) and (R,)): arms that may be pulled, and the pulls of the
        stage; ``key``, ``replications``, ``stage``: name the random choices."""
        if self.name == "uniform":
            return uniform_counts(live, budget, key, replications, stage)
        if self.name == "clusters":
            return cluster_counts(features[feature_set], live, budget, key=key, replications=replications, time=stage)
        if self.name in ("greedy", "coded-greedy"):
            first, same = _distinct(feature_set, live, budget)
            counts = greedy_counts(
                features[feature_set[first]], live[first], budget[first], intercept=self.name == "coded-greedy"
            )
            return counts[same]
        return round_design(
            self.weights(features, feature_set, live, key, replications),
            budget,
            self.rounding,
            key,
            replications,
            stage,
            features[feature_set] if self.rounding == "allen-zhu" else None,
        )

    def weights(
        self, features: FloatArray, feature_set: IntArray, live: BoolArray, key: np.uint64, replications: IntArray
    ) -> FloatArray:
        """Return the weights of the optimal design that is rounded, shape (R, K); arrays are those of `counts`."""
        rule = DESIGNS[self.name]
        if rule.start == "uniform":
            first, same = _distinct(feature_set, live)
        else:
            first = same = np.arange(len(live))
        design = optimal_design(
            features[feature_set[first]],
            live[first],
            rule,
            zero_arms=self.zero_arms,
            key=key,
            replications=replications[first],
        )
        return design.weights[same]


def _distinct(feature_set: IntArray, live: BoolArray, budget: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Return the first replication of each kind, and of which kind each replication is."""
    columns = [feature_set[:, None].view(np.uint8).reshape(len(live), -1), np.packbits(live, axis=1)]
    if budget is not None:
        columns.append(budget[:, None].view(np.uint8).reshape(len(live), -1))
    _, first, same = np.unique(np.concatenate(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    return first, same.reshape(-1)
