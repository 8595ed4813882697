"""A search with tables: names go in and come out, files of a laboratory come back as they are, mistakes are named."""

import io
from functools import partial

import numpy as np
import pandas as pd
import pytest
from every_policy import CELLS, EVERY, SAVED, arms_for
from refusals import refused, refuses

import bestarm
from bestarm.guards.protocol import Guarded
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.search.search import Search

CANDIDATES = pd.DataFrame(
    np.random.default_rng(0).uniform(-1.0, 1.0, (30, 3)), index=[f"gene {i}" for i in range(30)], columns=list("xyz")
)


def measured(table, failed=()):
    rewards = [0.5 + 0.4 * np.sin(3.0 * sum(map(ord, name))) for name in table["name"]]
    return table.assign(reward=["failed" if n in failed else r for n, r in zip(table["name"], rewards, strict=True)])


def a_search(**changes):
    return Search(**{"policy": bestarm.mean_opt(4, 3, 0.1, hidden=(4,), steps=5), "candidates": CANDIDATES} | changes)


def test_names_go_in_and_come_out():
    """The table asked for has names and features; the best arm is the best one measured."""
    search = a_search()
    for number in range(3):
        asked = search.ask()
        assert list(asked.columns) == ["name", "x", "y", "z", "reward"]
        assert asked["reward"].isna().all()
        pd.testing.assert_frame_equal(asked, search.ask())
        np.testing.assert_array_equal(asked[list("xyz")], CANDIDATES.loc[asked["name"]])
        assert not search.finished
        search.tell(measured(asked).sample(frac=1.0, random_state=number))
    assert search.finished
    assert len(search.ask()) == 0
    search.tell(search.ask())
    told = search.history
    assert told["round"].tolist() == [1] * 4 + [2] * 4 + [3] * 4
    assert not told["name"].duplicated().any()
    best = search.best()
    assert list(best.columns) == ["name", "x", "y", "z", "value"]
    assert best["name"].tolist() == [told.loc[told["reward"].idxmax(), "name"]]


@pytest.mark.parametrize("policy", EVERY.values(), ids=EVERY.keys())
def test_tables_do_what_arrays_do(policy, tmp_path):
    """Every policy: the same arms are asked and recommended, with a search saved and loaded in each round."""
    arms = arms_for(policy)
    search = Search(arms, policy)
    assert search.policy == Guarded(policy)
    state = policy.start(arms, bestarm.Streams.first(1))
    for number in range(4):
        asked = policy.ask(state)
        table = search.ask()
        if policy.finished(state).all():
            assert search.finished
            assert len(table) == 0
            break
        np.testing.assert_array_equal(np.repeat(asked.arms[0], asked.counts[0]), table["name"].astype(int))
        table = measured(table)
        if getattr(policy, "model", None) == "logistic":
            table["reward"] = table["reward"].round()
        totals = np.zeros(asked.arms.shape)
        given = {name: part["reward"].to_list() for name, part in table.groupby("name")}
        for place, (arm, count) in enumerate(zip(asked.arms[0], asked.counts[0], strict=True)):
            totals[0, place] = np.sum([given[str(arm)].pop(0) for _ in range(count)])
        policy.tell(state, asked, totals)
        if Guarded(policy) in SAVED.values():
            search.save(tmp_path / "search.npz")
            search = Search.load(tmp_path / "search.npz", policy if number % 2 else None)
        assert len(search.ask()) == len(table)
        search.tell(table)
        assert search.best()["name"].astype(int).tolist() == policy.recommend(state)[0].tolist()


def test_names_that_look_like_numbers():
    search = a_search(candidates=CANDIDATES.to_numpy())
    search.tell(pd.read_csv(io.StringIO(measured(search.ask()).to_csv(index=False))))
    assert len(search.history) == 4
    named = a_search(candidates=CANDIDATES.to_numpy(), names=[f"n{i}" for i in range(30)])
    assert named.ask()["name"].str.startswith("n").all()


def test_repeated_measurements_of_which_some_failed():
    """Rows for each pull; those that failed are left out, and an arm of which all failed counts as failed."""
    search = Search(CANDIDATES.iloc[:3], bestarm.gse_lin(60))
    asked = search.ask()
    assert asked.groupby("name")["pull"].max().sum() == len(asked) == 30
    table = measured(asked, failed=["gene 0"])
    table.loc[table["name"].eq("gene 1") & table["pull"].gt(2), "reward"] = "failed"
    known = table["reward"].ne("failed")
    search.tell(table)
    assert search.state.spent[0] == known.sum() + (asked["name"] == "gene 0").sum()
    assert search.history["reward"].notna().sum() == known.sum()


def test_cells_have_their_corners():
    search = Search(bestarm.Partition(lower=(0.0, -1.0), upper=(5.0, 1.0)), bestarm.gpoo(10))
    for _ in range(3):
        table = search.ask()
        assert list(table.columns) == ["name", "pull", "lower_0", "upper_0", "lower_1", "upper_1", "reward"]
        search.tell(table.assign(reward=0.3))
    best = search.best()
    assert 0.0 <= best["lower_0"].iloc[0] < best["upper_0"].iloc[0] <= 5.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="reward"), "the table has no column reward; it has: name, x, y, z"),
        (lambda t: t[["x"]], "the table has no column name and reward; it has: x"),
        (lambda t: t.assign(name="gene 99"), "gene 99 is no candidate; correct the name, give it to add_candidates"),
        (lambda t: t.assign(reward="much"), "is .much.; it must be a number, empty while it is to come"),
        (lambda t: t.assign(reward=np.inf), "is .inf.; it must be a number, empty while it is"),
        (lambda t: t.assign(reward=-1e200), r"at most 1e\+150 in size"),
        (lambda t: t.to_dict(), "tell wants the table that ask returned, rewards filled in, got dict"),
    ],
)
def test_a_wrong_table_is_refused_and_leaves_no_trace(change, message):
    """With the name of the arm or column; afterwards the right table is taken, once."""
    search = a_search()
    table = measured(search.ask())
    refuses(lambda: search.tell(change(table)), message)
    assert len(search.history) == 0
    search.tell(table)
    refuses(lambda: search.tell(table), "these rewards were told already")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t[t["name"] != "gene 2"], "the rewards of gene 2 are missing, and .* is sequential; add the rows"),
        (lambda t: t.assign(name="gene 9"), "gene 9 was not asked for, and .* is sequential; tell what the last"),
        (lambda t: pd.concat([t, t.iloc[:1]]), "gene .* rows where .* measurements were asked, and .* sequential"),
        (lambda t: t.iloc[:0], "the rewards of gene .* are missing"),
        (lambda t: t.assign(reward="not done"), "is sequential, so that nothing can be 'not done'"),
        (lambda t: t.assign(sem=0.1), "cannot weigh rewards by sem, sd or n; leave those columns out"),
    ],
)
def test_a_policy_with_its_own_order_is_told_what_it_asked(change, message):
    """And everything else that a table of measurements allows is refused in one line."""
    search = Search(CANDIDATES.iloc[:3], bestarm.gse_lin(60))
    early = pd.DataFrame({"name": ["gene 0"], "reward": [1.0]})
    refuses(lambda: search.tell(early), "nothing was asked yet; call ask first")
    table = measured(search.ask())
    refuses(lambda: search.tell(change(table)), message)
    search.tell(table)
    refuses(lambda: search.tell(table), "these rewards were told already; ask for the next ones first")
    alone = (search.predict, search.why, search.check, search.not_done, lambda: search.states)
    asked = (partial(search.ask, 3), partial(search.ask, pending=[]), partial(search.tell, table, replace=True))
    named = (partial(call, ["gene 0"]) for call in (search.exclude, search.restore))
    for call in (*alone, *asked, *named, partial(search.add_candidates, CANDIDATES)):
        refuses(call, r"^GSE-Lin.* is sequential: it must be told .*, and .*\.$")
    refuses(lambda: search.with_policy("gp"), "is sequential: .* and keeps its policy")


def test_a_policy_with_its_own_order_is_told_columns_and_units_as_others_are(tmp_path):
    search = Search(CANDIDATES.iloc[:3], bestarm.lucb(1, sigma=1.0))
    search.tell(search.ask().assign(reward=9.0, mine=["1 mM", "2 mM", "3 mM"]), results="mine")
    assert search.history["reward"].tolist() == [1.0, 2.0, 3.0]
    assert search.notes == ["column mine: numbers with the unit 'mM', which was taken off.", "column reward: not used."]
    search.save(tmp_path / "s.zip")
    search = Search.load(tmp_path / "s.zip")
    refuses(lambda: search.tell(search.ask().assign(reward="3 µM")), "rewards are in μM, those told before in mM")


test_what_cannot_be_searched_is_refused = refused(
    lambda candidates: a_search(candidates=candidates),
    (
        CANDIDATES.assign(plate=[f"P{i}" for i in range(30)]),
        "column 'plate' has 30 different words for 30 candidates, too many for a category; drop it",
    ),
    (CANDIDATES.rename(index={"gene 3": "gene 4"}), "gene 4 has two different rows, rows 4 and 5; keep one"),
    (CANDIDATES.rename(columns={"x": "pull"}), "a feature cannot be called pull, a column of ask"),
    (CANDIDATES[["x"]].assign(x=np.nan), "the table has no feature with anything in it; add columns"),
    (CANDIDATES.assign(x=np.inf), "features must be finite, got an infinite one in column 'x'"),
    (np.ones((2, 3, 4)), "a Search is one experiment: features must have shape"),
    (CELLS, "MeanOpt searches Arms, got a Partition"),
)
test_what_cannot_search_is_refused = refused(
    lambda changes: a_search(**changes),
    ({"candidates": CANDIDATES.to_numpy(), "names": ["a"]}, "there are 30 arms and 1 names; give one name for each"),
    ({"candidates": CELLS, "policy": bestarm.gpoo(9), "names": "a"}, "the cells of a partition have numbers, no names"),
    ({"policy": "MeanOpt"}, "there is no policy 'MeanOpt'; did you mean mean_opt. There are: mean_opt, max_opt, "),
    ({"policy": 3}, "policy must have start, got 3; make one by a constructor of bestarm"),
    ({"policy": LinUcb}, "policy must have start, got <class"),
    ({"seed": 1.5}, "seed must be a whole number of at least 0, got 1.5"),
)


def test_a_file_of_another_policy_or_of_a_state_alone_is_refused(tmp_path):
    a_search().save(tmp_path / "s.npz")
    refuses(lambda: Search.load(tmp_path / "s.npz", bestarm.lin_ucb(20)), r"holds a search by Oae.*, not by LinUcb")
    bestarm.save(bestarm.lin_ucb(9).start(bestarm.Arms(CANDIDATES), bestarm.Streams.first(1)), tmp_path / "state.npz")
    refuses(lambda: Search.load(tmp_path / "state.npz"), "holds the state of a policy, not a Search; read it by bestar")
