"""Checks that read no rows, and checks that do: the signature says which."""

import ast
import inspect
import textwrap

import pandas as pd
import pytest

from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names


def half(test):
    """Check that a half is less than one."""
    return Decision(test["of"] / 2 < 1, "a half")


def test_a_check_without_rows_is_called_with_its_settings_alone():
    check = Check(half, {"of": "number"})
    assert check({"of": 1}, {}).holds
    assert not check({"of": 2}, {"fig1": pd.DataFrame()}).holds
    assert not check.reads_rows


def test_a_check_without_rows_cannot_ask_for_experiments():
    with pytest.raises(ValueError, match="half reads no rows; take experiments out of its settings"):
        Check(half, {"experiments": "experiments"})


@pytest.mark.parametrize("study", study_names())
def test_a_check_with_rows_reads_them(study):
    for name, check in load_study(study).checks.items():
        rows = list(inspect.signature(check.decide).parameters)[1:]
        body = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(check.decide))))
        read = {n.id for n in ast.walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        assert set(rows) <= read, f"{name} does not read {', '.join(rows)}; drop that argument."
