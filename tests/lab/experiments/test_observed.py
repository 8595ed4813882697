"""What is seen of a search in every round, as rows."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from bestarm.policies.linear.gse import Gse
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.experiments.observed import watched
from bestarm_studies.gse.instances import sphere_instance

PROBLEM = partial(sphere_instance, n_arms=6, n_features=3)
POLICY = Gse(40, allocation="g-optimal")


def pulls(state, problem):
    return {"replication": state.replications, "pulls": state.spent.copy()}


def test_rows_come_round_by_round_from_the_choices_of_the_search():
    seen = watched(POLICY, PROBLEM(), pulls, 5, seed=3)
    ends = simulate(POLICY, PROBLEM().take(np.arange(5)), Streams(3, PROBLEM().label, np.arange(5)), metrics={})
    assert seen.groupby("replication")["pulls"].first().tolist() == [0] * 5
    assert seen.groupby("replication")["pulls"].last().tolist() == ends["pulls"].tolist()


@pytest.mark.parametrize("block", [1, 2, 5])
def test_what_is_seen_depends_on_no_block(block):
    both = (watched(POLICY, PROBLEM(), pulls, [4, 1, 7], seed=3, block=b) for b in (None, block))
    whole, parts = (rows.sort_values(["replication", "pulls"], ignore_index=True) for rows in both)
    pd.testing.assert_frame_equal(whole, parts)


def test_a_look_may_give_frames_mappings_lists_or_nothing():
    def some(state, problem):
        n = int(state.spent.sum())
        return None if n == 0 else [{"pulls": n, "arms": problem.features.shape[-2]}]

    listed = watched(POLICY, PROBLEM(), some, 1, seed=3)
    framed = watched(POLICY, PROBLEM(), lambda s, p: pd.DataFrame(some(s, p) or []), 1, seed=3)
    assert (listed["pulls"] > 0).all()
    pd.testing.assert_frame_equal(listed, framed, check_dtype=False)
