"""The loop: rows and their order, compaction, cuts, records on the way, padded requests."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from refusals import refused, refusing

from bestarm.interface import Ask, shared, take_rows
from bestarm.policies.linear.gifa import Gifa, LinGifa, Lucb, MLinGape, Ugape
from bestarm.policies.linear.lingame import LinGame
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import correct, simple_regret
from bestarm_studies.linear_topm.drug_instance import RecordedRewards
from bestarm_studies.linear_topm.instances import classic_instance

SEED = 20261120
METRICS = {"correct": correct, "simple_regret": simple_regret}
PROBLEM = classic_instance(4, 2, np.pi / 3)


def streams_of(n_replications: int, problem=PROBLEM) -> Streams:
    return Streams.first(n_replications, seed=SEED, instance=problem.label)


@dataclass
class ScriptState:
    left: np.ndarray  # rounds to go, shape (R,)
    sums: np.ndarray  # totals by arm, shape (R, K)
    pulls: np.ndarray  # shape (R, K)
    told: np.ndarray = shared()  # number of replications at each call of tell


@dataclass(frozen=True)
class Script:
    """Replication r asks for ``n_rounds[r]`` rounds, each with 3 requests of which the middle one is padding."""

    n_rounds: tuple[int, ...]
    label: str = "script"

    def start(self, arms, streams):
        n = len(streams.replications)
        left = np.array(self.n_rounds)[streams.replications]
        return ScriptState(left, np.zeros((n, arms.n_arms)), np.zeros((n, arms.n_arms), dtype=np.int64), np.array([]))

    def ask(self, state):
        return Ask(np.tile([2, 0, 1], (len(state.left), 1)), np.where(state.left[:, None] > 0, [[2, 0, 1]], 0))

    def tell(self, state, asked, totals):
        for r in range(len(totals)):
            np.add.at(state.sums[r], asked.arms[r], totals[r])
            np.add.at(state.pulls[r], asked.arms[r], asked.counts[r])
        state.left = state.left - (state.left > 0)
        state.told = np.append(state.told, len(totals))

    def finished(self, state):
        return state.left <= 0

    def recommend(self, state):
        return state.sums.argmax(axis=1)[:, None]


def test_a_request_with_padding_pulls_what_it_counts():
    """Three pulls a round: rows say rounds, pulls and the recommendation of exactly these rewards."""
    n_rounds = (3, 1, 5, 0, 2)
    frame = simulate(Script(n_rounds), PROBLEM, streams_of(5), metrics=METRICS)
    assert list(frame.columns) == ["replication", "round", "pulls", "stopped", "correct", "simple_regret"]
    np.testing.assert_array_equal(frame["replication"], range(5))
    np.testing.assert_array_equal(frame["round"], n_rounds)
    np.testing.assert_array_equal(frame["pulls"], 3 * np.array(n_rounds))
    assert frame["stopped"].all()
    sums, pulled = np.zeros((5, 4)), np.zeros((5, 4), dtype=np.int64)
    for i in range(5):
        counts = np.where(np.array(n_rounds)[:, None] > i, [[2, 1]], 0)
        sums[:, [2, 1]] += PROBLEM.rewards(Ask(np.tile([2, 1], (5, 1)), counts), pulled, streams_of(5))
    np.testing.assert_array_equal(frame["correct"], correct(PROBLEM, sums.argmax(axis=1)[:, None]))
    assert set(frame["correct"]) == {0, 1}


@refusing(
    ({"arms": lambda arms: arms + 3}, r"script: ask wants arm 5, but arms are 0, ..., 3"),
    ({"arms": lambda arms: arms - 2}, r"ask wants arm -1, but arms are 0, ..., 3"),
    ({"arms": lambda arms: arms.astype(float)}, r"arms of what ask returns must be an array of int64, .* got float64"),
    ({"counts": lambda counts: counts[:, :1]}, r"arms and counts of one shape, got \(2, 3\) and \(2, 1\)"),
    ({"counts": lambda counts: -counts}, r"ask returns a count of -2; counts are at least 0"),
    ({"ask": tuple}, r"ask must return Ask\(arms, counts\), got a tuple"),
    ({"recommended": lambda arms: arms - 5}, r"recommend returns arms .*, but arms are 0, ..., 3"),
    ({"recommended": lambda arms: arms[:, 0].tolist()}, r"recommend must return an array of whole numbers"),
)
def test_what_a_policy_must_not_return_is_refused_before_compiled_code_reads_it(changed):
    def same(value):
        return value

    class Wrong(Script):
        def ask(self, state):
            arms, counts = super().ask(state)
            return changed.get("ask", same)(Ask(changed.get("arms", same)(arms), changed.get("counts", same)(counts)))

        def recommend(self, state):
            return changed.get("recommended", same)(super().recommend(state))

    simulate(Wrong((2, 2)), PROBLEM, streams_of(2), metrics=METRICS)


def test_finished_replications_leave_the_arrays_when_they_are_half():
    """The policy is told of 8 replications, then of ever fewer, never of more than twice those that search."""
    n_rounds = (1, 2, 3, 4, 5, 6, 7, 8)
    told = []

    class Watched(Script):
        def tell(self, state, asked, totals):
            told.append((len(totals), int((state.left > 0).sum())))
            super().tell(state, asked, totals)

    frame = simulate(Watched(n_rounds), PROBLEM, streams_of(8), metrics=METRICS)
    np.testing.assert_array_equal(frame["round"], n_rounds)
    assert [total for total, _ in told] == [8, 8, 8, 8, 4, 4, 2, 1]
    assert all(total < 2 * searching or total == searching for total, searching in told)


def test_a_state_is_taken_apart_by_rows_except_what_is_shared():
    """Arrays with an axis of replications lose rows, shared ones and everything else stay."""
    state = ScriptState(np.arange(4), np.eye(4), np.ones((4, 2), dtype=np.int64), np.arange(7.0))
    part = take_rows(state, np.array([3, 1]))
    np.testing.assert_array_equal(part.left, [3, 1])
    np.testing.assert_array_equal(part.sums, np.eye(4)[[3, 1]])
    assert part.told is state.told
    part.left[0] = 99
    assert state.left[3] == 3


@pytest.mark.parametrize(
    "policy",
    [Lucb(2, threshold="heuristic"), MLinGape(2, selection="optimised"), LinGifa(2).as_coded(), Ugape(2), None],
    ids=["LUCB", "m-LinGapE", "LinGIFA", "UGapE", "LinGame"],
)
def test_compaction_changes_nothing(policy):
    """Forty replications that stop at different times give the rows of forty runs of one replication."""
    problem = PROBLEM if policy else classic_instance(4, 1, np.pi / 3)
    policy, streams = policy or LinGame(), streams_of(40, problem)
    together = simulate(policy, problem, streams, metrics=METRICS)
    alone = [simulate(policy, problem, streams.take(np.array([r])), metrics=METRICS) for r in range(40)]
    assert together["pulls"].nunique() > 10
    pd.testing.assert_frame_equal(together, pd.concat(alone, ignore_index=True), check_exact=True)


def test_compaction_keeps_the_arms_of_each_replication():
    """Problems with their own arms in each replication, or with shared arms and their own means, are compacted too."""
    rng = np.random.default_rng(3)
    features, theta = rng.standard_normal((10, 4, 3)), rng.standard_normal((10, 3))
    streams, policy = Streams.first(10, seed=SEED, instance="own"), MLinGape(2, threshold="heuristic")
    for x in (features, features[0]):
        together = simulate(policy, LinearBandit("own", x, theta), streams, metrics=METRICS, max_pulls=1000)
        for r in range(10):
            one = LinearBandit("own", x[r] if x.ndim == 3 else x, theta[r])
            alone = simulate(policy, one, streams.take(np.array([r])), metrics=METRICS, max_pulls=1000)
            pd.testing.assert_frame_equal(together.iloc[[r]].reset_index(drop=True), alone, check_exact=True)


def test_a_cut_replication_is_marked_and_the_others_go_on():
    """No row spends more than ``max_pulls``; those that stop below it are as they would be without a cut."""
    policy, streams = MLinGape(2), streams_of(40)
    free = simulate(policy, PROBLEM, streams, metrics=METRICS)
    limit = int(free["pulls"].median())
    cut = simulate(policy, PROBLEM, streams, metrics=METRICS, max_pulls=limit)
    np.testing.assert_array_equal(cut["stopped"], free["pulls"] <= limit)
    assert 0 < cut["stopped"].sum() < 40
    assert (cut.loc[~cut["stopped"], "pulls"] == limit).all()
    np.testing.assert_array_equal(cut[cut["stopped"]], free[cut["stopped"]])
    assert set(cut["correct"]) <= {0.0, 1.0}


def test_a_request_that_does_not_fit_is_not_made_in_part():
    """Three pulls a round and a budget of 7: two rounds, six pulls; a budget of 2 allows none."""
    for limit, rounds in ((7, 2), (6, 2), (2, 0)):
        frame = simulate(Script((5, 1)), PROBLEM, streams_of(2), metrics=METRICS, max_pulls=limit)
        np.testing.assert_array_equal(frame["round"], [rounds, min(rounds, 1)])
        np.testing.assert_array_equal(frame["pulls"], 3 * frame["round"])
        np.testing.assert_array_equal(frame["stopped"], [False, limit > 2])


def test_a_cut_replication_is_told_nothing_more():
    """Also when its later requests would fit: after the cut it neither pulls nor learns."""

    class Shrinking(Script):
        """Asks for 6 pulls, then for 2 at a time."""

        def ask(self, state):
            n = np.where(state.pulls.sum(axis=1) == 0, 6, 2) * (state.left > 0)
            return Ask(np.zeros((len(n), 1), dtype=np.int64), n[:, None])

    seen = []

    class Watched(RecordedRewards):
        def rewards(self, asked, pulled, streams):
            seen.append(dict(zip(streams.replications.tolist(), asked.counts[:, 0].tolist(), strict=True)))
            return super().rewards(asked, pulled, streams)

    class Uneven(Shrinking):
        """Replication 0 asks for 20 pulls at once in its second round, then again for 2."""

        def ask(self, state):
            asked = super().ask(state)
            asked.counts[(state.left == 5) & (np.arange(len(state.left)) == 0)] = 20
            return asked

    problem = Watched("ones", np.eye(3), np.ones((2, 3)))
    frame = simulate(Uneven((6, 6, 6, 6)), problem, streams_of(4, problem), metrics=METRICS, max_pulls=16)
    assert frame["pulls"].tolist() == [6, 16, 16, 16]
    assert frame["stopped"].tolist() == [False, True, True, True]
    assert [counts.get(0, 0) for counts in seen] == [6, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("every", [1, 7])
def test_records_on_the_way_add_rows_and_change_none(every):
    """One row each ``every`` rounds from the start, and the end; ordered by replication, then round."""
    policy, streams = Lucb(2, threshold="heuristic"), streams_of(12)
    final = simulate(policy, PROBLEM, streams, metrics=METRICS)
    frame = simulate(policy, PROBLEM, streams, metrics=METRICS, every=every)
    assert frame.equals(frame.sort_values(["replication", "round"], ignore_index=True))
    pd.testing.assert_frame_equal(frame.groupby("replication").tail(1).reset_index(drop=True), final)
    for r, rows in frame.groupby("replication"):
        last = int(final.loc[r, "round"])
        assert rows["round"].tolist() == sorted({*range(0, last + 1, every), last})
        np.testing.assert_array_equal(rows["pulls"], np.where(rows["round"] == 0, 0, rows["round"] + 3))
        assert rows["stopped"].tolist() == [False] * (len(rows) - 1) + [True]


def test_progress_is_reported_each_round():
    rounds = []
    simulate(Script((3, 5)), PROBLEM, streams_of(2), metrics=METRICS, on_round=rounds.append)
    assert rounds == [1, 2, 3, 4, 5]


test_impossible_limits_are_refused = refused(
    lambda settings: simulate(Script((1,)), PROBLEM, streams_of(1), metrics=METRICS, **settings),
    ({"max_pulls": 0}, "max_pulls must be at least 1, got 0"),
    ({"every": 0}, "every must be at least 1, got 0"),
)


def test_a_policy_that_neither_asks_nor_finishes_is_stopped():
    class Idle(Gifa):
        """A policy whose every round is padding."""

        def ask(self, state):
            return Ask(np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1), dtype=np.int64))

    idle = Idle(label="idle", n_best=1, index="classical", threshold="lucb1")
    with pytest.raises(RuntimeError, match="idle asked for no pull in round 0"):
        simulate(idle, classic_instance(3, 1, 0.5), Streams.first(1), metrics={})
