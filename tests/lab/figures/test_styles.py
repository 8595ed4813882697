"""Styles: a section knows those of its study before anything of the study is loaded."""

import subprocess
import sys

import pytest

from bestarm_lab.figures.styles import OTHER, Style, register_styles, style_of


def test_a_section_that_loads_nothing_draws_its_algorithms_as_all_others_do():
    code = (
        "from bestarm_lab.notebooks.section import Section\n"
        "from bestarm_lab.figures.styles import OTHER, style_of\n"
        "Section('dpp_bbo', '02_batches', 'laptop', changed={})\n"
        "print(style_of('UCB-DPP-MAX') != OTHER, style_of('nobody') == OTHER)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "True"]


def test_two_studies_cannot_draw_one_algorithm_in_two_ways():
    register_styles({"an algorithm of two studies": Style("0.1", "o")})
    register_styles({"an algorithm of two studies": Style("0.1", "o")})
    assert style_of("an algorithm of two studies | changed") == Style("0.1", "o") != OTHER
    with pytest.raises(ValueError, match=r"is drawn as .* already, got .*; give both studies one style"):
        register_styles({"an algorithm of two studies": Style("0.2", "o")})
