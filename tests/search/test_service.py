"""What a service needs of a search: nothing printed, a log, threads beside each other, memory that does not grow."""

import ast
import gc
import logging
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bestarm
from bestarm.search.search import Search

TABLE = pd.DataFrame(np.random.default_rng(0).uniform(size=(60, 2)), [f"c{i}" for i in range(60)], ["x", "y"])
PROGRAMS = {"command_line.py", "commands.py"}  # what talks to a person at a terminal


def measured(batch):
    return batch.assign(reward=batch["x"] - batch["y"] ** 2)


def test_the_library_prints_nothing():
    for path in Path(bestarm.__file__).parent.rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        prints = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]
        assert not prints or path.name in PROGRAMS, path


def test_asking_and_telling_are_logged_and_nothing_is_printed(caplog, capfd, tmp_path):
    with caplog.at_level(logging.INFO, logger="bestarm.search"):
        search = Search(TABLE, "neighbours")
        search.tell(measured(search.ask(5)))
        search.ask(3)
        search.predict()
        search.save(tmp_path / "s.zip")
    said = [record.getMessage() for record in caplog.records if record.name == "bestarm.search"]
    assert said == ["round 1: 5 asked, 0 known", "5 measurements told, 5 candidates known", "round 2: 3 asked, 5 known"]
    shown = capfd.readouterr()
    assert (shown.out, shown.err.replace("compiling for the first time", "")) == ("", shown.err)


def campaign(name, seed):
    search = Search(TABLE, name, seed=seed)
    return [search.tell(measured(batch := search.ask(4))) or batch["name"].tolist() for _ in range(4)]


@pytest.mark.parametrize("name", ["gp", "hits", "neighbours", "forest", "thompson", "linear"])
def test_searches_in_threads_do_what_they_do_alone(name):
    """No state outside of a search: four at once, each with its own seed; NumPy's global generator is not used."""
    alone = [campaign(name, seed) for seed in range(4)]
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(partial(campaign, name), range(4))) == alone
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_one_search_in_many_threads():
    """Readers and writers at once: no error, nothing lost, nothing asked twice."""
    search, asked = Search(TABLE, "neighbours"), []

    def work(_):
        for _ in range(4):
            batch = search.ask(2, pending=search.pending)
            asked.extend(batch["name"])
            search.tell(measured(batch), again=True)
            search.predict()
            assert len(search.states) == 60
            search.best(2)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert len(search.history) == len(asked) == 32


def kept_by(rounds):
    """Return the bytes that a search has more after some rounds than 60 rounds before."""
    search = Search(pd.DataFrame(np.random.default_rng(1).uniform(size=(rounds + 1, 2))), "neighbours")
    tracemalloc.start()
    try:
        for number in range(rounds):
            search.tell(search.ask(1).assign(reward=float(number % 7)), again=True)
            if number == rounds - 61:
                gc.collect()
                before = tracemalloc.get_traced_memory()[0]
        search.predict()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_memory_grows_by_the_log_alone():
    """By less than four kilobytes a round, as a log of one candidate a round does; late rounds as early ones."""
    assert max(kept_by(80), kept_by(240)) / 60.0 < 4096
