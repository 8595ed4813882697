"""What plots, reports, reasons and commands say and keep: cases that were once wrong in silence."""

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from small_screen import Lab, knowing, one_line, phenotypes

import bestarm
from bestarm import Arms, Search, Streams
from bestarm.command_line import main
from bestarm.search import plots, tuning

LINE = pd.DataFrame({"x": np.linspace(0, 1, 20)}, index=[f"c{i}" for i in range(20)])


@pytest.fixture
def lab(tmp_path):
    found = Lab(tmp_path)
    found.measure([f"GENE{i:02d}" for i in range(12)])
    found.suggest(policy="neighbours")
    return found


def told(table, n, policy="neighbours", **settings):
    return knowing(Search(table, policy, **settings), {"name": table.index[:n], "reward": np.arange(float(n))})


def test_what_is_withdrawn_leaves_what_is_measured_beside_it(lab, capsys):
    lab.suggest("--pending", policy="neighbours")
    lab.suggest("--withdraw", policy="neighbours")
    assert not set(lab.batch(1)) & set(lab.batch(2))
    assert "round_002.withdrawn1.json" in {path.name for path in lab.rounds.iterdir()}
    lab.says(capsys, "--check", policy="neighbours")


@pytest.mark.parametrize("lost", [True, False])
def test_a_refused_command_sets_no_batch_aside(lab, capsys, lost):
    """Neither where rows are gone that a round used, nor for a setting that is out of range."""
    before = {path.name: path.read_bytes() for path in lab.rounds.iterdir()}
    if lost:
        lab.phenotypes.write_text("gene,phenotype\nGENE00,1\n")
        assert "11 genes that earlier rounds used" in lab.says(capsys, "--withdraw", status=2, policy="neighbours")
    else:
        said = lab.says(capsys, "--withdraw", "--components", "99", status=2, policy="neighbours")
        assert "components must be between 1 and 3" in said
    assert {path.name: path.read_bytes() for path in lab.rounds.iterdir()} == before


def test_a_check_of_nothing_is_refused_and_leaves_no_folder(lab, capsys):
    other = lab.folder / "another"
    assert "there is no log" in lab.says(capsys, "--check", "--campaign", str(other), status=2, policy="neighbours")
    assert not other.exists()
    assert "--check changes nothing" in lab.says(capsys, "--check", "--withdraw", status=2, policy="neighbours")


def test_options_that_contradict_each_other_are_refused(lab, capsys):
    twice = ("--hit", "3", "--set", "share=0.4")
    assert "--hit and --set share" in lab.says(capsys, *twice, status=2, policy="hits")
    twice = ("--set", "share=.1", "--set", "share=.2")
    assert "--set gives share twice" in lab.says(capsys, *twice, status=2, policy="hits")
    lab.add("GENE99,1")
    symbols = ("--symbols", str(lab.features))
    assert "is no table of an outdated symbol" in lab.says(capsys, *symbols, status=2, policy="neighbours")
    twice = ("--phenotype", "phenotype,phenotype")
    assert "names a column twice" in lab.says(capsys, *twice, status=2, policy="neighbours")


def test_a_replay_does_not_overwrite_the_screen_that_it_reads(lab, capsys):
    screen = lab.folder / "hits.csv"
    phenotypes().to_csv(screen, index_label="gene")
    assert "would be overwritten" in one_line(capsys, "replay", lab.features, screen, "--out", lab.folder)


def test_a_report_of_the_folder_that_one_is_in_lies_beside_it(lab, monkeypatch):
    monkeypatch.chdir(lab.rounds)
    assert main(["report", "."]) == 0
    assert (lab.folder / "phenotypes_rounds.html").exists()


def test_the_report_has_the_conditions_whole(tmp_path):
    table = pd.DataFrame({"T": [298.15, 303.15, 308.15, 313.15], "lot": [20210001, 20210002, 20210003, 20210005]})
    search = told(table.set_axis(list("abcd")), 2)
    search.ask(2)
    search.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert all(text in page for text in ("308.15", "313.15", "20210003", "20210005"))


def test_the_report_has_what_waits_of_no_batch(tmp_path):
    search = told(LINE, 4)
    search.tell(search.ask(1, pending=["c17", "c18"]).assign(reward=1.0))
    search.report(tmp_path / "r.html")
    assert "<p>2 candidates to be measured: c17, c18.</p>" in (tmp_path / "r.html").read_text()


def test_what_cannot_be_chosen_has_no_rank_and_is_not_recommended():
    search = told(LINE, 12, "gp")
    search.exclude(["c17", "c18", "c19"])
    first = search.ask(1)["name"].tolist()
    why = search.why()
    assert (first, why["rank"].tolist()) == (["c16"], [1])
    assert "prediction 1 of 5" in why["why"][0]
    figure = search.plot("map")
    assert "Of those not measured, c16 is the most promising" in figure.axes[0].get_title()
    assert "3 withdrawn" in plots.describe(figure)


def test_what_failed_is_not_named_as_the_nearest_measured():
    search = Search(LINE, "neighbours")
    search.tell(pd.DataFrame({"name": LINE.index[::2], "reward": [*range(0, 10, 2), *["failed"] * 5]}))
    search.ask(8)
    assert {search.states[name] for name in search.why()["nearest"]} == {"measured"}


def test_titles_say_no_more_than_their_numbers():
    single = knowing(Search(LINE, "neighbours"), {"name": ["c0", "c0", "c1", "c2"], "reward": [10.0, 0, 6, 1]})
    assert single.plot("best").axes[0].get_title() == "The best single result so far is 10, of c0"
    assert "0.5 (distance to 2.5)" in told(LINE, 5, aim=2.5).plot("best").axes[0].get_title()
    rng = np.random.default_rng(0)
    noise = Search(pd.DataFrame(rng.uniform(-2, 2, (300, 8)), columns=list("abcdefgh")), "neighbours")
    noise.tell(pd.DataFrame({"name": [str(i) for i in range(60)], "reward": rng.normal(size=60)}))
    assert "explains the most, 0." in noise.plot("importance").axes[0].get_title()
    refuses(lambda: noise.plot("map", features="ab"), "got the text 'ab'")
    told(pd.DataFrame(rng.normal(size=(9, 2)), index=list("abcdefghi")), 3).plot("map", features=(0, 1))
    assert "fewer than three have one" in plots.describe(told(LINE, 2).plot("predicted"))


def test_a_number_far_from_all_others_is_said():
    far = LINE.assign(x=[*LINE["x"][:19], 100.0])
    assert any("100 in x of c19" in sentence for sentence in bestarm.Candidates.of(far).report)
    assert not any("check them" in sentence for sentence in bestarm.Candidates.of(LINE).report)


@pytest.mark.parametrize("size", [5e-324, 1e-170, 1e-149])
def test_rewards_whose_squares_are_zero_are_refused_if_all_are(size):
    search = Search(LINE)
    few = pd.DataFrame({"name": LINE.index[:4], "reward": [size, 3 * size, 2 * size, 0.0]})
    if size < 1e-150:
        refuses(lambda: search.tell(few), r"the largest result is .* in size, too small to compute with; rescale all")
        few.loc[0, "reward"] = 1.0  # beside which they are 0
    search.tell(few)
    assert len(search.ask(2)) == 2
    assert np.isfinite(search.predict()["mean"]).all()


def test_settings_whose_texts_are_shortened_are_all_tried():
    first, other = np.zeros(5000), np.zeros(5000)
    other[2500] = 1.0
    settings = tuning.drawn({"init": [first, other]}, 9, np.random.RandomState(0))
    assert len(settings) == 2
    assert tuning.as_table(settings).drop_duplicates().shape[0] == 2


def test_one_metric_may_be_named_to_refit():
    from sklearn.datasets import load_iris
    from sklearn.tree import DecisionTreeClassifier

    tree, depths = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 4, 5]}
    search = bestarm.BatchSearchCV(tree, depths, n_iter=4, batch_size=2, scoring="accuracy", refit="accuracy")
    assert search.fit(*load_iris(return_X_y=True)).best_score_ > 0.9


def test_a_state_is_of_the_policy_that_started_it():
    made = [bestarm.lucb(1, sigma=0.1), bestarm.m_lingape(1, sigma=0.1)]
    state = made[0].start(Arms(np.eye(4)), Streams.first(1))
    refuses(lambda: made[1].ask(state), "this state is of LUCB")
    refuses(lambda: made[1].recommend(state), "this state is of LUCB")


def test_masked_rewards_failed():
    policy = bestarm.lucb(1, sigma=0.1)
    state = policy.start(Arms(np.eye(4)), Streams.first(1))
    asked = policy.ask(state)
    policy.tell(state, asked, np.ma.masked_array(np.full(asked.arms.shape, 999.0), mask=True))
    assert state.failures_in_a_row[0] == asked.counts.sum()
    refuses(lambda: Streams.first(1, seed=-1), "seed must be a whole number of at least 0")
