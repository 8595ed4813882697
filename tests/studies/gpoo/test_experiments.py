"""The experiments of the GPOO study say what they are meant to say."""

import pytest

from bestarm_lab.study import load_study

EXPERIMENTS = load_study("gpoo").experiments


@pytest.mark.parametrize("function", ["f1", "f2", "f3"])
def test_all_deviations_together_are_the_authors_code(function):
    """The audit's last step of each algorithm is that of the convention ``as_coded``, on the authors' function."""
    cells = {(c.series, c.budget): c for c in EXPERIMENTS[f"audit_{function}"].cells("smoke")}
    last = {key: cell for key, cell in cells.items() if key[0].endswith(" | all of these")}
    assert len({series for series, _ in last}) == 5
    for (series, budget), cell in last.items():
        first = cells[series.removesuffix(" | all of these"), budget]
        assert cell.policy == first.policy.as_coded()
        assert cell.build().design == first.build().as_coded().design


def test_every_run_of_a_figure_keeps_to_its_budget():
    """Series with a run for each budget have one for every budget of the other series."""
    cells = EXPERIMENTS["fig4_f1"].cells("laptop")
    for series in ("StoOO", "AVE-StoOO"):
        assert [c.budget for c in cells if c.series == series and c.convention == "as_coded"] == list(range(1, 81))
    assert {c.policy.budget for c in cells if c.budget is None} == {80}
