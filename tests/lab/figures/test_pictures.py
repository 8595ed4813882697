"""Light pictures: well-formed, the same again, and the same picture as the plain one. Narrow ones: panels below one
another, each with its labels and heading; what has no room there is refused.
"""

import re
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.pictures import MOST_POINTS, WIDTH, light_svg, narrow

TITLE = "A finding in so many words that it takes several lines where a page is as wide as a phone is"


def panels(rows: int = 2, columns: int = 3) -> Figure:
    """Return a figure whose panels share their axes, so that the inner ones have no labels."""
    figure = plt.figure(figsize=wide(rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for i in range(rows):
        for j in range(columns):
            axes[i, j].plot(np.arange(5), np.arange(5) * (i + 1), label="a search with a long name")
            axes[i, j].plot(np.arange(5), np.arange(5) + j, label="another search with a long name")
        axes[i, 0].set_ylabel(f"regret {i}")
    for j in range(columns):
        axes[0, j].set_title(f"panel {j}", loc="left")
        axes[-1, j].set_xlabel(f"budget {j}")
    legend_below(figure)
    return headed(figure, TITLE, "n = 25 runs; bars: 95% intervals, over runs of the same seeds in all searches")


def test_panels_stand_below_one_another_with_what_they_shared():
    """In reading order, each with its column's heading and label of x, and its row's label of y."""
    figure = panels()
    assert narrow(figure)
    assert figure.get_size_inches()[0] == WIDTH
    boxes = [axis.get_window_extent() for axis in figure.axes]
    assert len({round(box.x0) for box in boxes}) == 1
    assert all(upper.y0 > lower.y1 for upper, lower in pairwise(boxes))
    assert [axis.get_title("left") for axis in figure.axes] == [f"panel {j}" for _ in range(2) for j in range(3)]
    assert [axis.get_ylabel() for axis in figure.axes] == [f"regret {i}" for i in range(2) for _ in range(3)]
    assert [axis.get_xlabel() for axis in figure.axes] == [f"budget {j}" for _ in range(2) for j in range(3)]
    for axis in figure.axes:
        assert all(label.get_visible() for label in [*axis.get_xticklabels(), *axis.get_yticklabels()])


def test_a_heading_beside_long_labels_and_a_formula_are_not_cut():
    figure = plt.figure(figsize=wide(1), layout="constrained")
    axis = figure.subplots()
    axis.barh(["a policy with a long name", "another one with a long name"], [1.0, 2.0])
    axis.set_title("(a) classic instance, K = 4, m = 2, ω = π/6, as written", loc="left")
    headed(figure, TITLE, r"GPOO on f3 after 80 evaluations, in batches of 5, $\delta(h) = 14 \cdot 2^{-h}$ for all")
    assert narrow(figure)
    heading = next(text for text in axis.get_children() if getattr(text, "get_text", str)() == axis.get_title("left"))
    assert heading.get_window_extent().x1 <= figure.bbox.x1
    assert any(r"$\delta(h) = 14 \cdot 2^{-h}$" in text.get_text() for text in figure.texts)


def test_all_words_are_kept_and_fit():
    """The finding, the setting and the legend, within the width of the figure."""
    figure = panels(1, 2)
    before = {text for legend in figure.legends for text in (t.get_text() for t in legend.get_texts())}
    assert narrow(figure)
    assert next(" ".join(text.get_text().split()) for text in figure.texts) == TITLE
    assert {t.get_text() for legend in figure.legends for t in legend.get_texts()} == before
    renderer = figure.canvas.get_renderer()
    for part in [*figure.texts, *figure.legends]:
        box = part.get_window_extent(renderer)
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_labels_that_collide_are_turned():
    figure = plt.figure(figsize=wide(), layout="constrained")
    axis = figure.subplots()
    axis.plot([f"search {k}" for k in range(10)], range(10))
    headed(figure, "A finding")
    assert narrow(figure)
    assert [label.get_rotation() for label in axis.get_xticklabels()] == [90.0] * 10


def test_parts_keep_their_order_and_their_shares():
    figure = plt.figure(figsize=wide(2), layout="constrained")
    parts = figure.subfigures(2, 1)
    parts[0].subplots().plot([0, 1], label="a")
    for axis in parts[1].subplots(1, 2):
        axis.plot([0, 1], label="b")
    for part in parts:
        legend_below(part)
    headed(figure, "A finding")
    assert narrow(figure)
    first, second, third = (axis.get_window_extent() for axis in figure.axes)
    assert first.y0 > second.y1 > second.y0 > third.y1
    assert second.height == pytest.approx(first.height, rel=0.25)


@pytest.mark.parametrize("with_text", [True, False])
def test_a_diagram_has_none(with_text):
    """Boxes and words without axes have a size that cannot change; an empty place of a grid is left out."""
    figure = plt.figure(figsize=wide(), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([0, 1])
    right.set_axis_off()
    if with_text:
        right.text(0.5, 0.5, "a lemma")
    headed(figure, "A finding")
    assert narrow(figure) is not with_text
    assert right.axison is False


def test_a_panel_without_room_has_none():
    figure = plt.figure(figsize=wide(), layout="constrained")
    figure.subplots().barh([f"{k:02d}" * 22 for k in range(20)], range(20))
    headed(figure, "A finding")
    assert not narrow(figure)


def test_a_figure_without_panels_has_none():
    assert not narrow(headed(plt.figure(layout="constrained"), "A finding"))


def test_a_panel_without_a_title_takes_the_nearest_above_it():
    figure, axes = plt.subplots(4, 2, layout="constrained")
    axes[0, 0].set_title("as written", loc="left")
    axes[2, 0].set_title("as coded", loc="left")
    for axis in axes.flat:
        axis.plot([0, 1], [0, 1])
    headed(figure, "A finding")
    assert narrow(figure)
    assert [axis.get_title("left") for axis in axes[:, 0]] == ["as written", "as written", "as coded", "as coded"]


def picture(points=10):
    figure, axis = plt.subplots()
    axis.errorbar(np.arange(30), np.linspace(0.0, 1.0, 30), yerr=0.1, fmt="o-", label="one")
    axis.scatter(np.linspace(0.0, 29.0, points), np.full(points, 0.5))
    axis.legend()
    return figure


def test_it_is_well_formed_the_same_again_and_lighter_than_what_matplotlib_writes(tmp_path):
    text = light_svg(picture())
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert text == light_svg(picture())
    picture().savefig(tmp_path / "plain.svg")
    assert len(text) < 0.8 * (tmp_path / "plain.svg").stat().st_size
    assert " style=" not in text
    assert not re.search(r"\d\.\d{3}", re.sub(r"scale\([^)]*\)", "", text))


def test_words_keep_their_decimals():
    figure, axis = plt.subplots()
    axis.set_title("MeanOpt 0.001 and 0.0125")
    assert "MeanOpt 0.001 and 0.0125" in light_svg(figure, letters="none")


def test_every_class_has_its_style_and_the_ground_is_left_out():
    text = light_svg(picture())
    styles = dict(re.findall(r"\.(s\d+)\{([^}]*)\}", text))
    assert set(re.findall(r'class="(s\d+)"', text)) == set(styles)
    assert len(set(styles.values())) == len(styles)
    ground = re.search(r'<g id="patch_1">.*?class="(s\d+)"', text, flags=re.DOTALL)
    assert "fill:none" in styles[ground[1]] or "opacity:0" in styles[ground[1]]


def test_places_are_those_of_the_figure_to_a_hundredth_of_a_point(tmp_path):
    figure = picture()
    text = light_svg(figure)
    figure.savefig(tmp_path / "plain.svg", transparent=True)
    number = r'<use [^>]*x="([-\d.]+)" y="([-\d.]+)"'
    ours, theirs = (np.array(re.findall(number, t), dtype=float) for t in (text, (tmp_path / "plain.svg").read_text()))
    np.testing.assert_allclose(ours, theirs, atol=0.0051)
    assert len(ours) > 30
    plain = (tmp_path / "plain.svg").read_text()
    assert re.findall(r"scale\([^)]*\)", text) == re.findall(r"scale\([^)]*\)", plain), "letters have their size"


def test_ids_do_not_hang_on_the_last_bit_of_a_place():
    """Clips and markers keep their names where a panel moves by less than anybody sees."""
    figure = picture()
    before = light_svg(figure)
    place = figure.axes[0].get_position()
    figure.axes[0].set_position([place.x0, place.y0, place.width * (1.0 + 1e-12), place.height])
    assert light_svg(figure) == before
    ids = re.findall(r'\bid="(i\d+)"', before)
    assert len(ids) == len(set(ids)) > 1
    assert set(re.findall(r"#(i\d+)\b", before)) == set(ids)


def test_a_cloud_of_points_becomes_pixels():
    assert "<image" not in light_svg(picture())
    assert light_svg(picture(MOST_POINTS + 1)).count("<image") == 1
