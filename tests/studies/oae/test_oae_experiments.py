"""The experiments of the OAE paper: its own scale, what profiles cut, and what a batch costs."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from refusals import raising, refuses

from bestarm.policies.networks.oae import Oae
from bestarm.policies.networks.oae_ensemble import EnsembleSearch
from bestarm.policies.networks.oae_sequential import EnsembleSeqB, SeqB
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.run import make_rows
from bestarm_lab.study import load_study
from bestarm_studies.oae.batch_observer import BatchObserver
from bestarm_studies.oae.checks import LEAST_BATCHES
from bestarm_studies.oae.first_hits import SMALLEST_TAU, TAUS
from bestarm_studies.oae.landscapes import LANDSCAPES, landscape
from bestarm_studies.oae.network_fits import fit_rows
from bestarm_studies.oae.sequential.checks import networks_per_batch
from bestarm_studies.oae.series import VANILLA
from bestarm_studies.oae.theory.linear_runs import CloneArms, SphereArms
from bestarm_studies.oae.uci_sets import UCI_SETS

EXPERIMENTS, CHECKS = load_study("oae").experiments, load_study("oae").checks
ELSEWHERE = re.compile("simulated|contexts|cmap|genedisco|design")  # tested in files of their own
SEARCHES = {name: e for name, e in EXPERIMENTS.items() if isinstance(e, Experiment) and not ELSEWHERE.match(name)}
MANY_RUNS = dict.fromkeys(("synthetic_10_5", "objectives_10_5", "sequential_10_5", "synthetic_100_10"), 100)
MORE_RUNS = {
    **MANY_RUNS,
    **{f"random_{name}": runs for name, runs in MANY_RUNS.items()},
    **dict.fromkeys(("bikes_linear", "blogs_linear"), 200),
    **{"diverse_10_5": 125, "fitted_10_5": 100},  # not from random biases
}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_papers_scale(name):
    """25 runs or more of 150 batches of three arms, 5000 steps and 10 members where there are any."""
    runs = MORE_RUNS.get(name, 25)
    steps = 600 if name == "open_steps_600" else 5000
    for cell in SEARCHES[name].cells("paper"):
        assert (cell.replications, cell.policy.batch, cell.policy.rounds) == (runs, 3, 150)
        assert (getattr(cell.policy, "steps", steps), getattr(cell.policy, "members", 10)) == (steps, 10)
        assert cell.max_pulls >= 450


@pytest.mark.parametrize("name", SEARCHES)
def test_profiles_cut_scale_alone(name):
    """Series, networks and strengths are the same at every profile; landscapes and tables are some of the paper's."""
    paper = {cell.series: cell for cell in SEARCHES[name].cells("paper")}
    for profile in ("smoke", "laptop"):
        cells = SEARCHES[name].cells(profile)
        assert {cell.series for cell in cells} == set(paper)
        for cell in cells:
            theirs = paper[cell.series]
            assert cell.replications <= theirs.replications
            assert cell.policy.rounds <= theirs.policy.rounds
            for setting in ("label", "hidden", "optimism", "objective", "diversity", "kernel", "label_noise", "bias"):
                assert getattr(cell.policy, setting, None) == getattr(theirs.policy, setting, None)


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_end_once_they_have_found_what_is_counted(name):
    """No quantile that is counted is smaller; series whose rewards are drawn go on, and few batches are too few."""
    settings = SEARCHES[name].observe.keywords
    assert settings["until"] == SMALLEST_TAU == min(TAUS)
    name = name.removeprefix("random_")  # from random biases as from zero
    drawn = ("synthetic_10_5", "synthetic_100_10", "bikes_100_10", "blogs_100_10")
    assert settings.get("whole", ()) == (tuple(VANILLA) if name in drawn else ())
    assert settings.get("least", 0) == (LEAST_BATCHES if name in ("synthetic_10_5", "sequential_10_5") else 0)


@pytest.mark.parametrize("name", ["synthetic_10_5", "diverse_10_5", "fitted_10_5"])
def test_the_smallest_networks_are_searched_at_the_papers_scale_on_a_laptop(name):
    """The same policies, so that rows of the one profile are rows of the other."""
    laptop, paper = (SEARCHES[name].cells(profile) for profile in ("laptop", "paper"))
    assert [cell.policy for cell in laptop] == [cell.policy for cell in paper]


def test_open_choices_change_one_thing():
    """Every open choice differs from the base in the policies or in the problem, and not in both."""
    base = SEARCHES["open_base"].cells("laptop")
    for name, experiment in SEARCHES.items():
        if not name.startswith("open_") or name == "open_base":
            continue
        for cell in experiment.cells("laptop"):
            (same,) = (b for b in base if (b.series, b.where) == (cell.series, cell.where))
            other_problem = (cell.problem.func, cell.problem.keywords) != (same.problem.func, same.problem.keywords)
            has_networks = cell.series != "RandomBatch"
            assert other_problem + (cell.policy != same.policy) == (1 if other_problem or has_networks else 0)


def test_rows_of_a_search_have_the_observers_columns(tmp_path):
    """Row t has what the t-th batch was worth; before the first pull there is nothing."""
    rows = make_rows(replace(SEARCHES["diverse_10_5"], observe=BatchObserver), "smoke", seed=1, store=tmp_path)
    assert {"rank", "arm_count", "relative_regret", *BatchObserver.columns} <= set(rows)
    assert rows.loc[rows["round"] == 0, "reward"].isna().all()
    assert rows.loc[rows["round"] > 0, "reward"].notna().all()


def test_an_observer_changes_no_choice_and_is_part_of_the_key(tmp_path):
    whole = replace(SEARCHES["diverse_10_5"], observe=BatchObserver)
    few = replace(whole, series={name: whole.series[name] for name in ("RandomBatch", "DetD 0.1")})
    watched, plain = (make_rows(e, "smoke", seed=1, store=tmp_path) for e in (few, replace(few, observe=None)))
    np.testing.assert_array_equal(watched["rank"], plain["rank"])
    assert not set(watched["key"]) & set(plain["key"])


def test_a_run_that_ended_is_made_again_from_its_rows(tmp_path):
    """The closing row is stored with the others: a second making computes nothing and finds the same."""
    easy = replace(SEARCHES["diverse_10_5"], observe=partial(BatchObserver, until=0.5))
    first = make_rows(easy, "smoke", seed=1, store=tmp_path)
    assert (first["round"].eq(4) & first["reward"].isna()).any()
    spent = []
    again = make_rows(easy, "smoke", seed=1, store=tmp_path / "other", committed=first, spent=spent.append)
    pd.testing.assert_frame_equal(again, first)
    assert not spent


def test_what_was_tried_is_never_worse_than_what_looks_best(tmp_path):
    """With noise the recommended arm is one of those tried; the best of these by true response has a rank as good."""
    rows = make_rows(SEARCHES["open_noise_1"], "smoke", seed=1, store=tmp_path)
    mine = rows[(rows["round"] > 0) & rows["reward"].notna()].sort_values("round")
    best = mine.groupby(["series", "replication"])["tried"].cummin()
    assert (best <= mine["rank"]).all()
    assert (best < mine["rank"]).any()


def test_searches_that_no_profile_cuts_are_at_the_papers_scale():
    """The profile laptop has fewer runs of all searches that their steps or batches leave whole, but of cheap ones."""
    assert {name for name, search in SEARCHES.items() if search.same_scale("laptop", "paper")} == {"plain_days"}
    fits = {n for n, e in EXPERIMENTS.items() if isinstance(e, Computation) and e.same_scale("laptop", "paper")}
    lines = {"contexts_fits", "cmap_fits", "cmap_batches"}
    assert fits == {"fits_synthetic", "random_fits_synthetic", "fits_uci", "evolution"} | lines


def test_fits_take_a_stand_in_where_nobody_has_the_data():
    """Rows of the stand-in; without one the error stays."""
    gone = {"gone": raising(DataUnavailable("nobody has it"))}
    some = {"gone": partial(landscape, LANDSCAPES[0], n_arms=20)}
    settings = {"classes": [()], "learning_rates": [0.01], "at": [1], "steps": 1, "replications": 2, "seed": 0}
    assert set(fit_rows(gone, **settings, stand_ins=some)["panel"]) == {"gone"}
    refuses(lambda: fit_rows(gone, **settings), "nobody has it", DataUnavailable)


def test_networks_of_a_batch_are_counted():
    """One for MeanOpt, M for an ensemble, 2b - 1 for SeqB, Mb for an ensemble arm after arm."""
    for b in (1, 3, 4):
        frame = {"label": "any", "batch": b, "rounds": 9, "hidden": (3,)}
        assert networks_per_batch(Oae(**frame, optimism=0.1)) == 1
        assert networks_per_batch(EnsembleSearch(**frame, members=4)) == 4
        assert networks_per_batch(SeqB(**frame, optimism=0.1)) == 2 * b - 1
        assert networks_per_batch(EnsembleSeqB(**frame, members=4)) == 4 * b


def test_the_cost_of_a_sequence_is_decided_by_counting():
    """2b - 1 = 5 networks for one: at least twice as many, and not six times."""
    test = {"experiments": ["network_counts"], "pairs": {"SeqB 0.1": "MeanOpt 0.1"}}
    counts = EXPERIMENTS["network_counts"]
    rows = {"network_counts": counts.rows.func(**counts.settings_at("laptop"), seed=1)}
    found = CHECKS["cost_of_sequence"](test | {"at_least": 2}, rows)
    assert found.holds
    assert found.text == "SeqB 0.1 trains 5 networks a batch, MeanOpt 0.1 1"
    assert not CHECKS["cost_of_sequence"](test | {"at_least": 6}, rows)[0]


def test_printed_sizes_are_compared_side_by_side():
    names = list(UCI_SETS)
    points, attributes = zip(*(UCI_SETS[name].printed for name in names), strict=True)
    rows = pd.DataFrame({"series": names, "points": points, "attributes": attributes})
    for of in ("points", "attributes"):
        test = {"experiments": ["sizes"], "of": of}
        assert CHECKS["uci_sizes"](test, {"sizes": rows}).holds
        assert not CHECKS["uci_sizes"](test, {"sizes": rows.assign(**{of: [*rows[of].iloc[:-1], 1]})}).holds


@pytest.mark.parametrize("law", [landscape("MultiValleyOneDim"), SphereArms(10, 2), CloneArms(2, 3)])
def test_arms_are_those_of_a_replication(law):
    """The error names the law and what to call."""
    refuses(lambda: law.arms, rf"{re.escape(law.label)}: arms differ by replication; call problem\.take")
    assert law.take(np.arange(3)).features.shape[0] == 3
