"""The check of a policy: every policy of the library passes, and each kind of mistake is told by its own line."""

import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from every_policy import ARMS, EVERY, arms_for, rewards_of, rounds_of, started
from refusals import refused, refuses

import bestarm
from bestarm.interface import Arms, Ask, shared
from bestarm.partition import Partition
from bestarm.policies.batch_search import BatchSearch
from bestarm.streams import Streams, uniform

JOINT = pytest.mark.xfail(strict=True, reason="the first rounds of the authors' code look at all replications at once")
POLICIES = [pytest.param(p, id=n, marks=[JOINT] if n == "GPOO as coded" else []) for n, p in EVERY.items()]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_of_the_library_passes(policy):
    """Rewards of a logistic model are 0 or 1."""
    logistic = getattr(policy, "model", None) == "logistic"
    bestarm.check_policy(policy, rewards=(lambda arms: arms % 2.0) if logistic else None)


@pytest.mark.parametrize("policy", EVERY.values(), ids=EVERY)
def test_a_recommendation_at_any_time_is_of_different_arms_disturbs_nothing_and_is_kept(policy):
    """Before the first pull, between ask and tell and afterwards; batch searches hand out a view of their state."""
    quiet, state = started(policy, 3), started(policy, 3)
    handed = [policy.recommend(state)]
    copies = [handed[0].copy()]
    for asked in rounds_of(policy, quiet, 40):
        same = policy.ask(state)
        handed.append(policy.recommend(state))
        np.testing.assert_array_equal(same, asked)
        policy.tell(state, same, rewards_of(policy, same))
        handed.append(policy.recommend(state))
        copies += [one.copy() for one in handed[-2:]]
    assert isinstance(policy, BatchSearch) or np.array_equal(handed, copies)
    np.testing.assert_array_equal(policy.recommend(quiet), copies[-1])
    assert (np.diff(np.sort(copies, axis=2), axis=2) > 0).all()


@pytest.mark.parametrize("name", [name for name, p in EVERY.items() if arms_for(p) is ARMS])
def test_arms_of_each_replication_are_searched_as_if_alone(name):
    policy, x = EVERY[name], np.random.default_rng(12).standard_normal((3, 12, 3)) / np.arange(1, 4)[:, None, None]
    together = policy.start(Arms(x), Streams.first(3))
    alone = [policy.start(Arms(x[r]), Streams.first(3).take(np.array([r]))) for r in range(3)]
    for asked in rounds_of(policy, together, 40):
        for r, state in enumerate(alone):
            own = policy.ask(state)
            assert asked.arms[r][asked.counts[r] > 0].tolist() == own.arms[own.counts > 0].tolist()
            np.testing.assert_array_equal(asked.counts[r][asked.counts[r] > 0], own.counts[own.counts > 0])
            policy.tell(state, own, rewards_of(policy, own))
    for r, state in enumerate(alone):
        np.testing.assert_array_equal(policy.recommend(state)[0], policy.recommend(together)[r])


@dataclass
class Means:
    """What the policy below knows: sums and numbers of rewards, how often it asked, and where it has stopped."""

    sums: Any
    pulls: Any
    rounds: Any
    stopped: Any
    replications: Any
    key: Any = shared()
    prior: Any = shared()


@dataclass(frozen=True)
class EpsilonGreedy:
    """The largest mean, and now and then a random arm: a policy as the documentation describes it."""

    budget: int = 12
    epsilon: float = 0.3
    label: str = "epsilon-greedy"

    def start(self, arms: Arms, streams: Streams) -> Means:
        n = len(streams.replications)
        nothing, never = np.zeros((n, arms.n_arms)), np.zeros(n, np.int64)
        key = streams.key(self.label)
        return Means(nothing, nothing.copy(), never, never > 0, streams.replications, key, np.zeros(3))

    def ask(self, state: Means) -> Ask:
        draws = [uniform(state.key, r, t, 0) for r, t in zip(state.replications, state.rounds, strict=True)]
        where = [uniform(state.key, r, t, 1) for r, t in zip(state.replications, state.rounds, strict=True)]
        guess = (np.array(where) * state.sums.shape[1]).astype(np.int64)
        arms = np.where(np.array(draws) < self.epsilon, guess, self.recommend(state)[:, 0])[:, None]
        state.stopped = state.rounds >= self.budget
        counts = (~state.stopped).astype(np.int64)[:, None]
        state.rounds += counts[:, 0]
        return Ask(arms, counts)

    def tell(self, state: Means, asked: Ask, totals: Any) -> None:
        rows, places = np.nonzero((asked.counts > 0) & ~np.isnan(totals))
        np.add.at(state.sums, (rows, asked.arms[rows, places]), totals[rows, places])
        np.add.at(state.pulls, (rows, asked.arms[rows, places]), asked.counts[rows, places])

    def finished(self, state: Means) -> Any:
        return state.stopped

    def recommend(self, state: Means) -> Any:
        return (state.sums / np.maximum(state.pulls, 1)).argmax(axis=1)[:, None]


def test_a_policy_written_from_the_documentation_passes():
    """With its default, with other arms, behind the guards, in a search and in the loop."""
    bestarm.check_policy(EpsilonGreedy())
    bestarm.check_policy(EpsilonGreedy(), Arms(np.eye(4)))
    bestarm.check_policy(bestarm.Guarded(EpsilonGreedy()))
    search = bestarm.Search(np.eye(4), EpsilonGreedy())
    while not search.finished:
        search.tell(search.ask().assign(reward=1.0))
    assert len(search.history) == 12
    refuses(lambda: bestarm.Search(Partition(), EpsilonGreedy()), "epsilon-greedy searches Arms, got a Partition")


class Mutable(EpsilonGreedy):
    __dataclass_params__ = None


def mistaken(name: str, *settings: Any, **methods: Any) -> Any:
    """Return a class with a mistake: these methods (or fields) take the place of those of the policy above."""
    made = dataclass(frozen=True)(type(name, (EpsilonGreedy,), methods | {"__module__": __name__}))
    globals()[name] = made  # where pickle looks for it
    return made(*settings)


def rising(self, state):
    """Ask for an arm by a list in the state, which take_rows leaves whole."""
    asked, own = Old.ask(self, state), zip(state.prior, state.replications, strict=False)
    state.prior[:] = [p + int(r) + int(state.key % 3) + 1 for p, r in own]
    return Ask(np.array(state.prior)[: len(asked.arms), None] % 5, asked.counts)


def restarted(self, state):
    asked = Old.ask(self, state)
    state.stopped = np.zeros(len(state.rounds), np.bool_)
    return Ask(asked.arms, np.ones_like(asked.counts))


def least_known(state):
    return (state.pulls.sum(axis=0) + 0.1 * state.sums.sum(axis=0)).argmin()


def counting_padding(self, state, asked, totals):
    Old.tell(self, state, Ask(asked.arms, np.ones_like(asked.counts)), totals)


def every_arm_first(self, state):
    """Look at other replications once each arm was pulled."""
    asked, turn = Old.ask(self, state), int(state.rounds.max()) - 1
    return Ask(np.full_like(asked.arms, turn if turn < 12 else least_known(state)), asked.counts)


def by_rewards(self, state):
    state.rounds[:] = state.pulls.sum(axis=1)  # failed evaluations are none
    return Old.ask(self, state)


def fragile(self, state, asked, totals):
    if np.isnan(totals).any():
        raise ZeroDivisionError("no reward")
    Old.tell(self, state, asked, totals)


def overwriting(self, state, asked, totals):
    Old.tell(self, state, asked, totals)
    totals -= 1.0


def asking(change: Any) -> Any:
    return lambda self, state: change(Old.ask(self, state))


def starting(change: Any) -> Any:
    return lambda self, arms, streams: replace(Old.start(self, arms, streams), **change(arms, streams))


Old = EpsilonGreedy
NAMELESS = replace(mistaken("Nameless"), label=None)
UNPICKLABLE = mistaken(
    "Unpicklable", schedule=field(default_factory=lambda: lambda t: t), __annotations__={"schedule": Any}
)
SHORT = mistaken("Short", tell=lambda self, state, asked: None)
PLAIN_STATE = mistaken("PlainState", start=lambda self, arms, streams: vars(Old.start(self, arms, streams)))
UNDECLARED = mistaken("Undeclared", start=starting(lambda arms, streams: {"sums": np.zeros(arms.n_arms)}))
TUPLES = mistaken("Tuples", ask=asking(tuple))
FLAT = mistaken("Flat", ask=asking(lambda asked: Ask(asked.arms[:, 0], asked.counts[:, 0])))
FROM_ONE = mistaken("FromOne", ask=asking(lambda asked: Ask(asked.arms + 12, asked.counts)))
INSATIABLE = mistaken("Insatiable", 3, ask=asking(lambda asked: Ask(asked.arms, np.ones_like(asked.counts))))
EARLY = mistaken("Early", 3, finished=lambda self, state: state.rounds >= self.budget)
ENDLESS = mistaken("Endless", 4, ask=restarted)
CENTRES = mistaken("Centres", start=starting(lambda arms, _: {"key": np.subtract(arms.features, 1, arms.features)}))
RANDOM_END = mistaken("RandomEnd", recommend=lambda _, state: np.full((len(state.sums), 1), random.randrange(12)))
LATE_GOSSIP = mistaken("LateGossip", 30, ask=every_arm_first)
ONE_ANSWER = mistaken(
    "OneAnswer", recommend=lambda self, state: Old.recommend(self, state)[:, 0], ask=lambda _, state: Old().ask(state)
)
GLOBAL_DRAWS = mistaken(
    "GlobalDraws",
    ask=asking(lambda asked: Ask(np.random.randint(0, 5, asked.arms.shape), asked.counts)),  # noqa: NPY002
)
FRESH_DRAWS = mistaken(
    "FreshDraws", ask=asking(lambda asked: Ask(np.random.default_rng().integers(0, 5, asked.arms.shape), asked.counts))
)
SEEDLESS = mistaken("Seedless", start=starting(lambda arms, streams: {"key": np.uint64(7)}))
BY_PLACE = mistaken("ByPlace", start=starting(lambda _, s: {"replications": np.arange(len(s.replications))}))
GOSSIP = mistaken("Gossip", recommend=lambda self, state: np.full((len(state.sums), 1), least_known(state)))
HIDDEN_LIST = mistaken("HiddenList", start=starting(lambda _, s: {"prior": [0] * len(s.replications)}), ask=rising)
LEARNS_PADDING = mistaken("LearnsPadding", 12, 0.0, tell=counting_padding)
FRAGILE = mistaken("Fragile", tell=fragile)
COUNTS_REWARDS = mistaken("CountsRewards", 4, ask=by_rewards)
OVERWRITES = mistaken("Overwrites", tell=overwriting)


test_each_mistake_is_told_by_its_own_line = refused(
    lambda policy: bestarm.check_policy(policy),
    (EpsilonGreedy, r"EpsilonGreedy: an object is wanted, got the class; write check_policy\(EpsilonGreedy\("),
    (Mutable(), r"Mutable: a policy is a frozen dataclass, .*; write @dataclass\(frozen=True\) above the class"),
    (NAMELESS, "Nameless: label must be a word, .* got None; add the field label: str"),
    (UNPICKLABLE, "pickle and dataclasses.replace must copy the policy, and one fails .*; keep settings only"),
    (SHORT, r"tell takes 2 arguments where 3 are given; write def tell\(self, state, asked, totals\)"),
    (PLAIN_STATE, "start must return a dataclass, got dict; write @dataclass above the class of the state"),
    (UNDECLARED, r"the field sums of Means has shape \(12,\), whose first axis is not that of the 5 repl"),
    (TUPLES, r"ask must return an Ask, got tuple; write return Ask\(arms, counts\)"),
    (FLAT, r"arms of ask must be int64 of shape \(\d, b\), .* got int64 of shape \(\d,\); take np.int64"),
    (FROM_ONE, r"ask wants arm \[\d+\], but arms are 0, ..., 11; number them as the rows of arms.features"),
    (INSATIABLE, "a replication that has finished still asks for pulls; let ask decide .* counts to 0 then"),
    (EARLY, "a replication that has finished still asks for pulls; let ask decide that it stops"),
    (ENDLESS, "the search has a setting budget of 4 and has not ended after 6 rounds; count what was"),
    (ONE_ANSWER, r"recommend must be int64 of shape \(3, n_best\) at any time, got int64 of shape \(3,\)"),
    (GLOBAL_DRAWS, "two searches with the same streams chose otherwise; draw from the streams alone"),
    (FRESH_DRAWS, "two searches with the same streams chose otherwise; draw from the streams alone"),
    (SEEDLESS, "another seed of the streams changes nothing; make the key of every draw by streams.key"),
    (BY_PLACE, "replication 1 chooses otherwise alone than among three; draw by the number of the replication"),
    (GOSSIP, "replication . chooses otherwise alone than among three; .* let no row look at another"),
    (LATE_GOSSIP, "replication . chooses otherwise alone than among three; .* let no row look at another"),
    (RANDOM_END, "two searches with the same streams chose otherwise; draw from the streams alone"),
    (CENTRES, "start changes the features of the arms that it is given; copy them first"),
    (HIDDEN_LIST, r"after take_rows\(state, rows\) the rows that are left ask for other pulls; keep whatev"),
    (LEARNS_PADDING, "the total beside a count of 0 changes the search; leave out entries with a count of 0"),
    (FRAGILE, r"a reward of NaN, a failed evaluation, ended the search by ZeroDivisionError \(no reward\)"),
    (COUNTS_REWARDS, "has not ended after 6 rounds in which every evaluation failed; count"),
    (OVERWRITES, "tell changes the arrays that it is told; copy them first"),
    error=AssertionError,
    within=r"({}).*\.$".format,
)
