"""Vector pictures: well-formed, light, the same again, and the same picture as the plain one."""

import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np

from bestarm_lab.figures.vector import MOST_POINTS, light_svg


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
    scales = re.findall(r"scale\([^)]*\)", text)
    assert scales == re.findall(r"scale\([^)]*\)", plain), "letters have their size"


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
