"""Every experiment of every study is simulated anew at smoke scale, from an empty store."""

import pytest

from bestarm.experiments.computation import Computation
from bestarm.experiments.run import make_rows
from bestarm.reporting.study import load_study, project_seed, study_names

CASES = [
    pytest.param(study, name, id=f"{study}-{name}")
    for study in study_names()
    for name, experiment in load_study(study).experiments.items()
    if not (isinstance(experiment, Computation) and experiment.measured)  # times say nothing at this scale
]


@pytest.mark.parametrize(("study", "name"), CASES)
def test_rows_are_made(study, name, tmp_path):
    experiment = load_study(study).experiment(name).on_data()
    rows = make_rows(experiment, "smoke", seed=project_seed(), store=tmp_path)
    parts = experiment.parts("smoke", project_seed())
    assert {"replication", "data", "key"} <= set(rows.columns)
    assert rows["replication"].nunique() == max(part.replications for part in parts)
    assert set(rows["key"]) == {part.key for part in parts}
    for part in parts:
        mine = rows[rows["key"] == part.key]
        assert set(part.wanted) <= set(rows.columns)
        assert mine["replication"].nunique() == part.replications
