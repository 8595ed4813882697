r"""GP-BUCB and B-EST after the first stage that their theorem asks for: arms of largest variance until little is left.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Theorem 3.2, appendix.
.. [2] Desautels, Krause, Burdick. "Parallelizing Exploration-Exploitation Tradeoffs in Gaussian Process Bandit
   Optimization". JMLR 2014. The two-stage form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from bestarm.interface import Ask
from bestarm.policies.batch_gp import BatchGP
from bestarm.policies.batch_rules import Hallucinate
from bestarm.policies.gp_state import LOG
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms
from bestarm_studies.dpp_bbo.event_rows import blocks
from bestarm_studies.dpp_bbo.gp_draws import kernel_matrix
from bestarm_studies.dpp_bbo.theory import first_stage

_WIDTH = LOG.index("width")


def two_stage_rows(
    searches: Sequence[BatchGP],
    problem: partial[CandidateArms],
    replications: int,
    level: float,
    *,
    seed: int = 0,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return the full cumulative regret of searches after a first stage as long as the theorem needs it.

    The first stage evaluates arms of largest variance, in batches, until B - 1 more can tell at most ``level`` of
    information about any other; then widths are inflated by :math:`C'=e^C` with C that level.

    Parameters
    ----------
    searches : sequence of BatchGP
        That hallucinate, with known hyper-parameters; ``rounds`` are those of the second stage.
    problem : partial of gp_draw_instance
        Functions.
    replications : int
        Functions that are searched.
    level : float
        C, in nats.

    Returns
    -------
    DataFrame
        ``convention, series, replication``; ``first_stage`` and ``evaluations``, those of the first stage and of both;
        ``first_regret`` and ``regret``, the same of the regret; ``width``, the largest in the second stage, without
        ``inflation``, which is C'; ``largest``, :math:`\|f\|_\infty`; ``trivial``, the regret of worst arms alone.
    """
    functions, frames = problem(replications=replications), []
    for search in searches:
        prior = kernel_matrix(functions.features, float(np.ravel(search.model.lengthscale)[0]))
        size = search.batch
        first = -(-first_stage(prior, search.model.noise, size, level) // size)  # batches
        if not isinstance(search.rule, Hallucinate):
            raise ValueError(f"{search.label} must hallucinate to have a first stage, got {search.rule}; take gp_bucb.")
        rule = replace(search.rule, inflation=float(np.exp(level)))
        policy = replace(search, first=0, rounds=first + search.rounds, rule=rule)
        for part, streams in blocks(functions, replications, seed):
            state, pulled = policy.start(part.arms, streams), part.arms.no_pulls(len(streams.replications))
            best, spent, first_regret = part.means.max(axis=1), np.zeros(len(part.means)), np.zeros(len(part.means))
            width = np.zeros(len(part.means))
            for turn in range(policy.rounds):
                if turn < first:
                    arms = np.empty((len(spent), size), dtype=np.int64)
                    for b in range(size):
                        arms[:, b] = state.variances.argmax(axis=1)
                        state.condition(arms[:, b : b + 1])
                    asked = Ask(arms, np.ones_like(arms))
                else:
                    asked = policy.ask(state)
                    width = np.maximum(width, state.log[:, _WIDTH] / rule.inflation)
                policy.tell(state, asked, part.rewards(asked, pulled, streams))
                spent += (best[:, None] - np.take_along_axis(part.means, asked.arms, axis=1)).sum(axis=1)
                if turn == first - 1:
                    first_regret = spent.copy()
            n = policy.rounds * size
            frames.append(
                pd.DataFrame(
                    {
                        "series": search.label,
                        "replication": streams.replications,
                        "first_stage": first * size,
                        "evaluations": n,
                        "first_regret": first_regret,
                        "regret": spent,
                        "width": width,
                        "inflation": rule.inflation,
                        "largest": np.abs(part.means).max(axis=1),
                        "trivial": n * np.ptp(part.means, axis=1),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True).assign(convention="as_written")
