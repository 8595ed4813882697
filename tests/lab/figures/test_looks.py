"""Looks: a section knows how its study's algorithms look before anything of the study is loaded."""

import subprocess
import sys

import pytest

from bestarm_lab.figures.looks import OTHER, Look, know_looks, look


def test_a_section_that_loads_nothing_draws_its_algorithms_as_all_others_do():
    code = (
        "from bestarm_lab.notebooks.section import Section\n"
        "from bestarm_lab.figures.looks import OTHER, look\n"
        "Section('dpp_bbo', '02_batches', 'laptop', changed={})\n"
        "print(look('UCB-DPP-MAX') != OTHER, look('nobody') == OTHER)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "True"]


def test_two_studies_cannot_draw_one_algorithm_in_two_ways():
    know_looks({"an algorithm of two studies": Look("0.1", "o")})
    know_looks({"an algorithm of two studies": Look("0.1", "o")})
    assert look("an algorithm of two studies | changed") == Look("0.1", "o") != OTHER
    with pytest.raises(ValueError, match=r"is drawn as .* already, got .*; give both studies one look"):
        know_looks({"an algorithm of two studies": Look("0.2", "o")})
