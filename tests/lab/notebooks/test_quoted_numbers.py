"""Quoted numbers are refused where they name what their table does not have, with the nearest right word."""

import pandas as pd
import pytest

from bestarm_lab.quoted import only_value


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "fig02.csv"
    pd.DataFrame({"series": ["GSE-Lin", "GSE-Log"], "x": [8, 8], "value": [0.25, 0.5]}).to_csv(file, index=False)
    return file


def test_a_quoted_number_is_that_of_its_only_line(table):
    assert only_value(table, {"series": "GSE-Lin", "x": 8}) == 0.25
    with pytest.raises(ValueError, match=r"fig02\.csv: 2 lines"):
        only_value(table, {"x": 8})


@pytest.mark.parametrize(
    ("line", "column", "said"),
    [
        ({"serie": "GSE-Lin"}, "value", "fig02.csv has no column 'serie'.*series"),
        ({"series": "GSE-Lin"}, "valeu", "fig02.csv has no column 'valeu'.*value"),
        ({"series": "GSE-Lim"}, "value", "fig02.csv has no series 'GSE-Lim'.*GSE-Lin"),
    ],
)
def test_a_misspelling_is_refused_with_the_nearest_word(table, line, column, said):
    with pytest.raises(ValueError, match=said):
        only_value(table, line, column)


def test_a_table_that_is_not_there_is_refused(table):
    with pytest.raises(ValueError, match=r"there is no fig03.csv in .*fig02"):
        only_value(table.with_name("fig03.csv"), {"x": 8})
