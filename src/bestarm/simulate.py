"""The only loop: a policy asks, a problem answers, for many replications at once."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray, IntArray, Policy, Problem, check_asked, check_recommended, take_rows
from bestarm.streams import Streams

Metric = Callable[[Any, IntArray], FloatArray]

MAX_PULLS = 10_000_000


def simulate(
    policy: Policy[Any],
    problem: Problem,
    streams: Streams,
    *,
    metrics: Mapping[str, Metric],
    max_pulls: int = MAX_PULLS,
    every: int | None = None,
    on_round: Callable[[int], None] | None = None,
) -> pd.DataFrame:
    """Run a policy on a problem until every replication has stopped or has spent ``max_pulls``.

    Time grows with the number of rounds times (a fixed overhead, about 30 microseconds, plus the policy's cost for
    each replication still searching); memory with the policy's state.

    Parameters
    ----------
    policy : Policy
        What asks.
    problem : Problem
        What answers.
    streams : Streams
        Names the replications and their random numbers.
    metrics : mapping of str to function
        Each maps (problem, recommended) to one value for each replication, see `bestarm_lab.metrics`.
    max_pulls : int
        A replication that would ask beyond so many pulls is cut and marked ``stopped = False``.
    every : int, optional
        Record each replication every so many rounds as well; by default only its end.
    on_round : callable, optional
        Called with the number of the round, for progress.

    Returns
    -------
    DataFrame
        One row for each replication and recorded round: ``replication, round, pulls, stopped``, then the metrics;
        ordered by replication, then round.
    """
    if max_pulls < 1:
        raise ValueError(f"max_pulls must be at least 1, got {max_pulls}.")
    if every is not None and every < 1:
        raise ValueError(f"every must be at least 1, got {every}.")
    state = policy.start(problem.arms, streams)
    pulled = problem.arms.no_pulls(len(streams.replications))
    pulls = np.zeros(len(streams.replications), dtype=np.int64)
    over = np.zeros(len(streams.replications), dtype=np.bool_)
    rows: list[dict[str, Any]] = []
    n_rounds = 0
    while True:
        asked = policy.ask(state)
        check_asked(policy.label, problem.arms, asked, streams.replications)
        asked_pulls = asked.counts.sum(axis=1)
        stopped = policy.finished(state)
        cut = pulls + asked_pulls > max_pulls
        ended = (stopped | cut) & ~over
        recorded = ended | (~over & (every is not None and n_rounds % every == 0))
        if recorded.any():
            recommended = policy.recommend(state)
            check_recommended(policy.label, problem.arms, recommended, streams.replications)
            rows.append(
                _rows(np.flatnonzero(recorded), n_rounds, pulls, stopped, recommended, problem, streams, metrics)
            )
        over |= ended
        if over.all():
            break
        if not asked_pulls[~over].any():
            raise RuntimeError(
                f"{policy.label} asked for no pull in round {n_rounds} and has not finished; "
                "a policy must do one or the other."
            )
        if 2 * over.sum() >= len(over):  # half of the work would be for nothing
            kept = np.flatnonzero(~over)
            state, problem, streams = take_rows(state, kept), problem.take(kept), streams.take(kept)
            asked = type(asked)(asked.arms[kept], asked.counts[kept])
            pulled = take_rows(pulled, kept)
            pulls, over, asked_pulls = pulls[kept], over[kept], asked_pulls[kept]
        elif cut.any():
            asked = type(asked)(asked.arms, np.where(over[:, None], 0, asked.counts))
        policy.tell(state, asked, problem.rewards(asked, pulled, streams))
        pulls += asked_pulls
        n_rounds += 1
        if on_round is not None:
            on_round(n_rounds)
    frame = pd.concat([pd.DataFrame(r) for r in rows], ignore_index=True)
    return frame.sort_values(["replication", "round"], ignore_index=True)


def _rows(
    kept: IntArray,
    n_rounds: int,
    pulls: IntArray,
    stopped: Any,
    recommended: IntArray,
    problem: Problem,
    streams: Streams,
    metrics: Mapping[str, Metric],
) -> dict[str, Any]:
    values: dict[str, FloatArray] = {name: metric(problem, recommended)[kept] for name, metric in metrics.items()}
    return {
        "replication": streams.replications[kept],
        "round": np.full(len(kept), n_rounds),
        "pulls": pulls[kept],
        "stopped": stopped[kept],
        **values,
    }
