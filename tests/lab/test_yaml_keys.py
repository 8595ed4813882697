"""Keys of YAML files: types, doubled keys, and slips in required ones."""

import pytest
from refusals import refuses

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
