"""Plots of a search: their numbers against the naive way, what is drawn, what is said in place of it or meanwhile."""

import itertools
import logging
import math
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from small_screen import knowing

import bestarm
from bestarm.search import plots, progress
from bestarm.search.search import Search

CANDIDATES = pd.DataFrame(
    np.random.default_rng(0).uniform(-1.0, 1.0, (40, 3)), index=[f"c{i}" for i in range(40)], columns=["x", "y", "z"]
).assign(salt=["a", "b", "c", "d"] * 10)
REWARD = np.exp(-((CANDIDATES["x"] - 0.2) ** 2) * 4.0) + 0.3 * (CANDIDATES["salt"] == "b")


def told(policy="neighbours", n=12, table=CANDIDATES, **settings):
    """Return a search that was told n rewards in two batches, the third of them failed, and waits for four."""
    search = Search(table, policy, **settings)
    for part in (table.index[: n // 2], table.index[n // 2 : n]):
        reward = [REWARD[name] if name != "c2" else "failed" for name in part]
        search.tell(pd.DataFrame({"name": part, "reward": reward}))
    search.ask(4)
    return search


@pytest.mark.parametrize("rewards", [[3.0, 1.0, 2.0], [0.5, 0.5, -1.0, 2.0, 7.0], [4.0]])
def test_chance_is_the_mean_over_all_orders_and_that_of_thousands_finite(rewards):
    naive = np.maximum.accumulate(np.array(list(itertools.permutations(rewards))), axis=1).mean(axis=0)
    np.testing.assert_allclose(plots.expected_best(np.array(rewards), np.arange(1, len(rewards) + 1)), naive)
    found = plots.expected_best(np.random.default_rng(0).standard_normal(5000), np.array([1, 50, 2500, 5000]))
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0.0).all()


def test_a_feature_explains_what_its_groups_explain():
    """All of a hill over one feature, except what varies within tenths; nothing of noise; words by their groups."""
    random = np.random.default_rng(1)
    table = pd.DataFrame({"x": random.uniform(-1, 1, 2000), "noise": random.uniform(-1, 1, 2000), "flat": 1.0})
    table["salt"] = random.choice(["a", "b"], 2000)
    found = plots.explained_shares(bestarm.Candidates.of(table), np.asarray(table["x"] ** 2))
    assert found["x"] > 0.95
    assert found.index[0] == "x"
    assert (found[["noise", "salt", "flat"]] < 0.02).all()
    by_word = plots.explained_shares(bestarm.Candidates.of(table), np.asarray(table["salt"] == "a", dtype=np.float64))
    assert by_word["salt"] == pytest.approx(1.0)
    assert not plots.explained_shares(bestarm.Candidates.of(CANDIDATES), np.ones(40)).any(), "a constant prediction"
    assert not math.isnan(plots.explained_shares(bestarm.Candidates.of(CANDIDATES[:2]), np.arange(2.0)).sum())


@pytest.mark.parametrize("policy", ["gp", "neighbours", "forest", bestarm.linear_oae(4, 3)])
def test_left_out_is_what_a_search_without_it_predicts(policy):
    search = told(policy)
    found = plots.left_out(search).set_index("name")
    assert list(found.index) == [f"c{i}" for i in range(12) if i != 2]
    np.testing.assert_array_equal(found["measured"], REWARD[found.index])
    for name in ("c0", "c9"):
        naive = Search(CANDIDATES, policy)
        naive.tell(search.history[search.history["name"] != name].dropna()[["name", "reward"]])
        expected = naive.predict().set_index("name")["mean"][name]
        assert found["predicted"][name] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_refits_are_capped_evenly_and_said():
    search = told("neighbours")
    assert list(plots.left_out(search, 3)["name"]) == ["c0", "c6", "c11"]
    figure = search.plot("predicted", refits=4)
    assert any("(4 of 11)" in figure.axes[0].get_title(loc=place) for place in ("left", "center"))
    assert "4 of 11 measured candidates" in plots.describe(figure)
    assert "fewer than three" in plots.describe(search.plot("predicted", refits=0))
    search = told("neighbours", 20, pd.DataFrame(np.random.default_rng(4).uniform(size=(40, 900)), CANDIDATES.index))
    assert [len(plots.left_out(search)), len(plots.left_out(search, 19))] == [5, 19]  # of 19 x 900 numbers


@pytest.mark.parametrize(
    ("aim", "word"), [("max", "reward"), ("min", "reward"), ("both", "size"), (0.5, "distance to 0.5")]
)
def test_every_aim_is_drawn_in_its_units(aim, word):
    search = told(aim=aim)
    figure = search.plot()
    assert len(figure.axes) == 5  # four panels and a colour bar
    assert word in figure.axes[0].get_ylabel()
    best = float(figure.axes[0].lines[-2].get_ydata()[-1])
    rewards = search.history["reward"].dropna()
    expected = {"max": rewards.max(), "min": rewards.min(), "both": rewards.max()}
    assert best == pytest.approx(expected.get(aim, (rewards - 0.5).abs().min()))
    assert len(plots.describe(figure).splitlines()) == 4
    assert "11 measured, 1 failed, 4 to be measured" in plots.describe(figure)


def test_looking_changes_nothing(tmp_path):
    seen, unseen = told("gp"), told("gp")
    seen.plot(refits=3)
    seen.report(tmp_path / "page.html", refits=3)
    repr(seen), seen._repr_html_()
    assert list(seen.ask(6)["name"]) == list(unseen.ask(6)["name"])
    assert seen.check() == []


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (CANDIDATES, "x and salt"),
        (CANDIDATES[["x"]], "x and prediction"),
        (CANDIDATES[["salt", "x"]].assign(x=1.0), "salt and prediction"),
        (pd.DataFrame(np.random.default_rng(2).uniform(size=(40, 12)), CANDIDATES.index), "principal components"),
        (CANDIDATES.assign(salt=[f"w{i // 2}" for i in range(40)]), "principal components"),
    ],
)
def test_a_map_for_every_table(table, words):
    assert words in plots.describe(told(table=table).plot("map"))


def test_features_of_the_map_can_be_chosen_and_a_notebook_shows_it_with_its_text():
    data, metadata = told().plot("best")._repr_png_()
    assert data[:4] == b"\x89PNG"
    assert metadata["alt"].startswith("Best so far against results")
    figure = told().plot("map", features=["z", "salt"])
    assert [figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()] == ["z", "salt"]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == list("abcd")


def test_names_are_no_formulas(tmp_path):
    table = CANDIDATES.rename(index=lambda name: f"${name}_{{$").rename(columns={"x": "$\\frac$"})
    search = knowing(Search(table, "neighbours"), {"name": table.index[:9], "reward": REWARD.to_numpy()[:9]})
    search.plot().savefig(tmp_path / "plot.png")


def test_mistakes_are_named():
    search = told()
    refuses(lambda: search.plot("maps"), r"no panel 'maps'; there are: best, predicted, map, importance")
    refuses(lambda: search.plot("map", features=["dose", "x"]), r"no feature 'dose'; there are: x, y, z, salt")
    refuses(lambda: search.plot("map", features=["x"]), r"a map has 2 features, got 1")
    refuses(lambda: search.plot(refits=-1), r"refits must be .*-1")
    refuses(lambda: Search(CANDIDATES).plot(), r"nothing to plot before a result is told")
    with pytest.raises(ValueError, match=r"sequential: .* has no plots"):
        Search(CANDIDATES[["x", "y"]], bestarm.m_lingape(n_best=1, delta=0.1, sigma=0.1)).plot()


def test_equal_rewards_and_a_single_one_are_drawn():
    for n in (1, 5):
        search = knowing(Search(CANDIDATES, "neighbours"), {"name": CANDIDATES.index[:n], "reward": 2.0})
        assert "2" in plots.describe(search.plot())


def test_without_matplotlib_the_remedy_is_said():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np, pandas as pd, bestarm\n"
        "search = bestarm.Search(np.eye(5), 'neighbours')\n"
        "search.tell(pd.DataFrame({'name': [0, 1], 'reward': [1.0, 2.0]}))\n"
        "search._repr_html_()\n"
        "search.plot()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1] == "ImportError: plots need matplotlib: pip install 'bestarm[plot]'"


@pytest.fixture
def said(monkeypatch, caplog):
    """Return the lines of the log, in which what takes more than a twentieth of a second is said."""
    monkeypatch.setattr(progress, "AFTER", 0.05)
    with caplog.at_level(logging.INFO, "bestarm.search"):
        yield caplog


@pytest.mark.parametrize(("seconds", "times"), [(0.0, 0), (0.2, 1)])
def test_what_takes_long_is_said_once(seconds, times, said):
    with progress.noted("choosing batch 3"), progress.noted("a prediction"):
        time.sleep(seconds)
    time.sleep(0.1)
    assert ["choosing batch 3 takes more than" in line for line in said.messages] == [True] * times


def test_compiling_is_said_while_it_lasts(said):
    import numba

    def slow(x):
        for i in range(3):
            x += np.linalg.norm(np.ones((3, 3)) * i) + np.sort(np.ones(5) * x)[0]
        return x

    with progress.noted("choosing batch 1"):
        numba.njit(slow)(1.0)
    assert any("is being compiled once" in line for line in said.messages)


def test_a_terminal_is_warned_and_a_file_is_not(monkeypatch, said):
    for watched, level in ((True, "WARNING"), (False, "INFO")):
        monkeypatch.setattr(progress, "_watched", lambda watched=watched: watched)
        with progress.noted("the figure"):
            time.sleep(0.2)
        assert said.records[-1].levelname == level


CODE = """
import time
from bestarm.search import progress
progress.AFTER = 0.05
with progress.noted("a round"):
    time.sleep(1.0)
print("done")
"""


@pytest.mark.parametrize("watched", [True, False])
def test_what_takes_long_is_shown_until_it_is_done(watched):
    """By the messages of a kernel, begun as Jupyter's server begins one, or as nbclient does."""
    manager = pytest.importorskip("jupyter_client").KernelManager(kernel_name="python3")
    environment = {k: v for k, v in os.environ.items() if k != "JPY_SESSION_NAME"}
    manager.start_kernel(env=environment | ({"JPY_SESSION_NAME": "a.ipynb"} if watched else {}))
    client = manager.client()
    client.start_channels()
    seen = []
    try:
        client.wait_for_ready(timeout=60)
        client.execute_interactive(CODE, timeout=60, output_hook=seen.append)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert [m["content"]["text"] for m in seen if m["msg_type"] == "stream"] == ["done\n"]
    displays = [m for m in seen if m["msg_type"] in ("display_data", "update_display_data")]
    shown = [("display_data", "bestarm: a round takes more than 0 s."), ("update_display_data", "")]
    assert [(m["msg_type"], m["content"]["data"]["text/plain"]) for m in displays] == (shown if watched else [])
