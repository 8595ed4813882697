"""Counts of the networks that a search trains for each batch (Appendix E.2.2), and the check of what they cost."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.policies.networks.oae import NetworkSearch
from bestarm.streams import Streams
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.oae.landscapes import landscape


def networks_per_batch(policy: NetworkSearch) -> int:
    """Return how many networks a search trains for its second batch; the first batch is random.
    Counted on a small landscape with one step of Adam a fit: the cost of a batch except for predictions."""
    counted = 0
    search = replace(policy, rounds=2, steps=1)
    fit: Callable[..., FloatArray] = search.fit_and_predict

    def fit_and_count(state: Any, rewards: FloatArray, *settings: Any, **named: Any) -> FloatArray:
        nonlocal counted
        counted += rewards.shape[0] * rewards.shape[1]
        return fit(state, rewards, *settings, **named)

    object.__setattr__(search, "fit_and_predict", fit_and_count)
    arms = landscape("OneHillValleyOneDim", n_arms=3 * policy.batch).take(np.zeros(1, dtype=np.int64))
    state = search.start(arms.arms, Streams.first(1, instance=arms.label))
    first = search.ask(state)
    search.tell(state, first, np.take_along_axis(arms.means, first.arms, axis=1))
    search.ask(state)
    return counted


def network_rows(replications: int, searches: dict[str, NetworkSearch], *, seed: int, workers: int = 1) -> pd.DataFrame:
    """Return how many networks each search trains for a batch; columns ``series, replication, networks``."""
    counts = {name: networks_per_batch(policy) for name, policy in searches.items()}
    return pd.DataFrame({"series": list(counts), "replication": 0, "networks": list(counts.values())})


def cost_of_sequence(test: Test, tables: Rows) -> Decision:
    """Check that a sequential batch trains at least ``at_least`` times as many networks as a plain one.
    ``pairs`` names for each sequential series a plain one."""
    (name,) = test["experiments"]
    counts = tables[name].set_index("series")["networks"]
    holds, texts = True, []
    for series, base in test["pairs"].items():
        many, few = counts[series], counts[base]
        holds &= bool(many >= test["at_least"] * few)
        texts.append(f"{series} trains {many} networks a batch, {base} {few}")
    return Decision(holds, "; ".join(texts))


CHECKS = {"cost_of_sequence": Check(cost_of_sequence, {"pairs": "any", "at_least": "number"})}
