"""Every experiment of every study is simulated anew at smoke scale, from an empty store; equal parts once."""

import pyarrow.parquet
import pytest

from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.run import make_rows
from bestarm_lab.paths import rows_file
from bestarm_lab.study import load_study, project_seed
from bestarm_lab.study_packages import study_names

CASES = [
    pytest.param(study, name, id=f"{study}-{name}")
    for study in study_names()
    for name, experiment in load_study(study).experiments.items()
    if not (isinstance(experiment, Computation) and experiment.measured)  # times say nothing at this scale
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return the store of all these tests: a part that several experiments have (equal keys) is simulated once."""
    return tmp_path_factory.mktemp("store")


@pytest.mark.parametrize(("study", "name"), CASES)
def test_rows_are_made(study, name, store):
    try:
        experiment = load_study(study).experiment(name).on_data()
        rows = make_rows(experiment, "smoke", seed=project_seed(), store=store)
    except DataUnavailable as error:
        pytest.skip(f"the stand-in needs data, too: {error}")
    parts = experiment.parts("smoke", project_seed())
    n_runs = max(part.replications for part in parts)
    file = rows_file(study, name, "laptop")
    committed = pyarrow.parquet.read_schema(file).names if file.is_file() else []
    assert {"replication", "data", "key"} | {"convention", "series"} & set(committed) <= set(rows.columns)
    assert rows["replication"].nunique() == n_runs
    assert n_runs == 1 or rows["replication"].max() == n_runs - 1
    assert set(rows["key"]) == {part.key for part in parts}
    for part in parts:
        assert set(part.wanted) <= set(rows.columns)
        assert rows[rows["key"] == part.key]["replication"].nunique() == part.replications
