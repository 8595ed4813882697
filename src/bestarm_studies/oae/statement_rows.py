"""Counts behind exact statements: sizes of the UCI sets, and networks that a batch takes."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from bestarm.policies.oae import NetworkSearch
from bestarm_lab.datasets.registry import available
from bestarm_studies.oae.network_counts import networks_per_batch
from bestarm_studies.oae.uci import UCI_SETS, stand_in_uci_instance, uci_instance


def size_rows(replications: int, *, seed: int, workers: int = 1) -> pd.DataFrame:
    """Return how many points and attributes each UCI set has; columns ``series, replication, points, attributes``."""
    lines = []
    for name, about in UCI_SETS.items():
        problem = uci_instance(name) if available(about.file) else stand_in_uci_instance(name)
        points, attributes = problem.features.shape
        lines.append({"series": name, "points": points, "attributes": attributes, "data": problem.data})
    return pd.DataFrame(lines).assign(replication=0)


def network_rows(
    replications: int, searches: Mapping[str, NetworkSearch], *, seed: int, workers: int = 1
) -> pd.DataFrame:
    """Return how many networks each search trains for a batch; columns ``series, replication, networks``."""
    counts = {name: networks_per_batch(policy) for name, policy in searches.items()}
    return pd.DataFrame({"series": list(counts), "replication": 0, "networks": list(counts.values())})
