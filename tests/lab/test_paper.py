"""``paper.yaml``: what is misspelt or missing is refused in one line with file, figure and the nearest right word."""

import copy
from importlib.resources import files

import pytest
from refusals import refuses

from bestarm_lab.paper import read_paper
from bestarm_lab.study_packages import study_names
from bestarm_lab.yaml_keys import read_yaml


def written(name):
    text = files(f"bestarm_studies.{name}").joinpath("paper.yaml").read_text(encoding="utf-8")
    return read_yaml(text, f"{name}/paper.yaml")


@pytest.mark.parametrize("name", study_names())
def test_every_misspelt_or_missing_key_is_refused(name):
    paper = written(name)
    read_paper(paper)
    for key in paper:
        renamed = {f"{k}{k[-1]}" if k == key else k: v for k, v in paper.items()}
        with pytest.raises(ValueError, match=rf"^p\.yaml: unknown key '{key}{key[-1]}'; the nearest .* '{key}'\.$"):
            read_paper(renamed, "p.yaml")
        with pytest.raises(ValueError, match=rf"^p\.yaml: no {key}; there are"):
            read_paper({k: v for k, v in paper.items() if k != key}, "p.yaml")
    for figure, entry in paper["figures"].items():
        for key in entry:
            other = copy.deepcopy(paper)
            other["figures"][figure] = {f"{k}{k[-1]}" if k == key else k: v for k, v in entry.items()}
            with pytest.raises(ValueError, match=f"unknown key '{key}{key[-1]}'; the nearest .* '{key}'") as error:
                read_paper(other, "p.yaml")
            assert str(error.value).startswith(f"p.yaml, {figure}: ")


@pytest.mark.parametrize("key", ["file", "notebook", "title", "alt"])
def test_a_picture_of_the_gallery_needs_its_words(key):
    entry = {"file": "fig01", "notebook": "01", "title": "T", "alt": "A", "gallery": True}
    paper = {**written("gpoo"), "figures": {"Figure 1": {k: v for k, v in entry.items() if k != key}}}
    refuses(lambda: read_paper(paper, "p.yaml"), rf"^p\.yaml, Figure 1: no {key}; there are: ")
