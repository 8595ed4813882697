"""The audits compare what they say: "as coded" has the settings of the authors' code, and a change is one change."""

from dataclasses import fields, replace

import pytest

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.series import SEPARATOR
from bestarm_lab.study import load_study

EXPERIMENTS = load_study("linear_topm").experiments

CODED = f"{SEPARATOR}as coded"


def policies(name):
    experiment = EXPERIMENTS[name]
    assert isinstance(experiment, Experiment)
    return {cell.series: cell.policy for cell in experiment.cells("laptop") if cell.convention == "as_written"}


AUDITS = [name for name, e in EXPERIMENTS.items() if isinstance(e, Experiment) and any(CODED in s for s in e.series)]


def test_there_are_audits_of_all_three_panels_and_of_lingame():
    assert AUDITS == ["audit_fig1a", "audit_fig1b", "audit_fig1c", "audit_lingame"]


@pytest.mark.parametrize("name", AUDITS)
def test_as_coded_in_the_audits_has_the_settings_of_the_authors_code(name):
    """A series "A | as coded" is what the policy A itself says of its authors' code."""
    found = policies(name)
    coded = [series for series in found if series.endswith(CODED)]
    assert coded
    for series in coded:
        policy = found[series.removesuffix(CODED)]
        assert found[series] == policy.as_coded() != policy


@pytest.mark.parametrize("name", AUDITS)
def test_a_change_keeps_the_ties_of_its_algorithm_and_changes_something(name):
    """A series "A | B" has the label of A, which keys the random ties, and differs from A in some setting."""
    found = policies(name)
    for series, policy in found.items():
        algorithm, _, change = series.partition(SEPARATOR)
        if change:
            mine = found[algorithm]
            differing = [f.name for f in fields(mine) if getattr(mine, f.name) != getattr(policy, f.name)]
            assert policy.label == mine.label
            assert differing
            assert replace(mine, **{n: getattr(policy, n) for n in differing}) == policy
