"""Files of a search: of every format for ever, whole whatever happens, nobody's measurements wiped."""

import io
import itertools
import json
import multiprocessing
import os
import shutil
import signal
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import raising, refuses

import bestarm
from bestarm.command_line import main
from bestarm.policies.batch_search import RandomBatch
from bestarm.search.search import Search
from bestarm.search.search_files import archive_of, parts_of

OLD = Path(__file__).parent / "format_2"
NEXT = json.loads((OLD / "what_comes_next.json").read_text())
TABLE = pd.DataFrame(np.random.default_rng(0).uniform(size=(30, 2)), [f"c{i}" for i in range(30)], ["x", "y"])


def told(*names, value=1.0):
    return pd.DataFrame({"name": list(names), "reward": value})


@pytest.mark.parametrize("name", NEXT)
def test_a_file_of_format_2_opens_for_ever_and_goes_on(name, tmp_path):
    """It was written by bestarm 0.1.0 at commit f08d303; what comes next is what that version would have asked."""
    shutil.copy(OLD / f"{name}.npz", tmp_path / "old.npz")
    search = Search.load(tmp_path / "old.npz")
    told_before = search.history
    assert len(told_before) > 0
    for number, wanted in enumerate(NEXT[name]):
        batch = search.ask()
        assert batch["name"].tolist() == wanted
        if not wanted:
            break
        search.tell(batch.assign(reward=[0.5 + 0.4 * np.sin(3.0 * sum(map(ord, name))) for name in batch["name"]]))
        search.save(tmp_path / ("old.npz" if number else "new.zip"))
        search = Search.load(tmp_path / ("old.npz" if number else "new.zip"))
        (tmp_path / "old.npz").unlink(missing_ok=True)
    pd.testing.assert_frame_equal(search.history.iloc[: len(told_before)], told_before)


def test_a_log_of_format_1_opens_for_ever_and_goes_on(tmp_path, capsys):
    """Its batches are made anew, its batch that waits is shown, its next round is in format 2."""
    shutil.copytree(OLD / "suggest", tmp_path / "lab")
    features, phenotypes = tmp_path / "lab" / "features.csv", tmp_path / "lab" / "phenotypes.csv"
    arguments = ["suggest", str(features), str(phenotypes), "--policy", "gp_bucb", "--batch", "4", "--aim", "low"]
    assert (main([*arguments, "--check"]), main(arguments)) == (0, 0)
    assert capsys.readouterr().out.count("the same batch") == 4
    plate = pd.read_csv(tmp_path / "lab" / "phenotypes_rounds" / "round_003_plate.csv")
    with open(phenotypes, "a") as file:
        file.writelines(f"{gene},1.5\n" for gene in plate["gene"])
    assert main(arguments) == 0
    assert json.loads((tmp_path / "lab" / "phenotypes_rounds" / "round_004.json").read_text())["format"] == 2
    assert main([*arguments, "--check"]) == 0


def changed(path, change, member="search.json"):
    """Change the log within a file, with right checksums."""
    parts = parts_of(path.read_bytes())
    if member == "search.json":
        meta = json.loads(parts[member])
        change(meta)
        parts[member] = json.dumps(meta).encode()
    else:
        file = io.BytesIO()
        np.save(file, change(np.load(io.BytesIO(parts[member]))))
        parts[member] = file.getvalue()
    path.write_bytes(archive_of(parts))


def a_file(tmp_path):
    search = Search(TABLE, "random", seed=4)
    search.tell(told("c3", "c4"))
    search.tell(search.ask(3).assign(reward=2.0))
    search.ask(2)
    search.save(tmp_path / "s.zip")
    return search, tmp_path / "s.zip"


CHANGES = {
    "fewer names": lambda m: m["candidates"]["names"].pop(),
    "names twice": lambda m: m["candidates"]["names"].__setitem__(0, "c1"),
    "another column": lambda m: m["candidates"]["columns"].pop(),
    "a round less": lambda m: m["rounds"].pop(0),
    "a measurement of nobody": lambda m: m["measurements"][0].__setitem__(1, "c99"),
    "a measurement that is a word": lambda m: m["measurements"][0].__setitem__(2, "much"),
    "a measurement of a later round": lambda m: m["measurements"][0].__setitem__(0, 7),
    "an infinite measurement": lambda m: m["measurements"][0].__setitem__(2, 1e999),
    "nobody waits": lambda m: m["waiting"].__setitem__("c99", 1),
    "a negative number waits": lambda m: m["waiting"].__setitem__("c1", -1),
    "nobody withdrawn": lambda m: m["withdrawn"].append("c99"),
    "no seed": lambda m: m.pop("seed"),
    "a word as seed": lambda m: m.__setitem__("seed", "x"),
    "another aim": lambda m: m.__setitem__("aim", "up"),
    "no policy": lambda m: m.__setitem__("policy", {}),
    "a strange policy": lambda m: m.__setitem__("policy", {"policy": {"record": "os:system", "settings": {}}}),
    "a batch of nobody": lambda m: m["rounds"][0]["suggested"][0].__setitem__("name", "c99"),
    "a number as a name": lambda m: m["rounds"][0]["suggested"][0].__setitem__("name", 5),
    "a list": lambda m: m.__setitem__("rounds", 3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_was_changed_inside_is_refused(name, tmp_path):
    _, path = a_file(tmp_path)
    changed(path, CHANGES[name])
    refuses(lambda: Search.load(path), r"damaged|do not trust this file")


@pytest.mark.parametrize(
    "change", [lambda a: a[:-1], lambda a: a[:, :1], lambda a: a.astype(np.float32), lambda a: a * np.inf]
)
def test_numbers_that_were_changed_are_refused(change, tmp_path):
    _, path = a_file(tmp_path)
    changed(path, change, "numbers.npy")
    refuses(lambda: Search.load(path), "damaged")


def test_bytes_that_changed_and_later_formats_are_refused(tmp_path):
    """Every eleventh byte flipped, cut anywhere; a format of the future names the version that it takes."""
    search, path = a_file(tmp_path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 11):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        try:
            found = Search.load(path)
        except ValueError:
            continue
        pd.testing.assert_frame_equal(found.history, search.history)
        assert found.rounds == search.rounds or place  # a byte of a zip archive that nothing reads
    for end in range(0, len(whole), 97):
        path.write_bytes(whole[:end])
        refuses(lambda: Search.load(path), "no saved search, or it is damaged")
    path.write_bytes(whole)
    changed(path, lambda m: m.update(format=99, version="9.9"))
    refuses(lambda: Search.load(path), r"has format 99, this bestarm .* reads up to 5; install bestarm 9.9 or later")


def test_nobody_s_measurements_are_wiped(tmp_path):
    """Two load one file, both tell, both save: the second is refused; another search does not replace this one."""
    _, path = a_file(tmp_path)
    one, two = Search.load(path), Search.load(path)
    one.tell(told("c7", value=5.0))
    one.save(path)
    one.save(path)
    two.tell(told("c8", value=6.0))
    refuses(lambda: two.save(path), r"saved by somebody else since .*; load it, tell it what is new here, or save")
    assert "c7" in set(Search.load(path).history["name"])
    with pytest.raises(ValueError, match=r"holds another search, with 6 measurements; choose another name, or write"):
        Search(TABLE, "random").save(path)
    for name, begin in {"batch": lambda s: s.ask(2), "exclusion": lambda s: s.exclude(["c1"])}.items():
        begin(begun := Search(TABLE, "random"))
        begun.save(tmp_path / name)
        refuses(lambda: Search(TABLE).save(tmp_path / name), f"holds another search, with 1 {name}; choose")  # noqa: B023
    refuses(lambda: two.save(os.devnull), "is a device or a pipe, no file; name a file")
    two.save(path, overwrite=True)
    assert "c8" in set(Search.load(path).history["name"])
    (tmp_path / "notes.txt").write_text("my notes")
    refuses(lambda: two.save(tmp_path / "notes.txt"), "holds what is no search, or is damaged; choose another name")
    assert (tmp_path / "notes.txt").read_text() == "my notes"


def campaigner(path, name, tries):
    """Tell one result and save, loading anew where somebody else was quicker."""
    for _ in range(tries):
        search = Search.load(path)
        if name not in set(search.history["name"]):
            search.tell(told(name))
        try:
            return search.save(path)
        except ValueError:
            time.sleep(0.01)
    os._exit(1)


def test_two_processes_on_one_campaign(tmp_path):
    _, path = a_file(tmp_path)
    context = multiprocessing.get_context("fork")
    names = ["c10", "c11", "c12", "c13"]
    running = [context.Process(target=campaigner, args=(path, name, 200)) for name in names]
    for process in running:
        process.start()
    for process in running:
        process.join(120)
        assert process.exitcode == 0
    assert set(names) <= set(Search.load(path).history["name"])
    assert [p.name for p in tmp_path.iterdir()] == ["s.zip"]


def test_threads_on_one_search(tmp_path):
    search = Search(TABLE, "random")

    def work(number):
        for i in range(5):
            search.tell(told(f"c{5 * number + i}", value=float(number)))
            search.ask(1)
            search.save(tmp_path / "s.zip")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(Search.load(tmp_path / "s.zip").history) == 20


def saver(path):
    search = Search.load(path)
    for number in itertools.count(len(search.history)):
        search.tell(told(f"c{number % 30}", value=float(number)), again=True)
        search.save(path)


def test_killed_in_the_middle_of_a_save_fifty_times(tmp_path):
    """The file loads each time, with no measurement less than before, and what kills left behind is removed."""
    _, path = a_file(tmp_path)
    context, known, rng = multiprocessing.get_context("fork"), 5, np.random.default_rng(0)
    for _ in range(50):
        process = context.Process(target=saver, args=(path,))
        process.start()
        time.sleep(0.02 + 0.05 * rng.random())
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        found = Search.load(path).history
        assert len(found) >= known
        assert found["reward"].iloc[5:].tolist() == [float(n) for n in range(5, len(found))]
        known = len(found)
    assert known > 5
    Search.load(path).save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["s.zip"]


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_full_disk_leaves_the_last_file(where, tmp_path, monkeypatch):
    search, path = a_file(tmp_path)
    before = path.read_bytes()
    search.tell(told("c9"))
    with monkeypatch.context() as patch:
        patch.setattr(os, where, raising(OSError(28, "No space left on device", "hidden")))
        refuses(lambda: search.save(path), r"No space left on device: '.*s\.zip'", OSError)
    assert (path.read_bytes(), [p.name for p in tmp_path.iterdir()]) == (before, ["s.zip"])
    search.save(path)
    assert "c9" in set(Search.load(path).history["name"])


def test_a_folder_that_is_not_there_or_cannot_be_written(tmp_path, monkeypatch):
    search, _ = a_file(tmp_path)
    absent, said = tmp_path / "none" / "s.zip", r"there is no folder .*none; make it, or name a file elsewhere\."
    refuses(lambda: search.save(absent), said, FileNotFoundError)

    def refuse(file, *arguments, **more):
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr("builtins.open", refuse)
    refuses(lambda: search.save(tmp_path / "t.zip"), r"Permission denied: '.*t\.zip'", PermissionError)


def test_a_policy_that_no_file_can_hold(tmp_path):
    @dataclass(frozen=True)
    class Mine(RandomBatch):
        pass

    search = Search(TABLE, Mine("mine", 2, 2))
    search.tell(search.ask().assign(reward=1.0))
    search.ask(3)
    assert search.check() == []
    refuses(lambda: search.save(tmp_path / "s.zip"), "a Mine cannot be saved: files hold policies of bestarm alone")
    assert list(tmp_path.iterdir()) == []


def test_the_log_can_be_read_by_any_program(tmp_path):
    """JSON and NPY in a ZIP archive, equal for equal searches."""
    search, path = a_file(tmp_path)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["numbers.npy", "search.json"]
        meta = json.loads(archive.read("search.json"))
    assert (meta["format"], meta["candidates"]["names"]) == (3, list(TABLE.index))
    assert (meta["measurements"][0], sorted(meta["waiting"])) == ([0, "c3", 1.0], sorted(search.pending))
    page = (Path(bestarm.__file__).parents[2] / "docs" / "search_files.md").read_text(encoding="utf-8")
    for field in [*meta, *meta["rounds"][0]]:
        assert f"`{field}`" in page, field
