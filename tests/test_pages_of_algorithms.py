"""Each algorithm has a page of NumPy: short, of NumPy and SciPy alone, under the constructor's name, in the map."""

import ast
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from bestarm_site.algorithms import described, page_of

import bestarm_plain
from bestarm_lab.paths import ROOT

FILES = sorted((ROOT / "src" / "bestarm_plain").glob("*.py"))
SHARED = {"shared", "cells", "gaussian", "network"}
OF_THE_PAPERS = (
    "m_lingape lingifa gpoo ave_stooo gse_lin gse_log b_est ucb_dpp_max ucb_dpp_sample est_dpp_max est_dpp_sample"
    " mean_opt hinge_p_norm max_opt linear_oae ensemble ensemble_noise_y det_d seq_b ensemble_seq_b"
    " ensemble_seq_b_noise_y"
)
MAP = dict(re.findall(r"^`(\w+)` +`(\w+)`", bestarm_plain.__doc__, re.MULTILINE))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_page_is_short_and_needs_numpy_and_scipy_alone(path):
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= 120
    for node in ast.walk(ast.parse(source)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            top = name.split(".")[0]
            assert top in {"numpy", "scipy", "bestarm_plain"} or top in sys.stdlib_module_names, f"{path.stem}: {name}"


def test_the_map_has_every_algorithm_of_the_cards():
    """Those of the five papers, and most of their rivals; a page defines a function of each name."""
    assert set(MAP) >= set(OF_THE_PAPERS.split())
    assert set(MAP) <= set(described())
    assert len(MAP) > 30
    assert set(MAP.values()) == {p.stem for p in FILES} - SHARED - {"__init__"}
    for name, page in MAP.items():
        assert callable(getattr(import_module(f"bestarm_plain.{page}"), name)), name
        assert page_of(name) == Path("src/bestarm_plain") / f"{page}.py"
    assert page_of("thompson") is None


@pytest.mark.parametrize("page", sorted(set(MAP.values())))
def test_a_page_says_idea_source_and_deviations(page):
    words = import_module(f"bestarm_plain.{page}").__doc__
    assert all(f"\n\n{part}: " in words for part in ("Idea", "Source", "Deviations"))


def test_the_example_of_the_map_runs():
    """Two of five arms, and their means."""
    from bestarm_plain.gifa import lucb

    rng, means = np.random.default_rng(0), np.array([3.0, 0, 4, 1, 0])
    assert sorted(lucb(np.eye(5), lambda a: means[a] + rng.normal(), 2, sigma=1.0)) == [0, 2]


def test_pages_without_draws_of_the_library_find_the_best_arm():
    """By their own generators: what a reader runs."""
    from bestarm_plain.gaussian import posterior
    from bestarm_plain.mean_opt import mean_opt
    from bestarm_plain.peace import peace
    from bestarm_plain.ucb_dpp_sample import ucb_dpp_sample

    rng = np.random.default_rng(1)
    x = rng.standard_normal((20, 3))
    means = x @ [1.0, 0.5, -0.5]
    pulls = lambda a, n: n * means[a] + 0.1 * np.sqrt(n) * rng.normal()  # noqa: E731
    assert peace(x, pulls, 400) == means.argmax()
    kernel = x @ x.T + 1e-6 * np.eye(20)
    measure = lambda arms: means[arms] + 0.01 * rng.normal(size=len(arms))  # noqa: E731
    assert ucb_dpp_sample(kernel, measure, 3, 8, [0, 1]) == means.argmax()
    assert np.abs(posterior(kernel, 1e-4, [0, 1, 2, 3], list(means[:4]))[0] - means).max() < 0.05
    assert mean_opt(x, lambda arms: means[arms], 8, [0, 1, 2], 0.01, hidden=(8,), steps=200) == means.argmax()
