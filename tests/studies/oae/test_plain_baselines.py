"""Searches without networks, hits, and what caveats say of both: on known rows, and on the committed ones."""

import re

import numpy as np
import pandas as pd
import pytest
from test_oae_values import made_rows

from bestarm.models.smooth_gp import SmoothGP
from bestarm.policies.batch_search import RandomBatch
from bestarm.policies.model_batches import ForestBatches, GaussianBatches, NeighbourBatches
from bestarm.search.choices import Choice
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.claims.robustness import under_choices
from bestarm_lab.metrics import rank
from bestarm_lab.paths import ROOT
from bestarm_lab.results import committed_rows, read_robustness, readable, stored_rows
from bestarm_lab.study import load_study
from bestarm_studies.oae.first_hits import first_hits, until_found
from bestarm_studies.oae.landscapes import landscape
from bestarm_studies.oae.robustness import CHOICES
from bestarm_studies.oae.values import by_set
from bestarm_studies.oae.vanilla.experiments import PLAIN, ModelSearch
from bestarm_studies.oae.vanilla.figures import divergence_values


def searched(policy, replications):
    problem = landscape("OneHillValleyOneDim", n_arms=60).take(np.asarray(replications))
    streams = Streams(1, "hill", np.asarray(replications))
    return simulate(policy, problem, streams, metrics={"rank": rank}, every=1, max_pulls=100)


@pytest.mark.parametrize("name", PLAIN)
def test_a_replication_does_not_depend_on_its_company(name):
    policy = PLAIN[name](label=name, batch=3, rounds=4, standardise=True)
    both, alone = searched(policy, [2, 5]), searched(policy, [5])
    pd.testing.assert_frame_equal(both[both["replication"] == 5].reset_index(drop=True), alone.reset_index(drop=True))


def test_the_first_batch_is_that_of_every_other_search():
    known = {}
    for policy in (RandomBatch("R", 3, 1), ModelSearch("N", 3, 1)):
        known[policy.label] = searched(policy, [0, 1, 2]).query("round == 1")["rank"].tolist()
    assert known["R"] == known["N"]


def test_batches_are_those_of_the_library():
    """On one set of arms a search is the library's own, whose features and rewards are the same."""
    problem = landscape("OneHillValleyOneDim", n_arms=60).take(np.array([0]))
    inputs = problem.features[0].astype(np.float64)
    inputs = ((inputs - inputs.mean(axis=0)) / inputs.std(axis=0)).astype(np.float32).astype(np.float64)
    streams = Streams(1, "hill", np.array([0]))
    for model in (GaussianBatches("M", 3, 4), ForestBatches("M", 3, 4, trees=20), NeighbourBatches("M", 3, 4)):
        ours = ModelSearch("M", 3, 4, standardise=True, model=model)
        state, theirs = ours.start(problem.arms, streams), model.start(type(problem.arms)(inputs), streams)
        for _ in range(4):
            asked, expected = ours.ask(state), model.ask(theirs)
            np.testing.assert_array_equal(asked.arms, expected.arms)
            totals = problem.means[0][asked.arms]
            ours.tell(state, asked, totals)
            model.tell(theirs, expected, totals)


def test_settings_are_those_of_the_command_line():
    """Those of Gaussian processes are what it had when the rows were made."""
    for series, name in {"Forest": "forest", "Neighbours": "neighbours"}.items():
        own, theirs = PLAIN[series].keywords["model"], Choice(name).search(1, 1)
        assert isinstance(theirs, type(own))
        assert vars(own) == vars(theirs)
    for beta in (0.5, 2.0):
        own, theirs = PLAIN[f"GP {beta:g}"].keywords["model"], Choice("gp", {"beta": beta}).search(1, 1)
        assert isinstance(theirs, type(own))
        assert vars(own) == vars(theirs) | {"model": SmoothGP()}


def test_what_stands_before_the_first_pull_is_no_hit():
    """Nobody has seen arm 0 in round 0, whatever its rank; rows that are read have none there."""
    rows = made_rows({"A": [4]})
    rows.loc[rows["round"] == 0, "rank"] = 1.0
    assert first_hits(rows)["first"].tolist() == [4]
    assert until_found(readable(rows))["round"].tolist() == [0, 1, 2, 3, 4]
    read, held = committed_rows("oae", "bikes_linear", "laptop"), stored_rows("oae", "bikes_linear", "laptop")
    before = held["round"] == 0
    assert held["rank"].notna().all()
    assert (read["rank"].isna() == before).all()
    assert read[~before].equals(held[~before])
    assert read.drop(columns="rank").equals(held.drop(columns="rank"))


def test_ranks_are_counted_in_one_module():
    """Whoever counts ranks takes `first_hits`, which leaves round 0 out."""
    reads = re.compile(r"\[\\?[\"']rank\\?[\"']\]|\.query\([^)]*rank")
    files = [*(ROOT / "src/bestarm_studies/oae").rglob("*.py"), *(ROOT / "notebooks/oae").glob("*.ipynb")]
    assert {file.stem for file in files if reads.search(file.read_text(encoding="utf-8"))} == {"first_hits"}


@pytest.mark.parametrize(
    ("claim", "families"),
    [("OAE-C51a", ["MaxOpt"]), ("OAE-C51b", ["MaxOpt", "MeanOpt"]), ("OAE-C52", ["HingePNorm", "MeanOpt"])],
)
def test_caveats_say_how_many_fits_diverged(claim, families):
    """Shares of fits over the strengths, by table, quoted as they are in the committed rows."""
    caveat = load_study("oae").claims[claim].caveat
    tables = ["bikes_objectives", "blogs_objectives", "bikes_100_10", "blogs_100_10"]
    sets = by_set(*[committed_rows("oae", name, "paper") for name in tables])
    values = divergence_values(sets, "paper").query("statistic == 'share of fits'")
    assert (values.loc[values["series"] == "Greedy", "value"] == 0).all()
    for family in families:
        mine = values[values["series"].str.startswith(family)].groupby("panel", sort=False)["value"]
        for low, high in zip(mine.min(), mine.max(), strict=True):
            words = f"{100 * low:.0f}% to {100 * high:.0f}%" if f"{low:.2f}" != f"{high:.2f}" else f"{100 * low:.0f}%"
            assert words in caveat, f"{family}: {words}"


def test_claims_are_read_at_every_quantile():
    """One claim, decided again on its rows, has the words that are committed; one on other rows is left out."""
    claims = {i: load_study("oae").claims[i] for i in ("OAE-C48a", "OAE-C32")}
    rows = {name: committed_rows("oae", name, "paper") for name in ("bikes_linear", "blogs_linear")}
    found = under_choices(claims, [choice for choice in CHOICES if choice.words.startswith("top")], rows)
    known = read_robustness("oae").query("claim == 'OAE-C48a' and kind == 'choice'").reset_index(drop=True)
    pd.testing.assert_frame_equal(found, known, rtol=1e-3, atol=1e-3)
    assert len(found) == 2
