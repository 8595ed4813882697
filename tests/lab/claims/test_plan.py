"""The plans of the studies: looks at their claims, beside the scales of experiments and the committed rows."""

from importlib.resources import files

import pandas as pd
import pytest

from bestarm.plugins import entry_points
from bestarm_lab.paths import rows_file
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names

PLANNED = [(name, experiment) for name in study_names() for experiment in load_study(name).plan]


def test_each_study_has_a_plan():
    """It has looks alone, since runs are said by the experiments; the last look has those of a scale."""
    assert all(
        files(entry_points("bestarm.studies")[name].value).joinpath("plan.yaml").is_file() for name in study_names()
    )
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
