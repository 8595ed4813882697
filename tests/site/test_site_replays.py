"""Replays: recorded anew, they are the committed ones."""

import json

from bestarm_site import record


def test_the_tree_is_what_the_library_does():
    committed = (record.FOLDER / "tree.json").read_text(encoding="utf-8")
    assert json.loads(record.recorded("tree")) == json.loads(committed)


def test_stages_are_what_the_library_does():
    """The runs that are shown; those that are only counted take half a minute."""
    committed = json.loads((record.FOLDER / "gse.json").read_text(encoding="utf-8"))
    made = json.loads(json.dumps(record.gse_replay(counted=record.SHOWN)))
    assert [panel["runs"] for panel in made["panels"]] == [panel["runs"] for panel in committed["panels"]]
    assert made["means"] == committed["means"]


def test_the_stale_pair_stops_where_it_was_recorded():
    shown = json.loads((record.FOLDER / "topm.json").read_text(encoding="utf-8"))["runs"][0]
    found, stale = record.topm_run(shown["run"])
    assert record.thinned(shown["run"], found, stale) == shown
