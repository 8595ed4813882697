"""A saved search goes on to the last bit, and a file that is not that search is refused."""

import json
from dataclasses import fields

import numpy as np
import pytest
from every_policy import EVERY, SAVED, rewards_of, rounds_of, started
from refusals import refuses

import bestarm
from bestarm import lin_ucb, m_lingape
from bestarm.guards.protocol import waiting
from bestarm.interface import Arms, take_rows
from bestarm.presets import plain_class
from bestarm.search.state_files import describe, load, restore, save
from bestarm.streams import Streams

POLICIES = pytest.mark.parametrize("policy", SAVED.values(), ids=SAVED.keys())


def same_bits(one, other):
    """Assert that all arrays and scalars of two states are equal to the last bit."""
    one, other = one.inner, other.inner
    for f in fields(one):
        a, b = getattr(one, f.name), getattr(other, f.name)
        if f.name in ("rows", "pivots"):  # of a Gaussian process, where what is beyond n_rows was never written
            used = [slice(n) for n in one.n_rows]
            a, b = (np.concatenate([x[r, k].ravel() for r, k in enumerate(used)]) for x in (a, b))
        if isinstance(a, np.ndarray):
            assert (a.dtype, a.tobytes()) == (b.dtype, b.tobytes()), f.name
        elif isinstance(a, bool | int | float | np.generic):
            assert type(a) is type(b)
            assert a == b, f.name


@POLICIES
def test_a_search_goes_on_as_if_it_had_never_stopped(policy, tmp_path):
    """Stopped in and after each of the first rounds, with a request waiting or not; a failure; two replications."""
    whole, parted = started(policy, 2), started(policy, 2)
    file = tmp_path / "search.npz"
    for number in range(4):
        asked, same = policy.ask(whole), policy.ask(parted)
        if policy.finished(whole).all():
            break
        save(parted, file)
        found, parted = load(file)
        assert describe(found.policy) == describe(policy.policy)  # a preset comes back as its base
        np.testing.assert_array_equal(waiting(parted).arms, asked.arms)
        np.testing.assert_array_equal(same.arms, asked.arms)
        totals = rewards_of(policy, asked)
        if number == 1:
            totals[0, 0] = np.nan
        policy.tell(whole, asked, totals)
        policy.tell(parted, asked, totals)
        same_bits(whole, parted)
        save(parted, file)
        parted = load(file, policy).state
        same_bits(whole, parted)
        np.testing.assert_array_equal(policy.recommend(whole), policy.recommend(parted))
    assert not list(tmp_path.glob(".*"))


@POLICIES
def test_a_policy_is_described_in_json_and_restored(policy):
    described = describe(policy.policy)
    restored = restore(json.loads(json.dumps(described)))
    assert describe(restored) == described
    assert type(restored) is plain_class(type(policy.policy))


def test_protocol_goes_on_after_loading(tmp_path):
    policy = m_lingape(2)
    state = started(policy)
    asked = policy.ask(state)
    policy.tell(state, asked, rewards_of(policy, asked))
    save(state, tmp_path / "a.npz")
    policy, state = load(tmp_path / "a.npz")
    refuses(lambda: policy.tell(state, asked, rewards_of(policy, asked)), "told already")


def a_file(tmp_path):
    policy = lin_ucb(20)
    state = started(policy)
    for _ in rounds_of(policy, state, 3):
        pass
    save(state, tmp_path / "a.npz")
    return tmp_path / "a.npz", state


def changed(path, **entries):
    """Rewrite the JSON of a file with some entries changed."""
    with np.load(path) as file:
        arrays = dict(file)
    meta = json.loads(arrays["meta"].tobytes()) | entries
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def test_another_policy_and_a_later_format_are_refused(tmp_path):
    path, _ = a_file(tmp_path)
    refuses(lambda: load(path, lin_ucb(21)), r"holds a search by LinUcb\(budget=20, .*not by LinUcb\(budget=21")
    refuses(lambda: load(path, m_lingape(2)), r"not by Gifa\(label='m-LinGapE'")
    before = load(path).state
    changed(path, version="0.0.1")
    same_bits(load(path).state, before)  # the number of the format decides
    changed(path, version=bestarm.__version__, format=99)
    refuses(lambda: load(path), "format 99")


def test_files_that_are_no_saved_search_are_refused(tmp_path):
    """Absent, empty, text, another NPZ, one with a pickle, cut anywhere, every byte flipped."""
    refuses(lambda: load(tmp_path / "none.npz"), "there is no saved search", FileNotFoundError)
    path, state = a_file(tmp_path)
    whole = path.read_bytes()
    for content in [b"", b"hello", *(whole[:n] for n in range(1, len(whole), 997))]:
        path.write_bytes(content)
        refuses(lambda: load(path), "no saved search, or it is damaged")
    for other in ({"x": np.arange(3)}, {"meta": np.array([{"a": 1}], dtype=object)}, {"meta": np.arange(4)}):
        np.savez(path, **other)
        refuses(lambda: load(path), "no saved search, or it is damaged")
    for place in range(0, len(whole), 101):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        try:
            _, found = load(path)
        except ValueError:
            continue
        same_bits(found, state)  # a byte of a zip archive that nothing reads


@pytest.mark.parametrize(
    "record", ["os:system", "subprocess:Popen", "bestarm.nothing:X", "bestarm_lab.paths:data_mirror"]
)
def test_a_file_cannot_make_anything_but_records_of_the_library(record, tmp_path):
    """A file from somebody else names other things; they are refused before they are called."""
    path, _ = a_file(tmp_path)
    changed(path, policy={"record": record, "settings": {"budget": 1}})
    refuses(lambda: load(path), r"do not trust this file|load the file with its own")


def test_a_state_without_guards_and_a_kernel_of_another_library_cannot_be_saved(tmp_path):
    """The first does not know its policy, the second is no plain record."""
    with pytest.raises(ValueError, match="only a state that start of a public constructor or load returned is known"):
        save(started(EVERY["LinUCB"]), tmp_path / "a.npz")
    refuses(lambda: describe(object()), r"an? object cannot be saved; use plain settings")


def test_a_copy_is_saved_as_what_it_is(tmp_path):
    """Two of three replications, with features, a seed and an instance of their own, and what waits for them."""
    policy, x = lin_ucb(9), np.random.default_rng(0).random((3, 5, 2))
    state = policy.start(Arms(x), Streams(7, "lab", np.array([4, 9, 6])))
    policy.ask(state)
    copy = take_rows(state, np.array([2, 1]))
    save(copy, tmp_path / "a.npz")
    _, again = load(tmp_path / "a.npz", policy)
    same_bits(copy, again)
    assert again.replications.tolist() == [6, 9]
    assert (again.streams.seed, again.streams.instance) == (7, "lab")
    np.testing.assert_array_equal(again.arms.features, x[[2, 1]])
    np.testing.assert_array_equal(waiting(again).arms, waiting(state).arms[[2, 1]])
