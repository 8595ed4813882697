"""A policy that takes over a running search, and a Gaussian process of more measurements than it can learn."""

import logging
from functools import partial

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from small_screen import NETWORKS

import bestarm
from bestarm import Search
from bestarm.policies import model_batches
from bestarm.policies.model_batches import MOST_KNOWN
from bestarm.search import any_size, next_batch
from bestarm.search.any_size import learned_from
from bestarm.search.choices import NAMES


def pool(n: int = 60, d: int = 3) -> tuple[pd.DataFrame, dict[str, float]]:
    x = np.random.default_rng(3).uniform(size=(n, d))
    names = [f"c{i}" for i in range(n)]
    values = np.sin(4 * x[:, 0]) - (x[:, 1] - 0.4) ** 2
    return pd.DataFrame(x, index=names, columns=[f"x{j}" for j in range(d)]), dict(zip(names, values, strict=True))


def tell(search: Search, batch: pd.DataFrame, rewards: dict[str, float]) -> None:
    search.tell(batch.assign(reward=[rewards[name] for name in batch["name"]]))


def begun(policy="random", **settings) -> tuple[Search, dict[str, float]]:
    """Return a search with batches, a failure, results nobody asked for, a correction and a batch that waits."""
    table, rewards = pool()
    search = Search(table, policy, seed=4, **settings)
    for size in (4, 3):
        tell(search, search.ask(size), rewards)
    search.tell(pd.DataFrame({"name": ["c9", "c3"], "reward": [rewards["c9"], "failed"]}), again=True)
    first = search.history["name"][0]
    search.tell(pd.DataFrame({"name": [first], "reward": [rewards[first] + 0.5]}), replace=True)
    search.ask(2)
    return search, rewards


@pytest.mark.parametrize("name", [*NAMES, "constructed", "constructed gp"])
def test_it_is_a_new_search_that_was_told_the_same(name, tmp_path):
    """To the last bit: predictions and four batches, with one that waited told in between, saved and loaded too."""
    constructors = {"constructed": bestarm.random_batches, "constructed gp": bestarm.gp_bucb}
    policy = constructors[name](batch=3, rounds=9) if name in constructors else name
    settings = {"hidden": (8, 4), "steps": 40} if name in NETWORKS else {}
    old, rewards = begun()
    before = old.history, len(old.rounds), list(old.pending)
    search = old.with_policy(policy, **settings)
    pd.testing.assert_frame_equal(search.history, before[0])
    assert (len(search.rounds), search.pending) == before[1:]
    new = Search(pool()[0], policy, seed=4, **settings)
    rows = old.history.sort_values("round", kind="stable")[["name", "reward"]]
    new.tell(rows.assign(reward=["failed" if r != r else r for r in rows["reward"]]))
    waiting = search.pending
    for turn in range(4):
        if name not in NETWORKS and turn:
            pd.testing.assert_frame_equal(search.predict().drop(columns="state"), new.predict().drop(columns="state"))
        pending = waiting if turn == 0 else ()
        batch, other = search.ask(3, pending=pending), new.ask(3, pending=pending)
        assert batch["name"].tolist() == other["name"].tolist()
        assert search.check() == []
        if turn == 1:
            search.save(tmp_path / "search.zip")
            search = Search.load(tmp_path / "search.zip")
        for each in (search, new):
            tell(each, batch, rewards)
            if turn == 0:
                each.tell(pd.DataFrame({"name": waiting, "reward": [rewards[n] for n in waiting]}))
    assert before[1] == len(old.rounds), "the search of before is as it was"


def test_saved_before_the_first_batch_it_goes_on_alike(tmp_path):
    """A file knows since when its policy chooses; one that never changed has the format of before."""
    old, _ = begun()
    old.save(tmp_path / "search.zip")
    search = Search.load(tmp_path / "search.zip").with_policy("forest", trees=20)
    search.save(tmp_path / "search.zip")
    again = Search.load(tmp_path / "search.zip")
    assert again.policy == search.policy
    assert again.ask(4)["name"].tolist() == search.ask(4)["name"].tolist()
    refuses(lambda: old.save(tmp_path / "search.zip"), "was saved by somebody else since")


def test_policies_take_over_from_each_other_again_and_again():
    search, rewards = begun("gp")
    for name in ("forest", "neighbours", "random", "hits", "gp"):
        search = search.with_policy(name)
        search.ask(2)  # waits
        tell(search, search.ask(3, pending=search.pending), rewards)
    assert search.check() == []
    assert [each.settings["policy"] for each in search.rounds][3::2] == ["forest", "neighbours", "random", "hits", "gp"]


@pytest.mark.parametrize(
    ("policy", "settings", "said"),
    [
        ("forrest", {}, r"no policy 'forrest'; did you mean forest\? There are: "),
        ("gpr", {}, r"no policy 'gpr'; did you mean gp\? There are: "),
        ("xyzzy", {}, r"no policy 'xyzzy'; there are: mean_opt"),
        ("gp", {"bta": 1.0}, "gp has no setting 'bta'; it has: beta"),
        (bestarm.m_lingape(n_best=1), {}, "is sequential: it must be told exactly what it asked, and cannot take"),
        (7, {}, "policy must have start, got 7"),
    ],
)
def test_what_cannot_take_over_is_refused_in_one_line(policy, settings, said):
    search, _ = begun()
    refuses(lambda: search.with_policy(policy, **settings), said)
    assert search.policy.name == "random"


@pytest.mark.parametrize(("name", "most"), [("gp", 400), ("hits", MOST_KNOWN)])
def test_beyond_4000_measurements_it_goes_on_and_says_so(name, most, caplog, monkeypatch):
    """With the 4,000 that matter most, said once in the log, and in the notes; a tenth of that for one of two."""
    for module in (any_size, model_batches, next_batch):
        monkeypatch.setattr(module, "MOST_KNOWN", most)
    monkeypatch.setattr(any_size, "learned_from", partial(learned_from, most=most))
    table, rewards = pool(most + 400, 2)
    every = pd.DataFrame({"name": list(rewards), "reward": list(rewards.values())})
    search = Search(table, name, seed=1)
    search.tell(every[:most])
    assert search.notes == []
    with caplog.at_level(logging.WARNING, logger="bestarm.search"):
        for start in (most, most + 50):
            search.tell(every[start : start + 50])
            assert "half of them the best results, the others spread evenly over the rest" in search.notes[-1]
    assert [r.getMessage() for r in caplog.records] == [
        f"bestarm: {name} learns from {most:,} of {most + 50:,} candidates measured: half of them the best results, "
        "the others spread evenly over the rest."
    ]
    assert f"learns from {most:,} of {most + 100:,}" in search._repr_html_()
    assert np.mean([rewards[n] for n in search.ask(3)["name"]]) > every["reward"][most + 100 :].quantile(0.8)


def test_what_is_learned_of_many_is_the_best_half_and_a_spread():
    """Of 1,000 measurements 100: the 50 largest, the first of equals, and one from each of 50 parts of the rest."""
    x = np.random.default_rng(0).uniform(size=(1000, 2))
    y = np.round(x[:, 0] * 20)
    kept = learned_from(x, y, 100)
    assert len(np.unique(kept)) == 100
    best = np.argsort(-y, kind="stable")[:50]
    assert set(best) <= set(kept)
    cells = np.histogram2d(*x[np.setdiff1d(kept, best)].T, bins=4, range=[[0, 1], [0, 1]])[0]
    assert cells[:3].min() >= 1, "no part of the square is without one"
    np.testing.assert_array_equal(learned_from(x[:100], y[:100], 100), np.arange(100))


def test_policies_that_cannot_learn_so_many_name_one_that_can():
    table, rewards = pool(4100, 2)
    search = Search(table, "thompson")
    search.tell(pd.DataFrame({"name": list(rewards), "reward": list(rewards.values())}).head(4050))
    refuses(lambda: search.ask(1), r"can learn 4000 rewards, 4051 are to be learned; .*search.with_policy\('gp'\)")
    assert len(search.with_policy("neighbours").ask(2)) == 2
