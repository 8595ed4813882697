"""A small search problem for tests of batched searches, and a run that keeps what was asked."""

from typing import Any

import numpy as np

from bestarm.interface import IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams


def hills(n: int = 5, n_arms: int = 60, sigma: float = 0.1) -> NoiselessArms:
    """Return a smooth function on random points, those of each replication its own."""
    x = np.random.default_rng(0).random((n, n_arms, 2))
    return NoiselessArms("hills", x, np.sin(5 * x[..., 0]) * np.cos(4 * x[..., 1]), sigma)


def run(policy: Any, problem: NoiselessArms, streams: Streams, fails: Any = None) -> tuple[Any, list[IntArray]]:
    """Return the state at the end and the arms of each round; ``fails`` says which rewards are NaN."""
    state, found = policy.start(problem.arms, streams), []
    pulled = problem.arms.no_pulls(len(streams.replications))
    while not policy.finished(state).all():
        asked = policy.ask(state)
        found.append(asked.arms)
        totals = problem.rewards(asked, pulled, streams)
        if fails is not None:
            totals = np.where(fails(asked, len(found) - 1), np.nan, totals)
        policy.tell(state, asked, totals)
    return state, found
