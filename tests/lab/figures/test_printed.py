"""What a paper prints: refused where it is misspelt, drawn as hollow diamonds, kept in the figure's CSV."""

import copy

import numpy as np
import pandas as pd
import pytest
from refusals import refusing

from bestarm_lab.figures.figures import line_panels
from bestarm_lab.figures.printed import PRINTED, READ_OFF, beside, read_printed, theirs
from bestarm_lab.figures.values import COLUMNS, as_values
from bestarm_lab.paths import FIGURES
from bestarm_lab.study import load_printed
from bestarm_lab.study_packages import study_names

BLOCK = {"source": "Table 2", "statistic": "mean", "n": 30, "values": {"f1": {"A": {10: 0.25, 20: 0.125}}}}
FILE = {"03/fig04": [BLOCK]}
ALL = [(study, figure) for study in study_names() for figure in load_printed(study)]


def ours(x=(10, 20, 30)):
    lines = [{"series": s, "x": v, "value": 0.5, "low": 0.4, "high": 0.6} for s in ("A", "B") for v in x]
    return as_values(pd.DataFrame(lines), panel="f1", statistic="mean", profile="laptop")


def test_rows_say_where_they_stand_in_the_paper():
    rows = read_printed(FILE, "printed.yaml", ["03/fig04"])["03/fig04"]
    assert (list(rows.columns), rows["x"].tolist()) == (COLUMNS, [10, 20])
    assert rows["value"].tolist() == [0.25, 0.125]
    assert (set(rows["statistic"]), set(rows["data"])) == ({"mean, printed in the paper"}, {"Table 2"})
    measured = read_printed({"03/fig04": [BLOCK | {"read_off": True}]}, "printed.yaml", ["03/fig04"])["03/fig04"]
    assert set(measured["statistic"]) == {theirs("mean", READ_OFF)}


@refusing(
    (["03/fig04", 0, "sourse"], "Table 2", "p.yaml, 03/fig04: unknown key 'sourse'.*'source'"),
    (["03/fig04", 0, "source"], None, "p.yaml, 03/fig04: no source"),
    (["03/fig04", 0, "n"], "many", "p.yaml, 03/fig04, n: expected a whole number, got 'many'"),
    (["03/fig04", 0, "values", "f1", "A", 20], "0.1 or so", "03/fig04, f1, A, 20: expected a number, got '0.1 or"),
    (["03/fig04", 0, "values", "f1", "A"], 0.5, "p.yaml, 03/fig04, f1, A: expected keys with values, got 0.5"),
    (["03/fig05"], [BLOCK], "p.yaml: unknown figure '03/fig05'; the nearest right word is '03/fig04'"),
    (["03/fig04"], BLOCK, "p.yaml, 03/fig04: expected a list"),
)
def test_what_is_misspelt_or_no_number_is_refused_in_one_line(path, value):
    given = copy.deepcopy(FILE)
    at = given
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    read_printed(given, "p.yaml", ["03/fig04"])


def test_an_empty_file_is_refused():
    with pytest.raises(ValueError, match=r"^p\.yaml: expected figures with lists of printed values, got None\.$"):
        read_printed(None, "p.yaml", [])


def test_values_are_added_as_far_as_the_figure_shows_them():
    printed = read_printed(FILE, "printed.yaml", ["03/fig04"])["03/fig04"]
    both = beside(ours(), printed)
    assert (len(both), both["value"].tolist()[-2:]) == (8, [0.25, 0.125])
    assert set(both["profile"]) == {"laptop"}
    assert len(beside(ours(x=(20, 30)), printed)) == 5, "a smaller run has no x = 10"
    with pytest.raises(ValueError, match=r"^the paper's values: unknown statistic 'mean, printed in the paper'"):
        beside(ours().assign(statistic="median"), printed)


@pytest.mark.parametrize("places", ["", "even"])
def test_they_are_hollow_diamonds_at_their_places_with_one_entry_in_the_legend(places):
    values = beside(ours(), read_printed(FILE, "printed.yaml", ["03/fig04"])["03/fig04"])
    figure = line_panels(values, ["A", "B"], title="T", statistic="mean", places=places)
    diamonds = [line for line in figure.axes[0].lines if line.get_marker() == "D" and len(line.get_xdata())]
    assert len(diamonds) == 1
    np.testing.assert_array_equal(diamonds[0].get_xdata(), [0, 1] if places else [10, 20])
    np.testing.assert_array_equal(diamonds[0].get_ydata(), [0.25, 0.125])
    assert diamonds[0].get_markerfacecolor() == "none"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A", "B", PRINTED]


@pytest.mark.parametrize(("study", "figure"), ALL)
def test_every_printed_value_belongs_to_a_value_of_the_published_figure(study, figure):
    values = pd.read_csv(FIGURES / study / f"{figure}.csv")
    shown = {(line.panel, line.series, line.x, line.statistic) for line in values.itertuples()}
    for line in load_printed(study)[figure].itertuples():
        statistic = line.statistic.removesuffix(f", {PRINTED}").removesuffix(f", {READ_OFF}")
        assert (line.panel, line.series, line.x, statistic) in shown
