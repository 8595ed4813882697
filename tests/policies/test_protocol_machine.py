"""Random sequences of asking and telling, right and wrong, against a model of the protocol."""

import warnings
from dataclasses import replace

import numpy as np
from every_policy import AT_THE_DOOR, rewards_of, started
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from refusals import refuses

from bestarm.guards.protocol import NothingLearned, forget_asked, waiting
from bestarm.interface import Ask

# compiled once, small, and of every family
NAMES = ["LUCB", "m-LinGapE", "LinGame", "LinGapE", "GSE-Lin", "OD-LinBAI", "LinUCB", "UCB-GLM", "BayesGap", "GPOO"]
NAMES += ["StoOO", "grid", "random batches", "linear OAE", "GP-BUCB"]


class Protocol(RuleBasedStateMachine):
    """A user who asks, tells, tells twice, mixes up requests, sends rubbish, and copies states.

    The model knows the request that waits; every call must do what the model expects: an answer, or a clear error.
    """

    @initialize(name=st.sampled_from(NAMES), n=st.integers(1, 3))
    def begin(self, name, n):
        """Start a search, and one beside it that is only ever told the truth."""
        self.policy = AT_THE_DOOR[name]
        self.state, self.clean = started(self.policy, n), started(self.policy, n)
        self.now = self.last = None
        self.tracked = True

    def over(self):
        return bool(self.policy.finished(self.clean).all())

    def expect_error(self, asked, totals):
        refuses(lambda: self.policy.tell(self.state, asked, totals), r"\.$")

    @precondition(lambda self: self.now is None and not self.over())
    @rule()
    def ask(self):
        """Both searches ask the same; then the request waits."""
        self.now, same = self.policy.ask(self.state), self.policy.ask(self.clean)
        np.testing.assert_array_equal(self.now.arms, same.arms)
        np.testing.assert_array_equal(self.now.counts, same.counts)
        assert np.array_equal(waiting(self.state).arms, self.now.arms)
        self.tracked = True

    @precondition(lambda self: self.now is not None)
    @rule(fails=st.booleans(), as_lists=st.booleans())
    def tell(self, fails, as_lists):
        """The truth is accepted, failures included, as arrays or as lists."""
        totals = np.where(fails & (self.now.arms % 2 == 0), np.nan, rewards_of(self.policy, self.now))
        self.policy.tell(self.clean, self.now, totals)
        asked = Ask(self.now.arms.tolist(), self.now.counts.tolist()) if as_lists else self.now
        self.policy.tell(self.state, asked, totals.tolist() if as_lists else totals)
        self.now, self.last = None, self.now

    @precondition(lambda self: self.now is None and self.last is not None and self.tracked)
    @rule()
    def tell_twice(self):
        """What was told is refused."""
        self.expect_error(self.last, rewards_of(self.policy, self.last))

    @precondition(lambda self: self.now is not None and self.last is not None)
    @rule()
    def tell_the_last_but_one(self):
        """An older request is refused, unless the same is asked again."""
        if not (np.array_equal(self.now.arms, self.last.arms) and (self.last.counts <= self.now.counts).all()):
            self.expect_error(self.last, rewards_of(self.policy, self.last))

    @precondition(lambda self: self.now is not None and self.now.counts.any())
    @rule(
        kind=st.sampled_from(["inf", "huge", "words", "none", "shape", "arm", "negative", "more"]),
        by=st.sampled_from([1, 7, 10**4, 10**9, 2**62]),
    )
    def tell_rubbish(self, kind, by):
        """Nothing of it is learned."""
        totals, (arms, counts) = rewards_of(self.policy, self.now), self.now
        place = tuple(np.argwhere(counts > 0)[0])
        far = arms.copy()
        far[place] = -by
        bad = totals.copy()
        bad[place] = {"inf": np.inf, "huge": -1e200}.get(kind, 0.0)
        rubbish = {
            "inf": (self.now, bad),
            "huge": (self.now, bad),
            "words": (self.now, totals.astype(str)),
            "none": (self.now, None),
            "shape": (self.now, totals[:, :-1]),
            "arm": (Ask(far, counts), totals),
            "negative": (Ask(arms, np.where(counts > 0, -by, 0)), totals),
            "more": (Ask(arms, counts + by), totals),
        }
        self.expect_error(*rubbish[kind])

    @rule()
    def recommend(self):
        """An answer at any time; a warning at most."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingLearned)
            found = self.policy.recommend(self.state)
        assert found.shape[0] == len(self.state.replications)
        np.testing.assert_array_equal(found, self.policy.recommend(replace(self.clean)))

    @precondition(lambda self: self.now is None)
    @rule(copy=st.booleans())
    def forget(self, copy):
        """A copy, which keeps its record, or a state whose request is forgotten, goes on from where it was."""
        if copy:
            self.state = replace(self.state)
        else:
            forget_asked(self.state)
            self.tracked = False


Protocol.TestCase.settings = settings(
    max_examples=40, stateful_step_count=20, suppress_health_check=list(HealthCheck), derandomize=True
)
TestProtocol = Protocol.TestCase
