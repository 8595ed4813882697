"""Rows of the studies' experiments at smoke scale, made once for all tests."""

import os
from collections.abc import Callable

import pandas as pd
import pytest

from bestarm_lab.experiments.run import make_rows
from bestarm_lab.study import load_study, project_seed


@pytest.fixture(scope="session")
def smoke_rows(tmp_path_factory) -> Callable[..., pd.DataFrame]:
    """Return a function of a study and an experiment; a part that several have (equal keys) is simulated once.

    Processes of one session share the store, too.
    """
    base = tmp_path_factory.getbasetemp()
    store = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "smoke"

    def rows(study: str, name: str) -> pd.DataFrame:
        return make_rows(load_study(study).experiment(name).on_data(), "smoke", seed=project_seed(), store=store)

    return rows
