r"""Pure exploration is greedy maximisation of the determinant: gains, batch by batch, on drawn functions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.gp_state import BatchGPState
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.watched import watched
from bestarm_studies.dpp_bbo.asked_batch import dpp_kernel, hallucinated, relevance_regions
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms
from bestarm_studies.dpp_bbo.values import ROUNDING, Rows, Test


def exploration_rows(
    policy: BatchGP, problem: partial[CandidateArms], replications: int, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return, for each batch of pure exploration, whether its arms are those of greedy maximisation.
    The DPP kernel is formed from the prior, and has :math:`1+\sigma_{t-1}^2/\sigma^2` as the gain of an arm.
    ``repeats``: an arm is asked for twice, as a subset cannot be; if not, ``gain_error`` is the largest difference of a
    gain over 1 + variance / noise from 1, and ``beyond``, by how much the largest gain of an arm that is not in the
    batch yet exceeds that of the arm taken, relatively."""

    def look(state: BatchGPState, part: CandidateArms) -> list[dict[str, Any]] | None:
        batch, lines = hallucinated(state), []
        if not batch:
            return None
        first, last = batch.start, batch.stop
        inside = relevance_regions(policy, state)
        for r, replication in enumerate(state.replications):
            region, arms = np.flatnonzero(inside[r]), state.conditioned[r, first + 1 : last]
            line = {"replication": int(replication), "batch": state.round, "gain_error": np.nan, "beyond": np.nan}
            lines.append(line | {"repeats": len(set(arms)) < len(arms)})
            if lines[-1]["repeats"]:
                continue
            kernel, places = dpp_kernel(state, r, region), np.searchsorted(region, arms)
            gains, taken = np.diagonal(kernel).copy(), np.zeros((0, len(region)))
            errors, beyond = [], []
            for b, place in enumerate(places):
                gain = state.pivots[r, first + 1 + b] ** 2 / state.noise[r]
                errors.append(abs(gains[place] / gain - 1.0))
                beyond.append(float(np.delete(gains, places[:b]).max() / gain - 1.0))
                row = (kernel[place] - taken[:, place] @ taken) / np.sqrt(gains[place])
                taken, gains = np.vstack([taken, row]), gains - row**2
            lines[-1] |= {"gain_error": max(errors), "beyond": max(beyond)}
        return lines

    return watched(policy, problem(replications=replications), look, replications, seed=seed)


def exploration_is_greedy(test: Test, rows: Rows) -> Decision:
    """Check that every arm of pure exploration has the largest gain in determinant, as greedy maximisation takes it.
    Each gain must be 1 + variance / noise, and the largest of the region's arms that are not in the batch yet."""
    (name,) = test["experiments"]
    repeats = rows[name]["repeats"].to_numpy(dtype=np.bool_)
    mine = rows[name][~repeats]
    beyond, largest = max(0.0, float(mine["beyond"].max())), float(mine["gain_error"].max())
    text = f"{len(mine)} batches: no arm has a gain larger by more than {beyond:.0e}, gains are 1 + variance / noise "
    text += f"to {largest:.0e}; {repeats.sum()} more batches in which exploration repeats an arm, as a subset cannot"
    return Decision(max(beyond, largest) < ROUNDING, text, informative=len(mine) > 0, checked=f"{len(mine)} batches")
