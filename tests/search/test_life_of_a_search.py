"""What happens between the batches of a search: files that are copied, genes that wait, few rewards, odd settings."""

import os
import shutil
import signal
import threading

import numpy as np
import pandas as pd
import pytest
from refusals import raising, refuses
from small_screen import Lab, genes, knowing

from bestarm import Search
from bestarm.search import atomic_files
from bestarm.search.campaign import Campaign

TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(24, 2)), [f"c{i}" for i in range(24)], ["f0", "f1"])
VALUES = np.exp(-(TABLE**2).sum(axis=1)) + 0.1 * TABLE["f0"]


def told(search, **rewards):
    return knowing(search, {"name": rewards.keys(), "reward": rewards.values()})


@pytest.mark.parametrize("name", ["gp_bucb", "thompson"])
def test_few_rewards_are_predicted_in_their_own_units(name):
    """The policy scales from five on; predictions and what is left do so from one on."""
    units = ((0.0, 1.0), (500.0, 0.1))
    few, shifted = (told(Search(TABLE, name, seed=2), **{f"c{i}": a + b * i for i in range(3)}) for a, b in units)
    one, other = (s.predict()[["mean", "deviation"]].to_numpy() for s in (few, shifted))
    np.testing.assert_allclose(other, one * 0.1 + [500.0, 0.0], rtol=1e-9)
    np.testing.assert_allclose(shifted.left("10%").hits, few.left("10%").hits, atol=0.2)


def test_a_first_reward_of_0_says_nothing_about_the_size_of_others():
    rewards = {f"c{i}": 1e-15 * VALUES[f"c{i}"] for i in range(9)}
    asked, plain = (told(Search(TABLE, "gp_bucb", seed=2), c23=0.0) for _ in range(2))
    asked.ask(1)
    for search in (asked, plain):
        told(search, **rewards)
    deviations = [search.predict()["deviation"].iloc[12] for search in (asked, plain)]
    assert deviations[0] == pytest.approx(deviations[1], rel=0.2)
    assert deviations[0] < 1e-14


def test_a_batch_does_not_depend_on_the_room_that_was_made_for_rewards():
    for seed in range(12):
        search = Search(TABLE, "linear", seed=seed)
        for _ in range(5):
            search.tell(search.ask(3).assign(reward=lambda batch: VALUES[batch["name"]].to_numpy()))
            search.predict()
        assert search.check() == []


def test_a_history_tells_failures_and_an_old_batch_keeps_its_order():
    old = told(Search(TABLE), c0=1.0, c1="failed")
    new = knowing(Search(TABLE, "forest"), old.history)
    assert (new.states["c0"], new.states["c1"]) == ("measured", "failed")
    again = Search(TABLE[:6], "random")
    again.ask(1)
    again.not_done()
    assert again.ask(6)["name"].tolist() == again.ask()["name"].tolist()


@pytest.mark.parametrize("more", [{}, {"c1": 2.0}])
def test_a_correction_takes_a_measurement_back(more):
    search, rows = told(Search(TABLE), c0=1.0, c1=2.0), {"c0": "not done", **more}
    search.tell(pd.DataFrame({"name": rows.keys(), "reward": rows.values()}), replace=True)
    assert (search.states["c0"], search.history["name"].tolist()) == ("not done", ["c1"])
    assert search.notes == ["c0: not done in place of 1, a correction."]


def test_an_interrupted_forest_raises_what_others_do():
    policy, state = told(Search(TABLE, "forest"), **VALUES[:9])._replayed()
    policy.outputs(state, 0)  # compiles
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest ignore it
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        all(policy.outputs(state, 0) for _ in range(10**5))
    signal.signal(signal.SIGINT, before)


def test_nothing_left_is_no_batch():
    search = Search(TABLE[:3])
    search.tell(search.ask(3).assign(reward=[1.0, 2.0, 3.0]))
    for _ in range(2):
        assert len(search.ask(3)) == 0
    assert len(search.rounds) == 1
    assert len(search.why()) == 3


def test_copies_of_a_file_wipe_nothing(tmp_path):
    """A branch that came by mail is refused, a folder that moved is not, and a link stays one."""
    file, home = tmp_path / "c.zip", tmp_path / "home.zip"
    Search(TABLE).save(file)
    shutil.copy(file, home)
    one, other = Search.load(file), Search.load(home)
    told(one, c1=1.0).save(file)
    told(other, c2=2.0).save(home)
    shutil.copy(home, file)
    refuses(lambda: told(one, c3=3.0).save(file), "was saved by somebody else")
    (tmp_path / "moved").mkdir()
    home.rename(tmp_path / "moved" / "home.zip")
    told(other, c4=4.0).save(tmp_path / "moved" / "home.zip")
    link = tmp_path / "link.zip"
    os.symlink(tmp_path / "moved" / "home.zip", link)
    told(Search.load(link), c5=5.0).save(link)
    assert link.is_symlink()
    assert Search.load(tmp_path / "moved" / "home.zip").history["name"].tolist() == ["c2", "c4", "c5"]


def test_a_file_system_without_locks_is_written_without(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(fcntl, "flock", raising(OSError(37, "No locks available")))
    with atomic_files.hold_lock(tmp_path / ".lock", patience=0.0) as got:
        assert got


@pytest.mark.parametrize(
    "settings",
    [{"policy": "gp", "steps": np.int64(20)}, {"components": np.int64(2)}, {"policy": "gp", "beta": np.float64(2)}],
)
def test_settings_of_numpy_can_be_saved(settings, tmp_path):
    Search(TABLE, **settings).save(tmp_path / "s.zip")
    Search.load(tmp_path / "s.zip", settings.get("policy")).ask(2)  # by its name, whatever its settings


def test_words_of_digits_are_told_and_added_as_they_are_read():
    search = Search(TABLE.assign(block=["1", "2", "3"] * 8), words=["block"])
    batch = search.ask(2).assign(reward=[1.0, 2.0])
    search.tell(batch.assign(block=batch["block"].astype(int)))
    search.add_candidates(pd.DataFrame({"f0": [0.0], "f1": [0.0], "block": ["1"]}, index=["n"]))
    assert search.candidates.table["block"].tolist()[-1] == "1"


def test_what_cannot_be_is_refused(tmp_path):
    refuses(lambda: Search(np.ma.masked_greater([[1.0, 2.0], [3.0, 999.0], [5.0, 6.0]], 100)), "an array with a mask")
    refuses(lambda: Search(TABLE).with_policy("forest", aim="min"), "aim stays that of the search")
    units = told(Search(TABLE), c0="10 mM", c1="20 mM")
    units.save(tmp_path / "s.zip")
    units = Search.load(tmp_path / "s.zip")
    refuses(lambda: told(units, c2="300 µM"), "rewards are in μM, those told before in mM; give them in one unit")
    refuses(lambda: Search(TABLE, "random", x=1), "random has no setting 'x'; it has: none")
    refuses(lambda: Search("gp", TABLE), "policy must have start, got .{0,60}; make one")
    table = pd.DataFrame({"name": ["c0"], "reward": [1.0]})
    refuses(lambda: Search(TABLE).tell(table, results="nope"), "no column nope; it has: name, reward. Name one of them")


@pytest.fixture
def lab(tmp_path):
    lab = Lab(tmp_path)
    lab.measure(genes()[:6])
    return lab


def test_genes_that_are_being_measured_stay_so(lab, capsys):
    """Also where the batch after them is withdrawn; without a word about them the next one is refused."""

    def asked(*more):
        return set(lab.says(capsys, *more, policy="gp", batch=2).split()) & set(genes())

    first, second = asked(), asked("--pending")
    assert not asked("--withdraw", "--pending") & first
    lab.measure(sorted(second))
    assert "still being measured, as --pending said" in lab.says(capsys, policy="gp", batch=2, status=2)
    assert not asked("--pending") & (first | second)
    (lab.rounds / "candidates.zip").unlink()
    asked("--pending")  # the same table goes on without its copy


def test_a_campaign_has_more_than_999_rounds(lab):
    assert lab.suggest(policy="random") == 0
    one = (lab.rounds / "round_001.json").read_text()
    for n in range(2, 1002):
        (lab.rounds / f"round_{n:03d}.json").write_text(one.replace('"number": 1', f'"number": {n}'))
    assert [each.number for each in Campaign(lab.rounds).rounds()] == list(range(1, 1002))
