"""What every policy refuses to be told, in one line and before anything is learned, and what it accepts."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from every_policy import AT_THE_DOOR, CELLS, arms_for, rewards_of, rounds_of, started
from refusals import refused, refuses

from bestarm import lin_ucb, m_lingape
from bestarm.guards.protocol import EverythingFails, Guarded, GuardedState, NothingLearned, forget_asked, waiting
from bestarm.interface import Arms, Ask, take_rows
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.streams import Streams

POLICIES = pytest.mark.parametrize("policy", AT_THE_DOOR.values(), ids=AT_THE_DOOR.keys())


def says(policy, state, asked, totals, message):
    refuses(lambda: policy.tell(state, asked, totals), rf"({message}).*\.$")


def bad_tellings(asked, totals):
    """Return what must not be told in the place of these totals, with a part of the message."""
    n, b = asked.arms.shape
    place = tuple(np.argwhere(asked.counts > 0)[0])
    infinite, large = totals.copy(), totals.copy()
    infinite[place], large[place] = np.inf, -1e308
    shape = "totals must have the shape of the arms"
    wrong = [np.array(0.5), totals[0], totals[:, :0], np.ones((n + 2, b)), np.ones((n, b + 1)), np.ones((b + 3, n))]
    for other in [*wrong, *([totals[:, : b - 1]] if b > 1 else [])]:
        yield asked, other, shape
    yield asked, infinite, "NaN for an evaluation that failed; got an infinite one"
    yield asked, large, r"at most 1e\+150 in size"
    yield asked, totals + 1j, "totals must be real numbers"
    yield asked, totals.astype(str), "totals must be real numbers"
    yield asked, [[None] * b] * n, "totals must be real numbers"
    yield asked, "0.5", "totals must be real numbers.* got '0.5'"
    yield asked, None, "totals must be real numbers.* got None"
    yield totals, totals, "tell wants what ask returned.*got ndarray"
    absent = "does not exist: arms are 0, .*tell what was asked|is not what the last ask"
    for shift in (60, 1000, 10**6, 10**17, -40, -(10**6)):
        yield Ask(asked.arms + shift, asked.counts), totals, absent
    yield Ask(asked.arms, -asked.counts), totals, "counts must be at least 0, got -"
    yield Ask(asked.arms + 0.5, asked.counts), totals, "arms must be whole numbers, got an array of float64"
    yield Ask(asked.arms[:, :1], asked.counts), totals, "" if b == 1 else "arms and counts must have shape"
    yield Ask(asked.arms[0], asked.counts[0]), totals[0], r"arms and counts must have shape \(1, b\)"


@POLICIES
def test_what_is_no_answer_is_refused_and_leaves_no_trace(policy):
    """Shapes, kinds and ranges; after all refusals the search goes on as one that saw none of them."""
    clean, state = started(policy), started(policy)
    list(rounds_of(policy, clean, 2))
    for asked in rounds_of(policy, state, 2):
        for other, totals, message in bad_tellings(asked, rewards_of(policy, asked)):
            if message:
                says(policy, state, other, totals, message)
        more = Ask(asked.arms, asked.counts + 1)
        says(policy, state, more, 2.0 * rewards_of(policy, asked), "are told where .* were asked; tell at most")
    if not policy.finished(clean).all():
        np.testing.assert_array_equal(policy.ask(clean).arms, policy.ask(state).arms)
    np.testing.assert_array_equal(policy.recommend(clean), policy.recommend(state))


@POLICIES
def test_a_copy_of_a_state_keeps_its_record(policy):
    """What waits for its rewards, what is refused, what was told; the original goes on by itself."""
    state = started(policy)
    asked = policy.ask(state)
    totals = rewards_of(policy, asked)
    for make in (replace, lambda s: take_rows(s, np.arange(1))):
        copy = make(state)
        assert isinstance(copy, GuardedState)
        np.testing.assert_array_equal(waiting(copy).arms, asked.arms)
        for other, told, message in bad_tellings(asked, totals):
            if message:
                says(policy, copy, other, told, message)
        policy.tell(take_rows(copy, np.arange(1)), asked, totals)
        assert waiting(copy) is not None
        assert waiting(state) is not None


@POLICIES
def test_some_replications_of_a_state_go_on_as_before(policy):
    """With their requests, random numbers and arms; what is asked of three is asked of two of them."""
    whole = started(policy, 3)
    some = take_rows(whole, np.array([2, 0]))
    assert (some.replications.tolist(), some.n_arms) == ([2, 0], whole.n_arms)
    for _ in range(3):
        asked, same = policy.ask(whole), policy.ask(some)
        np.testing.assert_array_equal(same.arms, asked.arms[[2, 0]])
        some, whole = replace(some), replace(whole)
        np.testing.assert_array_equal(waiting(some).counts, asked.counts[[2, 0]])
        if policy.finished(whole).any():
            break
        policy.tell(whole, asked, rewards_of(policy, asked))
        policy.tell(some, same, rewards_of(policy, same))
        assert some.learned.all()
        assert some.told


def test_a_policy_without_guards_says_how_to_get_them():
    """Its own states are not known at the door."""
    policy = LinUcb(20)
    state = started(policy)
    for refuse in (lambda: waiting(state), lambda: forget_asked(state), lambda: Guarded(policy).ask(state)):
        refuses(refuse, r"got LinUcbState; write Guarded\(policy\).start\(arms, streams\)")


@POLICIES
def test_the_order_of_ask_and_tell_is_kept(policy):
    """Nothing is told before it is asked, twice, or in the place of what was asked last."""
    state = started(policy)
    begun = policy.ask(started(policy))
    says(policy, state, begun, rewards_of(policy, begun), "nothing was asked yet; call ask first")
    asked = policy.ask(state)
    assert np.array_equal(waiting(state).arms, asked.arms)
    policy.tell(state, asked, rewards_of(policy, asked))
    assert waiting(state) is None
    says(policy, state, asked, rewards_of(policy, asked), "these rewards were told already; ask for the next")
    again = policy.ask(state)
    if again.arms.shape != asked.arms.shape:
        says(policy, state, asked, rewards_of(policy, asked), "wait for rewards, got .*tell what the last ask")
    elif not np.array_equal(again.arms, asked.arms):
        says(policy, state, asked, rewards_of(policy, asked), "is not what the last ask returned|were asked; tell")


@POLICIES
def test_lists_are_as_good_as_arrays_and_fewer_pulls_than_asked_may_be_told(policy):
    """Nested lists and whole numbers: the search is the same; of pulls that were not made a smaller count, or 0."""
    state, lists = started(policy), started(policy)
    for asked in rounds_of(policy, state, 3):
        np.testing.assert_array_equal(policy.ask(lists).arms, asked.arms)
        policy.tell(lists, Ask(asked.arms.tolist(), asked.counts.tolist()), rewards_of(policy, asked).tolist())
    np.testing.assert_array_equal(policy.recommend(state), policy.recommend(lists))
    state = started(policy, 2)
    asked = policy.ask(state)
    counts = np.maximum(asked.counts - 1, 0)
    counts[1] = 0
    policy.tell(state, Ask(asked.arms, counts), counts * 0.5)
    assert not policy.finished(state).any() or (policy.recommend(state) >= 0).all()


@POLICIES
def test_where_everything_failed_the_recommendation_says_so(policy):
    """A warning in one line, once a recommendation; none before the first reward, and none after a success."""
    state = started(policy, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy.recommend(state)
    for _ in range(3):
        asked = policy.ask(state)
        if policy.finished(state).all():
            break
        policy.tell(state, asked, np.full(asked.arms.shape, np.nan))
    with pytest.warns(NothingLearned, match="nothing was learned, since every evaluation failed") as caught:
        policy.recommend(state)
    assert len(caught) == 1
    if not policy.finished(state).all():
        asked = policy.ask(state)
        if asked.counts.any():
            policy.tell(state, asked, rewards_of(policy, asked))
            with warnings.catch_warnings():
                warnings.simplefilter("error", NothingLearned)
                policy.recommend(state)


def test_the_warning_counts_replications_and_a_request_that_was_changed_is_noticed():
    """The arms of the request itself, altered after it was asked."""
    policy = lin_ucb(20)
    state = started(policy, 3)
    policy.tell(state, policy.ask(state), [[np.nan], [1.0], [np.nan]])
    with pytest.warns(NothingLearned, match="LinUCB: nothing was learned in 2 of 3 replications"):
        policy.recommend(state)
    state = started(policy)
    asked = policy.ask(state)
    np.add(asked.arms, 1, out=asked.arms)
    says(policy, state, asked, [[1.0]], "is not what the last ask returned|does not exist")


def test_measurements_from_before_the_search_can_be_told():
    """`forget_asked` lets any arms in range be told; then the protocol begins again."""
    policy = m_lingape(2)
    state = started(policy)
    forget_asked(state)
    older = Ask(np.array([[5, 7]]), np.array([[2, 1]]))
    policy.tell(state, older, [[1.0, 0.2]])
    assert state.pulls[0, [5, 7]].tolist() == [2, 1]
    asked = policy.ask(state)
    says(policy, state, older, [[1.0, 0.2]], "tell what")
    policy.tell(state, asked, rewards_of(policy, asked))


@POLICIES
def test_policies_are_plain_records_and_what_is_searched_is_checked_before_the_start(policy):
    """`replace` and pickle give an equal policy; an array, the wrong kind of arms, and streams that are none."""
    for other in (replace(policy), pickle.loads(pickle.dumps(policy))):
        assert other == policy
        np.testing.assert_array_equal(other.ask(started(other)).arms, policy.ask(started(policy)).arms)
    other = CELLS if arms_for(policy) is not CELLS else Arms(np.eye(3))
    message = "searches Arms, got a Partition|searches the cells of a .*Partition, got Arms"
    refuses(lambda: policy.start(other, Streams.first(1)), message)
    message = "searches Arms or the cells of a Partition, got ndarray; write Arms"
    refuses(lambda: policy.start(np.eye(3), Streams.first(1)), message)
    message = r"streams must be Streams, got int; Streams.first\(1\) is one search"
    refuses(lambda: policy.start(arms_for(policy), 1), message)


test_features_that_are_no_numbers_are_refused = refused(
    lambda features: Arms(features),
    (np.full((3, 2), 1e200), r"features must be at most 1e\+75 in size, got 1e\+200 of arm 0; rescale"),
    (np.eye(3) * 1j, "features must be real numbers, got complex numbers"),
    ([["a", "b"], ["c", "d"]], "features must be real numbers, got values that are not all numbers"),
    ([[1.0, 2.0], [3.0]], "its rows differ in length"),
    ([[1.0, None], [3.0, 4.0]], "features must be"),
)


@pytest.mark.parametrize("n", [1.5, 2.0, "2", None, True])
def test_a_number_of_replications_is_whole(n):
    """Not 1.5, which used to make two; and at least 1."""
    refuses(lambda: Streams.first(0), "n_replications must be at least 1, got 0")
    refuses(lambda: Streams.first(n), "n_replications must be a whole number, got")


def failing(policy, state, most):
    """Tell failures only until the search ends; return the number of evaluations, and what ended it."""
    told = 0
    while not policy.finished(state).all():
        try:
            asked = policy.ask(state)
        except EverythingFails as error:
            return told, str(error)
        policy.tell(state, asked, np.full(asked.arms.shape, np.nan))
        told += int(asked.counts[0].sum())
        assert told <= most
    return told, ""


@POLICIES
def test_a_search_in_which_everything_fails_ends(policy):
    """By its budget or rounds; else after 10 evaluations of each arm, at least 100, by an error in one line."""
    told, said = failing(policy, started(policy), 10_000)
    if hasattr(policy, "budget") or hasattr(policy, "rounds"):
        assert said == ""
        return
    limit = max(100, 10 * arms_for(policy).n_arms)
    assert limit <= told <= limit + 2
    assert f"the last {told} evaluations all failed, and without a budget the search would ask for ever; mend" in said


def test_after_that_error_the_search_can_go_on():
    """It is raised once; asked again, the search goes on, and counts anew; what was learned before is kept."""
    policy = m_lingape(2, sigma=0.1)
    state = started(policy)
    list(rounds_of(policy, state, 3))
    pulls = int(state.pulls.sum())
    told, said = failing(policy, state, 10_000)
    assert said
    policy.recommend(state)  # no warning: something was learned
    asked = policy.ask(state)
    policy.tell(state, asked, rewards_of(policy, asked))
    assert state.pulls.sum() == pulls + asked.counts.sum()  # what failed teaches nothing
    again, said = failing(policy, state, 10_000)
    assert abs(again - told) <= 2
    assert said


def test_one_replication_that_learns_keeps_the_others_going():
    policy = m_lingape(2, sigma=0.01)
    state = started(policy, 2)
    for _ in range(5000):
        asked = policy.ask(state)
        if policy.finished(state)[0]:
            break
        totals = rewards_of(policy, asked)
        totals[1] = np.nan
        policy.tell(state, asked, totals)
    assert policy.finished(state).tolist() == [True, False]
    assert failing(policy, state, 10_000)[1]
