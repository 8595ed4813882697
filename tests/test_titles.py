"""Every figure of the notebooks has a title that is a claim, and a predicate that would find it false tests it."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from titles import Title, checked, code_cells

from bestarm_lab.figures.figures import headed
from bestarm_lab.notebooks.section import Section
from bestarm_lab.paths import FIGURES

NUMBERS = ["value", "low", "high"]


@cache
def titles() -> dict[str, Title]:
    """Return the titles that are tested, by figure; test files are imported after all have been collected."""
    return {title.figure: title for title in checked()}


def drawn() -> list[tuple[str, str, str]]:
    """Return study, notebook and name of every published figure."""
    files = sorted(FIGURES.glob("*/[!.]*/*.png"))  # those of a notebook that is running are in a folder with a dot
    return [(*path.parts[-3:-1], path.stem) for path in files]


def fault(study: str, notebook: str, name: str, named: set[str]) -> str:
    """Return what a figure lacks, in one line. A diagram plots no numbers, claims nothing and has no title."""
    figure = f"{study}/{notebook}/{name}"
    if figure in named:
        return ""
    if (FIGURES / f"{figure}.csv").exists():
        return f"{figure}: no test checks its title; write a predicate over its CSV, as tests/titles.py says"
    if any(f'section.picture("{name}"' in cell for cell in code_cells(study, notebook)):
        return ""
    return f"{figure}: it has no values; save it by section.show, or by section.picture if it plots no numbers"


def changed(values: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield tables that say something else: signs turned, numbers, x or panels of other rows, larger numbers below."""
    order, larger = np.random.default_rng(1).permutation(len(values)), np.linspace(1.0, 10.0, len(values))
    yield values.assign(value=-values["value"], low=-values["high"], high=-values["low"])
    yield values.assign(**{name: values[name].to_numpy()[order] for name in NUMBERS})
    yield values.assign(**{name: larger * values[name] for name in NUMBERS})
    yield from (values.assign(**{name: values[name].to_numpy()[order]}) for name in ("x", "panel"))
    yield values.assign(series=values["series"].iloc[0])


def can_fail(title: Title) -> bool:
    """Return whether a changed table makes the predicate false."""
    for values in changed(title.table()):
        try:
            if not title.holds(values):
                return True
        except AssertionError:
            return True
        except Exception:  # a table that the predicate cannot read says nothing of what it demands
            continue
    return False


def test_every_figure_has_a_title_that_is_tested():
    lines = [line for figure in drawn() if (line := fault(*figure, set(titles())))]
    assert not lines, "\n".join(lines)


def test_every_tested_title_is_of_a_figure():
    gone = set(titles()) - {"/".join(figure) for figure in drawn()}
    assert not gone, "\n".join(f"{figure}: a title is tested, and there is no such figure" for figure in sorted(gone))


def test_every_title_could_be_false():
    lines = [f"{name}: no changed table makes its predicate false" for name, t in titles().items() if not can_fail(t)]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (("gse", "01_problem", "gaps"), "gse/01_problem/gaps: no test checks its title"),
        (("gse", "01_problem", "elsewhere"), "gse/01_problem/elsewhere: it has no values"),
        (("gpoo", "02_tree_and_gpoo", "fig03"), ""),
    ],
)
def test_what_a_figure_lacks_is_said_in_one_line(figure, words):
    found = fault(*figure, named=set())
    assert found.startswith(words)
    assert "\n" not in found
    assert bool(found) == bool(words)


def test_a_predicate_that_demands_nothing_is_found():
    assert not can_fail(Title("gse", "01_problem", "gaps", "", lambda values: True))


def test_a_diagram_with_a_title_is_refused():
    figure = headed(plt.figure(layout="constrained"), "Everything follows")
    with pytest.raises(ValueError, match="the diagram 'map' has the title 'Everything follows'; draw it without one"):
        Section("gse", "01_problem", "smoke").picture("map", figure)
    plt.close(figure)
