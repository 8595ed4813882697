"""The contract of a policy, as a check: what the loop, the door and a saved search expect of it.

In the manner of scikit-learn's ``check_estimator`` small searches are run, and the first thing that is wrong ends the
check with a line that says what was expected, what came, and how to mend it.
"""

import copy
import inspect
import pickle
import random
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bestarm.guards.protocol import Guarded, searched_kind
from bestarm.interface import Arms, Ask, FloatArray, IntArray, take_rows
from bestarm.partition import Partition
from bestarm.streams import Streams

Rewards = Callable[[IntArray], FloatArray]

ROUNDS, MANY_ROUNDS = 6, 16  # of a search that is looked at; more than arms, which may all be pulled first
REPLICATIONS = 5  # unlike the numbers of arms and of features, so that an axis tells which one it is
LONGEST = 400  # budgets and rounds up to this are spent to the end

_METHODS = {"start": ("arms", "streams"), "ask": ("state",), "tell": ("state", "asked", "totals")}
_METHODS |= {"finished": ("state",), "recommend": ("state",)}


def check_policy(policy: Any, arms: Arms | Partition | None = None, *, rewards: Rewards | None = None) -> None:
    """Check a policy against everything that `bestarm.interface.Policy` asks of it.

    It is a frozen record that pickles and copies; requests, ends and recommendations have the right shapes and kinds; a
    replication depends neither on the others, nor on their order, nor on anything random but its streams; rows of its
    state can be taken; failures, padding and pulls that were not made do no harm; with a budget or rounds it ends.

    Parameters
    ----------
    policy : Policy
        An object of the class, its settings small: a budget or rounds of at most 400 are spent to the end.
    arms : Arms or Partition, optional
        What is searched; by default 12 arms with 3 features or, where ``start`` says so, cells of the unit interval.
    rewards : callable, optional
        The reward of each arm, shape of ``arms``; by default other numbers in [0, 1] for other arms.

    Raises
    ------
    AssertionError
        With the first thing that is wrong, and its remedy.
    """
    policy = policy.policy if isinstance(policy, Guarded) else policy
    _check_record(policy)
    if arms is None:
        cells = searched_kind(policy) is Partition
        features = np.random.default_rng(3).standard_normal((12, 3)) / 2.0
        arms = Partition(arity=2, n_representatives=4) if cells else Arms(features)
    check = _Check(policy, arms, rewards or (lambda places: np.asarray(0.5 + 0.4 * np.sin(1.7 * places))))
    check.states()
    check.randomness()
    check.independence()
    check.rows()
    check.padding()
    check.failures()
    check.end()
    check.door()


def _check_record(policy: Any) -> None:
    """Check the policy as an object: a frozen dataclass with a label and the five methods."""
    name = policy.__name__ if isinstance(policy, type) else type(policy).__name__
    remedy = f"write check_policy({name}(...))"
    _expect(name, not isinstance(policy, type), "an object is wanted, got the class", remedy)
    parameters: Any = getattr(type(policy), "__dataclass_params__", None)
    what = "a policy is a frozen dataclass, so that it can be compared, saved and keyed; this is none"
    remedy = "write @dataclass(frozen=True) above the class"
    _expect(name, parameters is not None and parameters.frozen, what, remedy)
    label: Any = getattr(policy, "label", None)
    what = f"label must be a word, since rows and random draws are named by it, got {label!r}"
    _expect(name, isinstance(label, str) and label != "", what, 'add the field label: str = "..."')
    for method, wanted in _METHODS.items():
        found: Any = getattr(policy, method, None)
        remedy = f"write def {method}(self, {', '.join(wanted)})"
        _expect(label, callable(found), f"the method {method} is missing", remedy)
        given = len(inspect.signature(found).parameters)
        _expect(label, given == len(wanted), f"{method} takes {given} arguments where {len(wanted)} are given", remedy)
    try:
        same = pickle.loads(pickle.dumps(policy)) == policy and replace(policy) == policy
    except Exception as error:
        what = f"pickle and dataclasses.replace must copy the policy, and one fails ({error})"
        remedy = "keep settings only, of plain kinds or frozen dataclasses, no functions made on the spot"
        raise AssertionError(f"{label}: {what}; {remedy}.") from error
    what = "a copy by pickle or replace differs from the policy"
    _expect(label, same, what, "let equal settings make equal policies")


def _expect(label: str, holds: Any, what: str, remedy: str) -> None:
    """Raise one line where something does not hold."""
    if not holds:
        raise AssertionError(f"{label}: {what}; {remedy}.")


def _same_start(one: list[Any], other: list[Any]) -> bool:
    """Return whether two searches are the same as long as both go on."""
    return all(a == b for a, b in zip(one, other, strict=False))


class _Check:
    """A policy with something to search."""

    def __init__(self, policy: Any, arms: Any, rewards: Rewards) -> None:
        self.policy, self.arms, self.rewards = policy, arms, rewards
        self.expect = partial(_expect, policy.label)
        self.n_arms = int(arms.numbering[0][-1]) if isinstance(arms, Partition) else arms.n_arms

    def expect_array(self, values: Any, dtype: type, n_axes: int, n: int, what: str, remedy: str) -> None:
        """Raise one line where something is no array of this kind with n rows."""
        is_array = isinstance(values, np.ndarray)
        fits = is_array and values.dtype == dtype and values.ndim == n_axes and len(values) == n
        kind = f"{values.dtype} of shape {values.shape}" if is_array else repr(values)
        self.expect(fits, f"{what}, got {kind}", remedy)

    def start(self, replications: list[int], seed: int = 0) -> Any:
        """Return the state of these replications before the first pull."""
        given = copy.deepcopy(self.arms)
        state = self.policy.start(given, Streams(seed, "check", np.array(replications, dtype=np.int64)))
        same = not isinstance(given, Arms) or np.array_equal(given.features, self.arms.features)
        self.expect(same, "start changes the features of the arms that it is given", "copy them first")
        return state

    def totals(self, asked: Ask) -> FloatArray:
        """Return rewards of what was asked."""
        return np.asarray(asked.counts * self.rewards(asked.arms), dtype=np.float64)

    def ask(self, state: Any, n: int) -> Ask:
        """Return a request, after a look at its form."""
        asked = self.policy.ask(state)
        what = f"ask must return an Ask, got {type(asked).__name__}"
        self.expect(isinstance(asked, Ask), what, "write return Ask(arms, counts), of bestarm.interface")
        for name, values in zip(("arms", "counts"), asked, strict=True):
            what = f"{name} of ask must be int64 of shape ({n}, b), one row for each replication"
            remedy = "take np.int64 and one row for each replication, short rows filled up with counts of 0"
            self.expect_array(values, np.int64, 2, n, what, remedy)
        what = f"arms and counts of ask have shapes {asked.arms.shape} and {asked.counts.shape}"
        self.expect(asked.arms.shape == asked.counts.shape, what, "give one count for each arm")
        self.expect((asked.counts >= 0).all(), "ask returned a negative count", "count pulls from 0, which is padding")
        used = asked.arms[asked.counts > 0]
        wrong = used[(used < 0) | (used >= self.n_arms)]
        what = f"ask wants arm {wrong[:1]}, but arms are 0, ..., {self.n_arms - 1}"
        self.expect(wrong.size == 0, what, "number them as the rows of arms.features")
        return asked

    def finished(self, state: Any, n: int) -> Any:
        """Return which replications have stopped, after a look at its form."""
        over = self.policy.finished(state)
        what = f"finished must be bool of shape ({n},), one for each replication"
        self.expect_array(over, np.bool_, 1, n, what, "keep an array stopped of shape (R,) in the state")
        return over.copy()

    def recommend(self, state: Any, n: int) -> IntArray:
        """Return the recommendation, after a look at its form."""
        best = self.policy.recommend(state)
        remedy = "end with [:, None] where one arm is recommended, as in means.argmax(axis=1)[:, None]"
        what = f"recommend must be int64 of shape ({n}, n_best) at any time"
        self.expect_array(best, np.int64, 2, n, what, remedy)
        what = f"recommend names an arm outside 0, ..., {self.n_arms - 1}"
        self.expect(((best >= 0) & (best < self.n_arms)).all(), what, "recommend any arm while nothing is known")
        return np.array(best)

    def search(
        self,
        state: Any,
        n: int,
        rounds: int = ROUNDS,
        told: Callable[[int, Ask, FloatArray], tuple[Ask, FloatArray]] | None = None,
    ) -> list[list[list[tuple[int, int]]]]:
        """Return what each of n replications asked in each round: pairs of an arm and its count, 0 if recommended."""
        log: list[list[list[tuple[int, int]]]] = [[] for _ in range(n)]
        for turn in range(rounds):
            before = self.finished(state, n)
            asked = self.ask(state, n)
            over = self.finished(state, n)
            what = "a replication that had finished goes on after ask"
            self.expect(not (before & ~over).any(), what, "let finished only ever turn from False to True")
            what = "a replication that has finished still asks for pulls"
            remedy = "let ask decide that it stops, and set its counts to 0 then: what is asked before is pulled"
            self.expect(not asked.counts[over].any(), what, remedy)
            what = "a replication that has not finished asks for no pull"
            self.expect(asked.counts[~over].any(axis=1).all(), what, "ask for at least one, or finish")
            best = self.recommend(state, n)
            for r in np.flatnonzero(~before):
                pulled = asked.counts[r] > 0
                log[r].append(list(zip(asked.arms[r, pulled].tolist(), asked.counts[r, pulled].tolist(), strict=True)))
                log[r][-1] += [(arm, 0) for arm in best[r].tolist()]
            if over.all():
                break
            given, totals = Ask(asked.arms.copy(), asked.counts.copy()), self.totals(asked)
            if told is not None:
                given, totals = told(turn, given, totals)
            kept = given.arms.copy(), given.counts.copy(), totals.copy()
            self.policy.tell(state, given, totals)
            pairs = zip((*given, totals), kept, strict=True)
            same = all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)
            self.expect(same, "tell changes the arrays that it is told", "copy them first")
        return log

    def states(self) -> None:
        """Check that a state is a dataclass whose arrays have the leading axis R, or are declared as shared."""
        n = REPLICATIONS
        state = self.start(list(range(n)))
        kind = type(state).__name__
        remedy = "write @dataclass above the class of the state, so that its rows can be taken"
        is_record = is_dataclass(state) and not isinstance(state, type)
        self.expect(is_record, f"start must return a dataclass, got {kind}", remedy)
        for turn in range(2):
            for f in fields(state):
                value, where = getattr(state, f.name), f"the field {f.name} of {kind}"
                what = f"{where} is a generator, whose numbers depend on who else draws"
                remedy = "draw by name, as bestarm.streams.uniform(streams.key(label), replications, ...)"
                self.expect(not isinstance(value, np.random.Generator | np.random.RandomState), what, remedy)
                shape = value.shape if isinstance(value, np.ndarray) and not f.metadata.get("shared") else (n,)
                what = f"{where} has shape {shape}, whose first axis is not that of the {n} replications"
                remedy = "give it the leading axis R, or declare it by = shared(), of bestarm.interface"
                self.expect(shape[:1] == (n,), what, remedy)
            if turn == 0:
                asked = self.ask(state, n)
                if not self.finished(state, n).all():
                    self.policy.tell(state, asked, self.totals(asked))

    def randomness(self) -> None:
        """Check a recommendation at the start, and that the same streams alone make the same search."""
        self.recommend(self.start([0, 1, 2]), 3)
        logs = []
        for number in range(2):
            kept = np.random.get_state(), random.getstate()  # noqa: NPY002
            np.random.seed(number)  # noqa: NPY002
            random.seed(number)
            logs.append(self.search(self.start([0, 1, 2]), 3, MANY_ROUNDS))
            np.random.set_state(kept[0])  # noqa: NPY002
            random.setstate(kept[1])
        what = "two searches with the same streams chose otherwise"
        remedy = "draw from the streams alone, keep no memory in the policy, and draw no fresh or global random numbers"
        self.expect(logs[0] == logs[1], what, remedy)
        others = self.search(self.start([0, 1, 2], seed=1), 3, MANY_ROUNDS)
        differs = others != logs[0] or logs[0][0] == logs[0][1] == logs[0][2]
        what = "replications draw differently, but another seed of the streams changes nothing"
        self.expect(differs, what, "make the key of every draw by streams.key(...)")

    def independence(self) -> None:
        """Check that a replication, each with rewards of its own, is the same alone, among others, in another order."""

        def searched(numbers: list[int]) -> list[list[list[tuple[int, int]]]]:
            def told(turn: int, asked: Ask, totals: FloatArray) -> tuple[Ask, FloatArray]:
                places = (asked.arms + np.array(numbers)[:, None]) % self.n_arms
                return asked, np.asarray(asked.counts * self.rewards(places), dtype=np.float64)

            return self.search(self.start(numbers), len(numbers), MANY_ROUNDS, told)

        together = searched([0, 1, 2])
        for r in range(3):
            what = f"replication {r} chooses otherwise alone than among three"
            remedy = "draw by the number of the replication, streams.replications, and let no row look at another"
            self.expect(searched([r])[0] == together[r], what, remedy)
        same = searched([2, 0, 1]) == [together[2], together[0], together[1]]
        what, remedy = "the order of the replications changes their pulls", "draw by the number of the replication"
        self.expect(same, what, f"{remedy}, not by its place")

    def rows(self) -> None:
        """Check that some rows of a state go on as they would have, and copies of it, too."""
        whole = self.start([0, 1, 2])
        self.search(whole, 3, 2)
        try:
            some, copied = take_rows(whole, np.array([2, 0])), copy.deepcopy(whole)
        except Exception as error:
            what = f"{self.policy.label}: rows of the state cannot be taken ({error})"
            remedy = "let every array have the leading axis R or be declared by shared(), and __init__ take all fields"
            raise AssertionError(f"{what}; {remedy}.") from error
        left, went = self.search(some, 2, 3), self.search(copied, 3, 3)
        what = "after take_rows(state, rows) the rows that are left ask for other pulls"
        remedy = "keep whatever differs between replications in arrays of the state, with the leading axis R"
        self.expect(left == [went[2], went[0]], what, remedy)

    def padding(self) -> None:
        """Check that pulls that were not made teach nothing, and that fewer may be told than were asked."""

        def cut(rest: float) -> Callable[[int, Ask, FloatArray], tuple[Ask, FloatArray]]:
            def told(turn: int, asked: Ask, totals: FloatArray) -> tuple[Ask, FloatArray]:
                counts, rewards = asked.counts.copy(), totals.copy()
                counts[1] = 0
                return Ask(asked.arms, counts), np.where(counts == 0, rest, rewards)

            return told

        clean = self.search(self.start([0, 1, 2]), 3)
        logs = [self.search_of_others(cut(rest), f"a count of 0 with a total of {rest:g}") for rest in (0.75, -0.75)]
        same = all(_same_start(log[r], clean[r]) for log in logs for r in (0, 2))
        what = "pulls that were not made (a count of 0) in one replication change the others"
        self.expect(same, what, "let no row of totals reach another")
        remedy = "leave out entries with a count of 0, whatever their total"
        self.expect(logs[0] == logs[1], "the total beside a count of 0 changes the search", remedy)

        def fewer(turn: int, asked: Ask, totals: FloatArray) -> tuple[Ask, FloatArray]:
            counts = np.maximum(asked.counts - 1, 0)
            return Ask(asked.arms, counts), np.asarray(counts * self.rewards(asked.arms))

        self.search_of_others(fewer, "fewer pulls than were asked", rounds=2)

    def search_of_others(self, told: Any, what: str, rounds: int = 3) -> list[list[list[tuple[int, int]]]]:
        """Return a search of three replications that is told something unusual, which must not end in an error."""
        try:
            return self.search(self.start([0, 1, 2]), 3, rounds, told)
        except AssertionError:
            raise
        except Exception as error:
            ended = f"{self.policy.label}: {what} ended the search by {type(error).__name__} ({error})"
            raise AssertionError(f"{ended}; let tell pass over it.") from error

    def failures(self) -> None:
        """Check that failed evaluations do no harm, here or in another replication."""

        def failed(turn: int, asked: Ask, totals: FloatArray) -> tuple[Ask, FloatArray]:
            totals[0] = np.nan
            totals[1, turn % 2 :: 2] = np.nan
            return asked, totals

        clean = self.search(self.start([0, 1, 2]), 3)
        with np.errstate(invalid="ignore"):
            log = self.search_of_others(failed, "a reward of NaN, a failed evaluation,", rounds=ROUNDS)
        what = "failed evaluations (NaN) in one replication change another"
        self.expect(_same_start(log[2], clean[2]), what, "let no row of totals reach another")

    def end(self) -> None:
        """Check that a search with a budget or rounds ends, even if everything fails."""
        for name in ("budget", "rounds"):
            limit: Any = getattr(self.policy, name, None)
            if not isinstance(limit, int) or limit > LONGEST:
                continue
            ways = {"": None, " in which every evaluation failed": lambda _, asked, totals: (asked, totals * np.nan)}
            for said, told in ways.items():
                state = self.start([0])
                self.search(state, 1, limit + 2, told)
                what = f"the search has a setting {name} of {limit} and has not ended after {limit + 2} rounds{said}"
                remedy = "count what was asked, failed evaluations included, and finish"
                self.expect(self.finished(state, 1).all(), what, remedy)

    def door(self) -> None:
        """Check that the policy can be used behind the guards."""
        guarded = Guarded(self.policy)
        state = guarded.start(self.arms, Streams.first(2))
        for _ in range(2):
            asked = guarded.ask(state)
            if guarded.finished(state).all():
                return
            guarded.tell(state, asked, self.totals(asked))
