"""Keys of YAML files: types, doubled keys, slips in required ones; what is misspelt in ``paper.yaml``, or missing."""

import copy
from importlib.resources import files

import pytest
from refusals import refuses

from bestarm_lab.paper import read_paper
from bestarm_lab.study_packages import study_names
from bestarm_lab.yaml_keys import YamlKeys, nearest, of_type, read_yaml


def test_a_key_that_is_given_twice_is_refused_with_its_line():
    assert read_yaml("a: {b: 1}\nc: [1, 2]\n", "f.yaml") == {"a": {"b": 1}, "c": [1, 2]}
    with pytest.raises(ValueError, match=r"^f\.yaml, line 2: 'b' is given twice; leave one of them\.$"):
        read_yaml("a: {b: 1,\n  b: 2}\n", "f.yaml")
    refuses(lambda: read_yaml("a: [1\nb: 2\n", "f.yaml"), r"^f\.yaml: while parsing.*line 1")


def test_a_slip_in_a_required_key_names_it():
    with pytest.raises(ValueError, match=r"^here: unknown key 'fille'; the nearest right word is 'file'\.$"):
        YamlKeys("here", {"fille": 1}).take("file")
    refuses(lambda: YamlKeys("here", {"a": 1}).take("file"), r"^here: no file; there are: a\.$")
    refuses(lambda: YamlKeys("here", [1]), r"^here: expected keys with values, got \[1\]\.$")


@pytest.mark.parametrize("given", [("1", float), (True, float), (1.5, int), (1, bool), (None, str), (1, dict)])
def test_values_of_another_type_are_refused(given):
    refuses(lambda: of_type("here", *given), r"^here: expected .*, got ")
    assert of_type("here", 1, float) == 1


def test_the_nearest_word_or_all():
    assert nearest("bellow", ["above", "below"]) == "the nearest right word is 'below'"
    assert nearest("xyz", ["above", "below"]) == "there are: above, below"
    assert nearest("xyz", []) == "there are: none"


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
