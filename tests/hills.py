"""Searches that keep what was asked and told, and a small problem for batched ones."""

from typing import Any

import numpy as np

from bestarm.interface import IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams


def hills(n: int = 5, n_arms: int = 60, sigma: float = 0.1) -> NoiselessArms:
    """Return a smooth function on random points, those of each replication its own."""
    x = np.random.default_rng(0).random((n, n_arms, 2))
    return NoiselessArms("hills", x, np.sin(5 * x[..., 0]) * np.cos(4 * x[..., 1]), sigma)


def searched(policy: Any, problem: Any, streams: Streams, most: int = 10**9, fails: Any = None) -> tuple[Any, list]:
    """Return the state at the end or after ``most`` rounds, and what was asked and told in each."""
    state, log = policy.start(problem.arms, streams), []
    pulled = problem.arms.no_pulls(len(streams.replications))
    while len(log) < most and not policy.finished(state).all():
        asked = policy.ask(state)
        if policy.finished(state).all():
            break
        totals = problem.rewards(asked, pulled, streams)
        # ``fails`` says of a request and its number which rewards are NaN
        log.append((asked, totals if fails is None else np.where(fails(asked, len(log)), np.nan, totals)))
        policy.tell(state, *log[-1])
    return state, log


def run(policy: Any, problem: NoiselessArms, streams: Streams, fails: Any = None) -> tuple[Any, list[IntArray]]:
    state, log = searched(policy, problem, streams, fails=fails)
    return state, [asked.arms for asked, _ in log]
