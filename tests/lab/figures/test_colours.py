"""Colours that stand in one panel can be told apart, with normal vision and with two kinds of colour blindness.

Distances are between colours as a protanope and a deuteranope see them, by the matrices of Machado, Oliveira and
Fernandes (2009) at severity 1 on linear RGB, and as they are; the smallest of the three counts.
"""

import pkgutil
from importlib import import_module
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

import bestarm_studies
from bestarm_lab.figures.styles import GREYS, OTHER, Style
from bestarm_lab.paths import FIGURES
from bestarm_lab.study import load_styles
from bestarm_lab.study_packages import study_names

APART = 15.0
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}
XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
WHITE = np.array([0.95047, 1.0, 1.08883])


def lab_of(colour, vision="normal"):
    """Return a colour in CIELAB (D65), as seen with a kind of vision."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(VISIONS[vision] @ linear, 0.0, 1.0) / WHITE
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(one, other):
    """Return the CIEDE2000 distance of two colours in CIELAB."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    c7 = (0.5 * (np.hypot(a1, b1) + np.hypot(a2, b2))) ** 7
    stretch = 1.5 - 0.5 * np.sqrt(c7 / (c7 + 25.0**7))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = (h1 + 0.5 * turn) % 360 if c1 * c2 else h1 + h2
    light, chroma = 0.5 * (l1 + l2), 0.5 * (c1 + c2)
    cosines = [np.cos(np.radians(k * hue + shift)) for k, shift in ((1, -30), (2, 0), (3, 6), (4, -63))]
    s_h = 1 + 0.015 * chroma * (1 + np.dot([-0.17, 0.24, 0.32, -0.2], cosines))
    d_l = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    d_c, d_h = (c2 - c1) / (1 + 0.045 * chroma), 2 * np.sqrt(c1 * c2) * np.sin(np.radians(0.5 * turn)) / s_h
    bend = np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    bend *= -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    return float(np.sqrt(d_l**2 + d_c**2 + d_h**2 + bend * d_c * d_h))


def distances(one, other):
    """Return the smallest distance of two colours over the visions: CIE76, and CIEDE2000."""
    seen = [(lab_of(one, vision), lab_of(other, vision)) for vision in VISIONS]
    return min(float(np.linalg.norm(a - b)) for a, b in seen), min(ciede2000(a, b) for a, b in seen)


def told_apart(one, other):
    """Return whether two styles differ by 15 in CIE76, and by 15 in CIEDE2000 or else in both marker and line."""
    plain, even = distances(one.colour, other.colour)
    return plain >= APART and (even >= APART or (one.marker != other.marker and one.line != other.line))


def drawn_together(study):
    """Return the pairs of a study's algorithms that stand in one panel of a published picture."""
    styles, found = load_styles(study), {}
    for path in sorted(FIGURES.glob(f"{study}/*/*.csv")):
        values = pd.read_csv(path, usecols=lambda name: name in ("panel", "series"))
        if not path.with_suffix(".png").exists() or set(values) != {"panel", "series"}:
            continue
        for _, panel in values.groupby("panel", dropna=False):
            found |= dict.fromkeys(combinations(sorted(set(panel["series"].astype(str)) & set(styles)), 2), path.stem)
    return found


def tables():
    """Return the small tables of styles in the studies' modules: each belongs to one figure."""
    found = {"GREYS": dict(enumerate(GREYS))}
    for module in pkgutil.walk_packages(bestarm_studies.__path__, "bestarm_studies."):
        if module.name.endswith((".styles", ".experiments")):
            continue
        for name, table in vars(import_module(module.name)).items():
            if isinstance(table, dict) and table and all(isinstance(value, Style) for value in table.values()):
                found[f"{module.name.removeprefix('bestarm_studies.')}.{name}"] = table
    return found


TABLES = tables()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (61.0, -5.0, 29.0), 22.8977),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((6.7747, -0.2908, -2.4247), (5.8714, -0.0985, -2.2286), 0.6377),
    ],
)
def test_the_distance_is_that_of_the_published_examples(one, other, expected):
    """Sharma, Wu and Dalal (2005), Table 1."""
    assert ciede2000(one, other) == pytest.approx(expected, abs=1e-4)


def test_red_and_green_are_alike_without_red_or_green_cones_alone():
    red, green = "#A34800", "#5E6A00"
    assert np.linalg.norm(lab_of(red) - lab_of(green)) > 40
    assert distances(red, green)[0] < 10
    for grey in ("0.2", "0.8"):
        for vision in VISIONS:
            np.testing.assert_allclose(lab_of(grey, vision), lab_of(grey), atol=0.1)


@pytest.mark.parametrize("study", study_names())
def test_algorithms_of_one_panel_are_told_apart(study):
    styles, pairs = load_styles(study), drawn_together(study)
    assert len(pairs) > 8
    close = {pair: (figure, distances(*(styles[name].colour for name in pair))) for pair, figure in pairs.items()}
    assert {pair: close[pair] for pair in pairs if not told_apart(*(styles[name] for name in pair))} == {}


@pytest.mark.parametrize(
    ("study", "one", "other"),
    [
        ("dpp_bbo", "GP-BUCB", "LP-UCB"),
        ("dpp_bbo", "B-EST", "LP-UCB"),
        ("gpoo", "StoOO", "AVE-StoOO"),
        ("gse", "LinGapE", "LinUCB"),
        ("linear_topm", "LUCB (largest var.)", "UGapE"),
    ],
)
def test_main_rivals_differ_in_colour_alone(study, one, other):
    styles = load_styles(study)
    assert min(distances(styles[one].colour, styles[other].colour)) >= APART


@pytest.mark.parametrize("name", TABLES)
def test_series_of_other_figures_are_told_apart(name):
    pairs = combinations(TABLES[name], 2)
    close = [pair for pair in pairs if not told_apart(*(TABLES[name][series] for series in pair))]
    assert {pair: distances(*(TABLES[name][series].colour for series in pair)) for pair in close} == {}


def test_what_has_no_look_of_its_own_differs_from_black():
    assert min(distances(OTHER.colour, "black")) >= APART


@pytest.mark.parametrize("name", TABLES)
def test_no_figure_gives_an_algorithm_another_look(name):
    study = load_styles(name.split(".")[0]) if "." in name else {}
    assert {series: look for series, look in TABLES[name].items() if study.get(series, look) != look} == {}
