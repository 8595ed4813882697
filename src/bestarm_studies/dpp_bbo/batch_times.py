"""Times of choosing a batch, by candidates, size of the batch and rewards so far, beside BoTorch."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from bestarm.policies.batch_gp import lp_ucb, ucb_dpp_max, ucb_dpp_sample
from bestarm.streams import Streams
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms
from bestarm_studies.dpp_bbo.peer import QLogNEI

PEER = "qLogNEI"


def _searches(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the searches that are timed, by series; BoTorch's where it is installed."""
    found: dict[str, Any] = {
        "UCB-DPP-MAX": ucb_dpp_max(**given),
        "UCB-DPP-SAMPLE": ucb_dpp_sample(**given),
        "LP-UCB": lp_ucb(**given),
    }
    if find_spec("botorch") is not None:
        found[PEER] = QLogNEI(PEER, **given)
    else:
        print(f"{PEER} is left out of the times of a batch: BoTorch is not installed.", file=sys.stderr)
    return found


def batch_times(
    replications: int,
    problem: partial[CandidateArms],
    cells: Mapping[str, Mapping[int, tuple[int, int, int]]],
    *,
    seed: int = 0,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return the processor seconds of one batch: fitting the hyper-parameters, and choosing the arms.

    A search is given rewards of random arms; the fit to them and the choice of the next batch are timed, on other
    candidates in every replication, after one that compiles or imports. One processor, whatever ``workers``.

    Parameters
    ----------
    replications : int
        Repeats.
    problem : partial of an instance
        Candidates.
    cells : mapping of str to mapping of int to (int, int, int)
        What grows, its values, and for each the number of candidates, B and the number of rewards.

    Returns
    -------
    DataFrame
        ``convention, series, replication, grows, x, arms, batch, rewards, fit, choice``; the last two in seconds.
    """
    lines = []
    for grows, values in cells.items():
        for x, (n_arms, batch, n_rewards) in values.items():
            functions = problem(n_arms=n_arms, replications=replications)
            for series, policy in _searches({"batch": batch, "rounds": 1, "first": n_rewards}).items():
                for item in [0, *range(replications)]:
                    row = np.array([item])
                    part = functions.take(row)
                    state = policy.start(part.arms, Streams(seed, "times", row))
                    asked = policy.ask(state)
                    rewards = part.rewards(asked, part.arms.no_pulls(1), Streams(seed, "times", row))
                    began = time.process_time()
                    policy.tell(state, asked, rewards)
                    fitted = time.process_time()
                    policy.ask(state)
                    seconds = {"fit": fitted - began, "choice": time.process_time() - fitted}
                    where = {"grows": grows, "x": x, "arms": n_arms, "batch": batch, "rewards": n_rewards}
                    lines.append({"series": series, "replication": item, **where, **seconds})
    rows = pd.DataFrame(lines)
    # The first of each cell compiles or imports.
    later = rows.duplicated(["series", "grows", "x", "replication"]) | (rows["replication"] > 0)
    return rows[later].reset_index(drop=True).assign(convention="as_written")
