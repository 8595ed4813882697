"""Replays: recorded anew, they are the committed ones."""

import json

import pytest
from bestarm_site import record


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gse", "tree"])
def test_a_replay_is_what_the_library_does(name):
    committed = (record.FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert json.loads(record.recorded(name)) == json.loads(committed)


def test_the_stale_pair_stops_where_it_was_recorded():
    """One run of those that the replay shows."""
    shown = json.loads((record.FOLDER / "topm.json").read_text(encoding="utf-8"))["runs"][0]
    found, stale = record.topm_run(shown["run"])
    assert record.thinned(shown["run"], found, stale) == shown
