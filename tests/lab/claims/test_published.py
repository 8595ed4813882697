"""Figures and verdicts show the paper's own scale where its rows are committed; plans of looks are as these rows."""

from dataclasses import replace

import pandas as pd
import pytest

from bestarm_lab.notebooks.section import Section
from bestarm_lab.paths import rows_file
from bestarm_lab.results import committed_rows, published, verdict_rows
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import has_file, study_names

PLANNED = [(name, experiment) for name in study_names() for experiment in load_study(name).plan]


def test_rows_of_the_paper_profile_come_before_those_of_laptop():
    scale, rows = published("oae", "synthetic_10_5")
    assert scale == "paper"
    assert rows.equals(committed_rows("oae", "synthetic_10_5", "paper"))
    assert not rows.equals(committed_rows("oae", "synthetic_10_5", "laptop"))


def test_rows_of_laptop_are_at_the_papers_scale_where_that_profile_cuts_nothing():
    scale, rows = published("oae", "plain_days")
    assert scale == "paper"
    assert rows.equals(committed_rows("oae", "plain_days", "laptop"))
    assert published("oae", "misspecified")[0] == "laptop"
    study = load_study("oae")
    few = {name: study.experiments[name] for name in ("synthetic_10_5", "plain_days", "misspecified")}
    assert set(verdict_rows(replace(study, experiments=few))[1]) == {"synthetic_10_5", "plain_days"}


def test_a_section_says_at_which_scale_its_rows_are():
    section = Section("oae", "03_vanilla", "laptop")
    section.rows("synthetic_10_5")
    experiment, scale = section.at("synthetic_10_5")
    assert (scale, experiment.scale(scale).replications) == ("paper", 100)
    section.rows("synthetic_10_5", "laptop")
    assert section.at("synthetic_10_5")[1] == "laptop"


def test_experiments_that_are_compared_are_all_at_one_scale():
    section = Section("oae", "01_problem", "laptop")
    section.together("synthetic_10_5", "misspecified")
    assert section.scales == {"synthetic_10_5": "laptop", "misspecified": "laptop"}
    section.together("synthetic_10_5", "plain_days")
    assert section.scales["synthetic_10_5"] == section.scales["plain_days"] == "paper"


def test_each_study_has_a_plan():
    """It has looks alone, since runs are said by the experiments; the last look has those of a scale."""
    assert all(has_file(name, "plan.yaml") for name in study_names())
    assert {name for name, _ in PLANNED} == set(study_names())
    for name, experiment in PLANNED:
        study = load_study(name)
        made = study.experiments[experiment]
        assert study.plan[experiment][-1] in (made.scale("laptop").replications, made.scale("paper").replications)


@pytest.mark.parametrize(("name", "experiment"), PLANNED, ids=lambda value: value)
def test_committed_rows_have_the_runs_of_the_last_look(name, experiment):
    there = [rows_file(name, experiment, scale) for scale in ("paper", "laptop")]
    file = next(file for file in there if file.is_file())
    runs = pd.read_parquet(file, columns=["replication"])["replication"].nunique()
    assert runs == load_study(name).plan[experiment][-1]
