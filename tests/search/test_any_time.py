"""A search by a policy that decides from data alone: told at any time, asked for any size, with some being measured."""

import copy
import io
import pickle

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from small_screen import knowing

import bestarm
from bestarm.models import smooth_gp
from bestarm.search.search import Search

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.uniform(-1.0, 1.0, (40, 3)), index=[f"c{i}" for i in range(40)], columns=list("xyz"))
TRUTH = TABLE["x"] - 0.5 * TABLE["y"] ** 2
SMALL = {"hidden": (8, 4), "steps": 60}
BY_NAME = {"mean_opt": SMALL, "greedy": SMALL, "linear": {}, "gp_bucb": {}, "thompson": {}, "random": {}}
NAMES = pytest.mark.parametrize("name", BY_NAME)
AIMS = {"high": lambda v: -v, "low": lambda v: v, "both": lambda v: -abs(v), 0.25: lambda v: abs(v - 0.25)}


def a_search(name="gp_bucb", **more):
    return Search(TABLE, name, seed=2, **BY_NAME.get(name, {}) | more)


def measured(batch, failed=()):
    return batch.assign(reward=["failed" if n in failed else TRUTH[n] for n in batch["name"]])


@NAMES
def test_parts_order_and_saving_do_not_matter(name, tmp_path):
    """Told at once, or in parts, shuffled, with files and copies in between: the same batches."""
    whole, parts = a_search(name), a_search(name)
    for number in range(3):
        batch, same = whole.ask(6), parts.ask(6)
        pd.testing.assert_frame_equal(batch, same)
        filled = measured(batch, failed=[batch["name"][1]])
        whole.tell(filled)
        shuffled = filled.sample(frac=1.0, random_state=number)
        parts.tell(shuffled.iloc[:2])
        parts.save(tmp_path / "s.zip")
        parts = Search.load(tmp_path / "s.zip")
        assert parts.ask()["name"].tolist() == [n for n in batch["name"] if n not in set(shuffled["name"][:2])]
        parts.tell(shuffled.iloc[2:])
        parts = pickle.loads(pickle.dumps(copy.deepcopy(parts)))
    assert parts.check() == whole.check() == []
    assert [r.names for r in parts.rounds] == [r.names for r in whole.rounds]


@NAMES
def test_what_is_pending_is_not_asked_for_again(name):
    """Three batches of different sizes before any result; then results of the second one first."""
    search = knowing(a_search(name), TRUTH[:8].to_frame("reward"))
    first = search.ask(4)
    pd.testing.assert_frame_equal(first, search.ask(4))
    second = search.ask(5, pending=first)
    third = search.ask(3)
    asked = [*first["name"], *second["name"], *third["name"]]
    assert len(set(asked)) == len(asked) == 12
    assert not set(asked) & set(TRUTH.index[:8])
    assert set(search.pending) == set(asked)
    search.tell(measured(second))
    assert set(search.pending) == set(asked) - set(second["name"])
    assert not set(search.ask(2)["name"]) & set(asked)
    assert (search.check(), search.history["round"].tolist()) == ([], [0] * 8 + [3] * 5)


@pytest.mark.parametrize("policy", ["thompson", "gp", bestarm.gse_lin(40)])
def test_what_is_interrupted_leaves_no_trace(policy, monkeypatch):
    """Ctrl-C in the middle of learning: afterwards the search is that of somebody who was never interrupted."""
    calm, hasty = (Search(TABLE, policy, seed=2, hits=None) for _ in range(2))
    for _ in range(2):
        tables = [measured(s.ask(4 if isinstance(policy, str) else None)) for s in (calm, hasty)]
        calm.tell(tables[0])
        plan = hasty._plan(1).choice.search(1, 1) if isinstance(policy, str) else policy
        kind, learn = type(getattr(plan, "policy", plan)), type(getattr(plan, "policy", plan)).tell

        def interrupted(self, *told, learn=learn):
            learn(self, *told)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(kind, "tell", interrupted)
            if isinstance(policy, str):  # which learns when it is asked
                hasty.tell(tables[1])
            with pytest.raises(KeyboardInterrupt):
                hasty.predict() if isinstance(policy, str) else hasty.tell(tables[1])
        if not isinstance(policy, str):
            hasty.tell(tables[1])
        pd.testing.assert_frame_equal(calm.ask(), hasty.ask())


def test_a_half_done_round_is_no_dead_end():
    """Measured, failed, not done; what was not done can be chosen again, what failed is not."""
    search = a_search("random")
    batch = search.ask(6)
    names = batch["name"].tolist()
    search.tell(batch.assign(reward=[1.0, 2.0, "failed", "", "not done", "not done"]))
    assert search.states[names].tolist() == ["measured", "measured", "failed", "asked", "not done", "not done"]
    assert search.notes == ["1 row without a reward, still to come."]
    refuses(lambda: search.tell(search.ask()), "no row of the table has a reward: all 1 are still to come")
    assert set(search.ask(36)["name"]) == set(TABLE.index) - set(names[:4])
    search.not_done()
    assert search.states.value_counts()["not done"] == 37
    search.ask(1, pending=[])
    assert search.pending == search.rounds[-1].names


def test_a_colleague_s_pending_list_is_taken_as_it_is():
    """What waits and is not in it was not done; what is in it is not asked for, whoever asked for it."""
    search = a_search("random")
    first = search.ask(5)["name"].tolist()
    other = [n for n in TABLE.index if n not in first][:3]
    batch = search.ask(32, pending=[*first[:2], *other])["name"].tolist()
    assert not set(batch) & {*first[:2], *other}
    assert set(first[2:]) <= {*batch, *TABLE.index[search.states == "not done"]}
    refuses(lambda: search.ask(2, pending=["NOBODY"]), "NOBODY is no candidate")
    refuses(lambda: search.ask(2, pending="c1"), r"pending must be a list of names or a table, got 'c1'")


def test_a_control_measured_each_week_keeps_all_its_results():
    """A value equal to one before is no list that grows; a table of known results alone is one."""
    search = a_search("random")
    for reward, new in ((10.0, "c1"), (11.0, "c2"), (10.0, "c3")):
        search.tell(pd.DataFrame({"name": ["c0", new], "reward": [reward, 1.0]}))
    refuses(lambda: knowing(search, {"name": ["c0"], "reward": [10.0]}), "these rewards were told already")
    search.tell(pd.DataFrame({"name": ["c0", "c1", "c4"], "reward": [11.0, 1.0, 2.0]}))
    assert search.notes == ["2 rows told before, 1 new."]
    assert search.history["reward"].tolist() == [10.0, 1.0, 11.0, 1.0, 10.0, 1.0, 2.0]


@NAMES
def test_corrections_replicates_and_data_from_before(name):
    """A correction takes the place of a value, a second measurement is averaged with it."""
    search = knowing(a_search(name), {"name": ["c1", "c2", "c2"], "reward": [5.0, 1.0, 3.0]})
    assert search.predict().set_index("name")["value"][["c1", "c2"]].tolist() == [5.0, 2.0]
    search.ask(2)
    search.tell(pd.DataFrame({"name": ["c1"], "reward": [0.5]}), replace=True)
    assert search.predict().set_index("name")["value"]["c1"] == 0.5
    search.ask(3)
    assert (search.rounds[-1].revised, search.check()) == ({"c1": (0.5,)}, [])
    assert search.history["name"].tolist() == ["c2", "c2", "c1"]
    refuses(lambda: search.tell(pd.DataFrame({"name": ["c1"], "reward": [0.5]})), r"told already; .*again=True")
    search.tell(pd.DataFrame({"name": ["c1"], "reward": [0.5]}), again=True)
    assert len(search.history) == 4


@NAMES
def test_candidates_come_and_go(name):
    """New ones are among those asked, withdrawn ones are not, earlier batches are made anew all the same."""
    search = a_search(name)
    search.tell(measured(search.ask(6)))
    search.ask(4)
    search.exclude(["c30", "c31", search.pending[0]])
    assert search.states["c30"] == "withdrawn"
    more = pd.DataFrame(RNG.uniform(-1, 1, (5, 3)), index=[f"new{i}" for i in range(5)], columns=["z", "y", "x"])
    search.add_candidates(more)
    everything = search.ask(60)["name"].tolist()
    assert {f"new{i}" for i in range(5)} <= set(everything)
    assert not {"c30", "c31"} & set(everything)
    search.restore(["c30"])
    assert (search.ask(60)["name"].tolist(), search.check()) == (["c30"], [])
    refuses(lambda: search.restore(["c5"]), "c5 was not excluded")
    refuses(lambda: search.add_candidates(more), r"new0, new1, .* is a candidate already")
    with pytest.raises(ValueError, match="have a column 'w' that the others have not; leave it out"):
        search.add_candidates(TABLE.assign(w=1.0).set_axis([f"n{i}" for i in range(40)]))
    search.add_candidates(TABLE[["x", "y"]].set_axis([f"n{i}" for i in range(40)]))  # z is unknown there
    assert "column z: unknown for 40 new candidates." in search.candidates.report


@pytest.mark.parametrize("aim", AIMS)
def test_each_aim_finds_its_candidates(aim):
    """From half of the values the best of the rest are asked for; predictions are in the reward's own units."""
    linear, key = TABLE["x"], AIMS[aim]
    search = knowing(a_search("gp_bucb", aim=aim), linear[::2].to_frame("reward"))
    assert linear[1::2].map(key).sort_values().rank()[search.ask(4)["name"]].mean() < 8
    assert search.best()["name"].tolist() == [linear[::2].map(key).idxmin()]
    shown = linear if aim in ("high", "low") else linear.map(key).abs()
    predicted = search.predict().set_index("name")["mean"]
    assert np.corrcoef(predicted, shown)[0, 1] > 0.8
    why = search.why()
    np.testing.assert_allclose(why["predicted"], predicted[why["name"]])


@NAMES
def test_predictions_are_of_every_candidate(name):
    """A mean that follows the truth, a deviation, and probabilities of the best m that sum to m; hits by any rule."""
    for hits in (0.2, "10%", ["c1", "c2", "c3", "c4"]):
        more = {"steps": 400} if "steps" in BY_NAME[name] else {}
        search = knowing(a_search(name, hits=hits, **more), TRUTH[::2].to_frame("reward"))
        table = search.predict(m=4)
        assert table["name"].tolist() == list(TABLE.index)
        assert np.corrcoef(table["mean"], TRUTH)[0, 1] > 0.7
        assert (table["deviation"] >= 0).all()
        assert table["best"].sum() == pytest.approx(4.0)
        assert table["hit"].between(0.0, 1.0).all()
        if hits != 0.2:
            assert table["hit"].sum() == pytest.approx(4.0, abs=1e-3)
    refuses(lambda: a_search(name).predict(), "nothing can be predicted before a reward is told")


def test_reasons_are_those_of_the_moment_of_asking():
    search = a_search("gp_bucb")
    refuses(lambda: search.why(), "nothing was asked yet")
    search.tell(measured(search.ask(8)))
    batch = search.ask(4)
    other = copy.deepcopy(search)
    search.tell(measured(batch))
    pd.testing.assert_frame_equal(search.why(), other.why())
    assert search.why()["name"].tolist() == batch["name"].tolist()
    assert (search.why()["novelty"] > 0).all()


@pytest.mark.parametrize("name", ["gp", "hits"])
def test_one_posterior_chooses_and_explains_where_much_is_known(name, monkeypatch):
    """And the reasons of a batch have its own deviations, which are exact."""
    monkeypatch.setattr(smooth_gp, "_FIRST", 9)
    fits, fitted = [], smooth_gp.SmoothGP.fitted
    monkeypatch.setattr(smooth_gp.SmoothGP, "fitted", lambda *given: fits.append(1) or fitted(*given))
    search = knowing(a_search(name), TRUTH[:20].to_frame("reward"))
    batch, why = search.ask(4), search.why()
    assert len(fits) == 1
    exact = search.predict().set_index("name").loc[batch["name"]]
    np.testing.assert_allclose(why[["predicted", "uncertainty"]], exact[["mean", "deviation"]], rtol=1e-9)


def test_a_constructor_s_policy_takes_any_size_and_may_repeat():
    """GP-BUCB as it is: its first batch is one, a plate of 12 is 12, and arms may come again."""
    search = Search(TABLE, bestarm.gp_bucb(4, 3))
    assert len(search.ask()) == 1
    search.tell(measured(search.ask(12)))  # one waits, another twelve are asked
    assert len(search.ask()) == 1
    search.not_done()
    search.exclude(TABLE.index[3:])
    for _ in range(3):
        batch = search.ask(4)
        assert set(batch["name"]) <= {"c0", "c1", "c2"}
        search.tell(measured(batch), again=True)
    assert (search.check(), len(search.history)) == ([], 24)


def test_finished_and_nothing_left():
    """Of a name when no candidate is left, of a constructor's policy after its rounds; a size asks on."""
    search = knowing(a_search("random"), TRUTH.to_frame("reward"))
    assert search.finished
    assert len(search.ask()) == len(search.ask(3)) == len(search.rounds) == 0
    own = Search(TABLE, bestarm.random_batches(5, 1))
    own.tell(measured(own.ask()))
    assert own.finished
    assert (len(own.ask()), len(own.ask(2))) == (0, 2)


def test_candidates_from_every_kind_of_file_are_the_same(tmp_path):
    """Excel's CSV, plain CSV, Parquet and a DataFrame; what was done is said."""
    text = "name;dose;salt;on ice;lot\r\nA;0,5;NaCl;TRUE;7\r\nB;1,25;KCl;FALSE;7\r\nC;;NaCl;TRUE;7\r\n"
    (tmp_path / "excel.csv").write_bytes(("\ufeff" + text + "B;1,25;KCl;FALSE;7\r\n;;;;\r\n").encode())
    plain = text.replace(",", ".").replace(";", ",").replace("\r", "")
    (tmp_path / "plain.csv").write_text(plain)
    frame = pd.read_csv(io.StringIO(plain), index_col="name")
    frame.to_parquet(tmp_path / "c.parquet")
    found = [bestarm.Candidates.of(tmp_path / n) for n in ("excel.csv", "plain.csv", "c.parquet")]
    found.append(bestarm.Candidates.of(frame))
    for each in found:
        assert each.names == ("A", "B", "C")
        assert each.columns == ("dose", "salt=KCl", "salt=NaCl", "on ice", "lot")
        np.testing.assert_array_equal(each.values[:, 0], [0.5, 1.25, 0.875])
        np.testing.assert_array_equal(each.values[:, 1:4], [[0, 1, 1], [1, 0, 0], [0, 1, 1]])
        assert each.digests == found[0].digests
        said = " ".join(each.report)
        assert "column dose: 1 gap set to the mean." in said
        assert "column salt: 2 words, a column of 0 and 1 for each." in said
        assert "1 feature the same for all candidates, left out (lot)." in said
        assert each.scores().shape == (3, 4)
    assert "1 row there twice, counted once." in found[0].report[0]
    reordered = bestarm.Candidates.of(frame.iloc[::-1, ::-1])
    by_name, same = (dict(zip(c.names, c.digests, strict=True)) for c in (reordered, found[0]))
    assert by_name == same
    assert reordered.digest == found[0].digest


def test_the_policy_of_hits_takes_what_a_hit_is_from_them(tmp_path):
    """A share, a list or a reward by the aim; its own settings come first, and a file holds it."""
    assert a_search("hits", hits="10%").policy.settings == {"share": 0.1}
    assert a_search("hits", hits=["c1", "c2"]).policy.settings == {"share": 0.05}
    assert a_search("hits", hits="10%", share=0.2).policy.settings == {"share": 0.2}
    assert a_search("hits", hits=-0.5, aim="min").policy.settings == {"threshold": 0.5}
    assert a_search("hits", hits=0.5, aim=0.75).policy.settings == {"threshold": -0.25}
    assert a_search("hits", hits=0.5, share=0.2).policy.settings == {"share": 0.2}
    assert a_search("gp", hits=0.5).policy.settings == {}
    search = a_search("hits", hits="10%")
    search.tell(measured(search.ask(8)))
    search.save(tmp_path / "s.zip")
    assert Search.load(tmp_path / "s.zip").ask(4)["name"].tolist() == search.ask(4)["name"].tolist()


def test_a_threshold_reaches_the_choice_of_the_policy_of_hits():
    """The batch has the largest probabilities that `predict` shows, at each threshold; a far one is a bold one."""
    batches = []
    for threshold in (-0.2, 0.9, 30.0):
        search = knowing(a_search("hits", hits=threshold), TRUTH[::3].to_frame("reward"))
        table = search.predict().set_index("name")
        wanted = ((table["mean"] - threshold) / table["deviation"])[table["state"] == "unmeasured"].nlargest(5)
        batches.append(search.ask(5)["name"].tolist())
        assert batches[-1] == wanted.index.tolist()
    assert len({tuple(batch) for batch in batches}) == 3


def test_a_correction_and_another_measurement_at_once():
    """Of a policy that learns each measurement: both are told once, in every order of asking and telling."""
    search = knowing(Search(TABLE, bestarm.thompson(2, 99)), {"name": ["c1"], "reward": [5.0]})
    search.ask(2)
    search.tell(pd.DataFrame({"name": ["c1"], "reward": [0.5]}), replace=True)
    search.tell(pd.DataFrame({"name": ["c1"], "reward": [1.0]}))
    for _ in range(3):
        search.ask(2, pending=[])
    assert [each.told for each in search.rounds] == [(("c1", 5.0),), (("c1", 1.0),), (), ()]
    assert [each.revised for each in search.rounds] == [{}, {"c1": (0.5,)}, {}, {}]
    assert (search.state.n_observed.tolist(), search.check()) == ([2], [])
