"""Policies on a finished screen: counts against the plain loop, chance against its law, the table and the figure."""

import math

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from small_screen import NETWORKS, Lab, features, genes, one_line, phenotypes
from test_suggest import choice

from bestarm.command_line import main
from bestarm.search import replay as replay_module
from bestarm.search.campaign import next_round
from bestarm.search.candidates import read_features
from bestarm.search.choices import NAMES, Choice
from bestarm.search.next_batch import Plan
from bestarm.search.replay import CHANCE, chance, hit_counts, hits_of, named_choices, replay
from bestarm.search.replay_figure import hits_figure
from bestarm.search.tables import averaged, read_wells
from bestarm_lab.paths import DATA

REWARDS = phenotypes().to_numpy()
HITS = hits_of(REWARDS, 0.2)


@pytest.fixture
def scores(tmp_path):
    return read_features(Lab(tmp_path).features, []).scores()


@pytest.mark.parametrize("name", ["mean_opt", "ensemble", "seq_b", "linear", "dpp_sample", "thompson", "random"])
def test_a_replay_is_the_lab_s_search(name, tmp_path):
    """One run finds the hits that `suggest` finds round after round on the same phenotypes."""
    table = read_features(Lab(tmp_path).features, [])
    rounds, known, found = [], {}, []
    for _ in range(3):
        rounds.append(next_round(Plan(choice(name), 5), table, known, rounds))
        known |= {g: phenotypes()[g] for g in rounds[-1].names}
        found.append(sum(HITS[genes().index(g)] for g in known))
    assert hit_counts(choice(name), table.scores(), REWARDS, HITS, batch=5, rounds=3, runs=2)[0].tolist() == found


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_searched_to_its_end_has_found_every_hit(name, scores):
    """With the remainder as the last batch, and no gene counted twice."""
    counts = hit_counts(choice(name), scores[:20], REWARDS[:20], HITS[:20], batch=8, rounds=3, runs=2)
    assert counts.shape == (2, 3)
    assert (counts[:, -1] == HITS[:20].sum()).all()
    assert (np.diff(counts, axis=1) >= 0).all()


def test_runs_do_not_depend_on_how_many_there_are_or_on_their_grouping(scores, monkeypatch):
    """Gaussian processes run a few at a time where memory is short."""
    for name in ("thompson", "greedy"):
        many = hit_counts(choice(name), scores, REWARDS, HITS, batch=5, rounds=3, runs=4)
        assert (hit_counts(choice(name), scores, REWARDS, HITS, batch=5, rounds=3, runs=2) == many[:2]).all()
        monkeypatch.setattr(replay_module, "_POSTERIOR_BYTES", 1)
        assert (hit_counts(choice(name), scores, REWARDS, HITS, batch=5, rounds=3, runs=4) == many).all()


def test_chance_is_the_law_of_draws_without_replacement(scores):
    """Mean and middle 95% against 4000 shuffles; and random batches of the library follow it."""
    law = chance(40, 8, 6, 7)
    rng = np.random.default_rng(0)
    drawn = np.array([np.cumsum(rng.permutation(40) < 8)[[5, 11, 17, 23, 29, 35, 39]] for _ in range(4000)])
    np.testing.assert_allclose(law["value"], drawn.mean(axis=0), atol=4 * 1.3 / np.sqrt(4000))
    assert (((drawn >= law["low"].to_numpy()) & (drawn <= law["high"].to_numpy())).mean(axis=0) >= 0.94).all()
    counts = hit_counts(Choice("random"), scores, REWARDS, HITS, batch=6, rounds=7, runs=400)
    np.testing.assert_allclose(counts.mean(axis=0), law["value"], atol=4 * 1.3 / np.sqrt(400))


def test_policies_that_learn_are_ahead_of_chance_where_there_is_something_to_learn(scores):
    """A linear phenotype: after 15 of 40 genes most of the 8 best, where chance has found 3."""
    rewards = features()["a"].to_numpy()
    hits = hits_of(rewards, 0.2)
    choices = [Choice("gp_bucb"), Choice("linear"), Choice("greedy", {"hidden": (20,), "steps": 300})]
    table = replay(choices, scores, rewards, hits, batch=5, rounds=3, runs=8)
    last = table[table["x"] == 3].set_index("series")["value"]
    assert last[CHANCE] == 3.0
    assert (last.drop(CHANCE) > 5.0).all()


def test_hits_by_share_and_by_threshold():
    """Ties with the last hit count; nothing and everything are refused."""
    rewards = np.array([5.0, 1.0, 4.0, 4.0, 2.0])
    assert hits_of(rewards, 0.4).tolist() == [True, False, True, True, False]
    assert hits_of(rewards, 0.4, threshold=4.5).tolist() == [True, False, False, False, False]
    refuses(lambda: hits_of(rewards, 0.1, threshold=9.0), "no gene is a hit at 9; choose another --hit or --top")
    refuses(lambda: hits_of(rewards, 0.1, threshold=0.0), "every gene is a hit at 0")
    refuses(lambda: hits_of(rewards, 1.0), "top must be a share between 0 and 1, got 1")


def test_a_policy_twice_is_shown_with_its_settings():
    names = named_choices([Choice("greedy"), Choice("greedy", {"steps": 9}), Choice("linear")])
    assert list(names) == ["greedy (defaults)", "greedy (steps=9)", "linear"]
    refuses(lambda: named_choices([Choice("greedy"), Choice("greedy")]), r"the policy greedy .defaults. is there twice")


def test_the_command_writes_a_table_and_a_figure(tmp_path, capsys):
    """Numbers printed are those of the table; genes without a phenotype are left out; the same call, the same bytes."""
    lab = Lab(tmp_path)
    lab.measure(genes(), failed=genes()[:2])
    out = tmp_path / "out"
    arguments = ["replay", str(lab.features), str(lab.phenotypes), "--policy", "neighbours", "--policy", "random"]
    arguments += ["--batch", "6", "--rounds", "4", "--runs", "3", "--top", "0.2", "--out", str(out)]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "note: 2 genes without a phenotype are left out." in shown
    assert "8 of 38 genes are hits; mean hits [95% interval] of 3 runs:" in shown
    table = pd.read_csv(out / "hits.csv")
    assert list(dict.fromkeys(table["series"])) == ["neighbours", "random", CHANCE]
    assert table.groupby("series")["x"].max().eq(4).all()
    last = table[(table["series"] == CHANCE) & (table["x"] == 4)]["value"].iloc[0]
    assert last == pytest.approx(24 * 8 / 38, abs=1e-4)
    assert f"{last:.1f}" in shown
    assert (out / "hits.png").stat().st_size > 5000
    before = (out / "hits.csv").read_bytes()
    assert (main(arguments), (out / "hits.csv").read_bytes()) == (0, before)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "greedie"], "there is no policy 'greedie'; did you mean greedy? There are: "),
        (["--policy", "greedy", "--policy", "random", "--set", "steps=3"], "--set is for one --policy"),
        (["--policy", "greedy", "--policy", "greedy"], "is there twice"),
        (["--top", "2"], "top must be a share between 0 and 1, got 2"),
        (["--runs", "1"], "runs must be a whole number of at least 2, got 1"),
        (["--rounds", "0"], "rounds must be a whole number of at least 1, got 0"),
        (["--hit", "1e9"], "no gene is a hit at 1e+09"),
        (["--aim", "low", "--hit", "-1e9"], "no gene is a hit at -1e+09"),
        (["--hit", "nan"], "--hit must be a finite number, got nan"),
        (["--seed", "-1"], "seed must be a whole number of at least 0, got -1"),
    ],
)
def test_what_a_replay_refuses(arguments, words, tmp_path, capsys):
    lab, out = Lab(tmp_path), tmp_path / "out"
    lab.measure(genes())
    assert words in one_line(capsys, "replay", lab.features, lab.phenotypes, "--out", out, *arguments)
    assert not out.exists()


def test_a_screen_that_is_not_finished_is_refused(tmp_path, capsys):
    lab = Lab(tmp_path)
    lab.measure(genes()[:1])
    shown = one_line(capsys, "replay", lab.features, lab.phenotypes)
    assert "has 1 genes with a phenotype; a replay needs a finished screen" in shown


def test_the_figure_shows_every_policy_and_chance(scores):
    table = replay([Choice("random")], scores, REWARDS, HITS, batch=6, rounds=4, runs=3)
    figure = hits_figure(table, int(HITS.sum()), 6)
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].get_lines()}
    for series, mine in table.groupby("series"):
        np.testing.assert_array_equal(lines[series], mine["value"])


def test_the_example_files_agree_and_are_small():
    """500 genes in both, no gap, licence and source beside them."""
    folder = DATA / "example_screen"
    notes = []
    table = read_features(folder / "features.csv", notes)
    found, _ = averaged(*read_wells(folder / "finished_screen.csv", "", notes)[:2])
    assert (notes, table.values.shape, sorted(found)) == ([], (500, 24), sorted(table.names))
    assert not any(math.isnan(value) for value in found.values())
    assert sum(path.stat().st_size for path in folder.iterdir()) < 200_000
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in text
    assert "10.1038/s41467-021-21213-4" in text


def test_networks_are_those_with_small_defaults_here():
    assert set(NETWORKS) < set(NAMES)
    assert all(Plan(Choice(name), 1).by_networks == (name in NETWORKS) for name in NAMES)
