"""Figures: styles that can be told apart, lines at their true places, intervals in the possible range, forests."""

import struct
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from refusals import refuses

from bestarm_lab.figures.figures import WIDTH, draw_lines, headed, line_panels
from bestarm_lab.figures.forest_plot import forest, forest_lines
from bestarm_lab.figures.styles import GREYS, OTHER, Style, display_label, register_styles, style_of
from bestarm_lab.figures.values import as_values
from bestarm_lab.paths import ROOT
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names

STYLES = {label: look for study in study_names() for label, look in load_study(study).styles.items()}


def contrast(colour: str) -> float:
    """Return the contrast of a colour with white, as the Web Content Accessibility Guidelines define it."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 1.05 / (float(np.dot([0.2126, 0.7152, 0.0722], parts)) + 0.05)


@pytest.mark.parametrize("label", [*STYLES, "OTHER", *range(len(GREYS))])
def test_every_line_has_a_contrast_of_three_on_white(label):
    shown = OTHER if label == "OTHER" else GREYS[label] if isinstance(label, int) else STYLES[label]
    assert contrast(shown.colour) >= 3.0


@pytest.mark.parametrize(
    ("study", "names"),
    [
        ("linear_topm", ("fig1a", "fig1b", "fig1c", "fig2a", "fig3a", "fig3b")),
        ("gpoo", ("fig4_f1", "controls_f1", "fig4_f2", "controls_f2", "fig5")),
        ("gse", ("fig1", "fig2", "fig3", "fig5a", "fig6", "fig7")),
        ("gse", ("fig4", "fig4_scale")),
        ("oae", ("synthetic_10_5", "objectives_10_5", "diverse_10_5", "sequential_10_5")),
    ],
)
def test_algorithms_of_a_study_can_be_told_apart_in_colour_and_in_grey(study, names):
    """All have a look of their own: one colour each, and one marker with one line style each; changes keep it."""
    labels = {label for name in names for label in load_study(study).experiments[name].series if " | " not in label}
    styles = [style_of(label) for label in labels]
    assert OTHER not in styles
    assert len({one.colour for one in styles if one.colour not in ("#000000", "0.55")}) >= len(styles) - 3
    assert len({(one.marker, str(one.line)) for one in styles}) == len(styles)


def test_an_algorithm_of_two_studies_looks_the_same_in_both():
    register_styles({"Greedy": STYLES["Greedy"]})
    refused = r"Greedy is drawn as Style.* already, got .*; give both studies one style"
    refuses(lambda: register_styles({"Greedy": Style("#123456", "o")}), refused)
    assert style_of("Greedy") == style_of("Greedy | changed") == STYLES["Greedy"] != OTHER


def test_a_section_that_loads_nothing_draws_its_algorithms_as_all_others_do():
    code = (
        "from bestarm_lab.notebooks.section import Section\n"
        "from bestarm_lab.figures.styles import OTHER, style_of\n"
        "Section('dpp_bbo', '02_batches', 'laptop', changed={})\n"
        "print(style_of('UCB-DPP-MAX') != OTHER, style_of('nobody') == OTHER)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "True"]


def test_labels_have_formulas():
    assert r"$\tau^{LUCB}$" in display_label("LinGIFA (τ^LUCB, greedy)")


def values(x=(8, 16, 32), series=("GSE-Lin", "OD-LinBAI"), conventions=("as_written",), panels=("a",)):
    """Return values that rise with x, one line for each series."""
    lines = [
        {"panel": p, "convention": c, "series": s, "x": v, "value": 0.1 * k + 0.02 * j, "low": -0.1, "high": 1.1}
        for p in panels
        for c in conventions
        for j, s in enumerate(series)
        for k, v in enumerate(x)
    ]
    return as_values(pd.DataFrame(lines), statistic="accuracy", n=100, profile="smoke")


def lines(values, order, **style):
    return draw_lines(plt.subplots()[1], values, order, **style)


def drawn(figure, label, axis=0):
    return next(line for line in figure.axes[axis].lines if line.get_label() == label)


@pytest.mark.parametrize(("places", "xs"), [("", [8, 16, 32]), ("even", [0, 1, 2])])
def test_lines_stand_where_their_values_are(places, xs):
    made = line_panels(values(), ["GSE-Lin", "OD-LinBAI", "absent"], statistic="accuracy", places=places, title="T")
    for j, label in enumerate(("GSE-Lin", "OD-LinBAI")):
        np.testing.assert_allclose(drawn(made, label).get_xdata(), xs)
        np.testing.assert_allclose(drawn(made, label).get_ydata(), [0.02 * j + 0.1 * k for k in range(3)])
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["GSE-Lin", "OD-LinBAI"]


@pytest.mark.parametrize(("x", "whole"), [(range(1, 21), True), ((1, 2, 3), True), ((0.0, 0.5, 1.0, 1.5), False)])
def test_a_count_has_ticks_at_whole_numbers(x, whole):
    made = line_panels(values(x=tuple(x), panels=("a", "b", "c")), ["GSE-Lin"], statistic="accuracy", title="T")
    made.canvas.draw()
    for axis in made.axes:
        assert (np.mod(axis.get_xticks(), 1.0) == 0.0).all() == whole
        assert len(axis.get_xticks()) > 2


def test_intervals_are_clipped_to_the_possible_range():
    """Low and high ends beyond [0, 1] are drawn at 0 and 1."""
    axis = lines(values(), ["GSE-Lin"], possible=(0.0, 1.0))
    ends = np.concatenate(axis.containers[0].lines[2][0].get_segments())[:, 1]
    assert (ends.min(), ends.max()) == (0.0, 1.0)
    assert axis.get_ylim() == (-0.02, 1.02)
    axis = lines(values(), ["GSE-Lin"], possible=(0.0, None), marks="band")
    band = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (0.0, 1.1)


def test_zero_counts_are_open_markers_at_their_upper_limit():
    mine = values(series=("GSE-Lin",)).assign(value=[0.1, 0.01, 0.0], low=[0.05, 0.005, 0.0], high=[0.2, 0.02, 0.004])
    line, open_marks, *_ = lines(mine, ["GSE-Lin"], log="y").lines
    assert np.isnan(line.get_ydata()[2])
    assert (open_marks.get_ydata().tolist(), open_marks.get_markerfacecolor()) == ([0.004], "white")


def test_words_are_categories_and_never_joined():
    axis = lines(values(x=("one setting", "another")), ["GSE-Lin", "OD-LinBAI"])
    first, second = (line for line in axis.lines if line.get_label() in ("GSE-Lin", "OD-LinBAI"))
    assert first.get_linestyle() == "None"
    assert 0 < second.get_xdata()[0] - first.get_xdata()[0] < 0.5
    assert [label.get_text().replace("\n", " ") for label in axis.get_xticklabels()] == ["one setting", "another"]


def test_panels_are_rows_of_conventions_and_columns_of_panels():
    """Finding and setting stand above, n in the setting, the reference in the legend."""
    mine = values(conventions=("as_written", "as_coded"), panels=("a", "b", "c"))
    words = {"title": "A finding.", "setting": "B = 80", "titles": {"c": "C", "a": "A"}, "x": "arms", "y": "accuracy"}
    guess = {"reference": lambda k: 1 / k, "reference_label": "a guess, 1/K"}
    made = line_panels(mine, ["GSE-Lin"], statistic="accuracy", **words, **guess)
    assert [axis.get_title(loc="left") for axis in made.axes] == ["C", "A", "C", "A"]
    assert "paper's text" in made.axes[0].get_ylabel()
    assert "authors' code" in made.axes[2].get_ylabel()
    finding, setting = (text.get_text() for text in made.texts)
    assert (finding, setting) == ("A finding.", "n = 100 runs; bars: 95% intervals; B = 80")
    assert "a guess, 1/K" in [text.get_text() for text in made.legends[0].get_texts()]
    np.testing.assert_allclose(drawn(made, "a guess, 1/K").get_ydata(), [1 / 8, 1 / 16, 1 / 32])
    assert made.get_size_inches()[0] == WIDTH


def test_more_than_eight_series_are_grey_but_for_those_highlighted():
    names = [label for label in STYLES if "GSE" in label or "Gap" in label][:10]
    made = line_panels(values(series=names), names, statistic="accuracy", title="T", highlight=names[8:])
    assert {drawn(made, display_label(name)).get_color() for name in names[:8]} == {"0.55"}
    assert drawn(made, names[9]).get_color() == style_of(names[9]).colour
    plain = line_panels(values(series=names), names, statistic="accuracy", title="T")
    assert [drawn(plain, display_label(n)).get_color() == "0.55" for n in names] == [False] * 8 + [True] * 2


def test_no_text_is_below_eight_points():
    made = line_panels(values(), ["GSE-Lin"], statistic="accuracy", title="T", setting="s", x="x", y="y")
    made.canvas.draw()
    assert min([text.get_fontsize() for text in made.findobj(plt.Text) if text.get_text()]) >= 8


def test_a_heading_makes_the_figure_higher_and_not_wider():
    figure, _ = plt.subplots(figsize=(8, 2))
    headed(figure, "word " * 40, "setting " * 40)
    assert figure.get_size_inches()[0] == 8
    assert figure.get_size_inches()[1] > 2.5
    assert figure.texts[0].get_text().count("\n") >= 1


LINES = [
    ("a", "A", "", 0.5, 0.4, 0.6),
    ("a", "A", "x", 0.1, 0.05, 0.15),
    ("a", "A", "still", 0.0, 0.0, 0.0),
    ("b", "A", "", 0.4, 0.3, 0.5),
    ("b", "A", "x", -0.2, -0.3, -0.1),
    ("b", "A", "still", 0.0, 0.0, 0.0),
    ("b", "B", "", 0.1, 0.1, 0.1),
    ("b", "B", "y", 0.3, -0.2, 0.4),
]
EFFECTS = pd.DataFrame(LINES, columns=["panel", "series", "x", "value", "low", "high"])
EFFECTS = as_values(EFFECTS, statistic="change", n=50, profile="smoke")
CHANGE = {"statistic": "change", "title": "F", "what": "change"}


def test_a_forest_has_one_range_a_key_and_headings():
    """Panels share their lines and their x; a change that changes nothing is named below the title."""
    assert forest_lines(EFFECTS) == [("A", ""), ("A", "x"), ("A", "still"), ("B", ""), ("B", "y")]
    made = forest(EFFECTS, **CHANGE, better="lower", titles={"a": "one", "b": "two"})
    left, right = made.axes
    assert [label.get_text().strip() for label in left.get_yticklabels()] == ["A", "x", "B", "y"]
    assert left.get_xlim() == right.get_xlim()
    assert left.get_xlim()[0] < -0.3 < 0.4 < left.get_xlim()[1]
    assert "as written: 0.500" in [text.get_text() for text in left.texts]
    assert "Nothing changes with A: still." in made.texts[1].get_text().replace("\n", " ")
    assert made.legends[0].get_texts()[0].get_text() == "as written"
    drawn = [line for axis in made.axes for line in axis.lines if line.get_marker() not in ("", "None")]
    assert [line.get_ydata()[0] for line in drawn if line.get_markerfacecolor() == "white"] == [3]  # B, y alone
    assert made.legends[0].get_title().get_text() == "change · better ←  → worse"


def test_a_forest_in_which_nothing_moves_shows_all_of_it():
    made = forest(EFFECTS[(EFFECTS["series"] == "A") & EFFECTS["x"].isin(["", "still"])], **CHANGE)
    assert [label.get_text().strip() for label in made.axes[0].get_yticklabels()] == ["A", "still"]


def test_a_forest_of_ratios_is_logarithmic_with_numbers_beside_a_single_panel():
    ratios = EFFECTS[EFFECTS["panel"] == "a"].assign(value=[1.0, 0.8, 1.0], low=[1.0, 0.7, 1.0], high=[1.0, 0.9, 1.0])
    (axis,) = forest(ratios, statistic="change", title="F", what="ratio", log=True, reference=1.0).axes
    assert axis.get_xscale() == "log"
    assert "0.800 [0.700, 0.900]" in [text.get_text() for text in axis.texts]


def test_no_committed_picture_is_taller_than_it_is_wide():
    """A picture fits on a page, and on a screen beside what is said of it."""
    pictures = [path for folder in ("figures", "docs", "data") for path in (ROOT / folder).rglob("*.png")]
    sizes = {path: struct.unpack(">II", path.read_bytes()[16:24]) for path in pictures}  # of a PNG's first block
    assert len(sizes) > 100
    assert not [path.relative_to(ROOT).as_posix() for path, (width, height) in sizes.items() if height > width]
