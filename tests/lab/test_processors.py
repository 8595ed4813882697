"""Which processor made which rows, from one make of rows to the next."""

import pandas as pd
import pytest

from bestarm_lab.lineage import ALL, UNKNOWN, processor_name, processors_of, record_processor, who_made


def rows(*keys: str) -> pd.DataFrame:
    return pd.DataFrame({"key": keys, "regret": range(len(keys))})


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Return a recorder into an empty folder, and the reader of what it wrote."""
    monkeypatch.setattr("bestarm_lab.lineage.PROCESSORS", tmp_path / "processors")

    def write(new, before, processor, name="fig2"):
        record_processor("gpoo", name, "laptop", new, before, processor)
        lines = processors_of("gpoo", tmp_path / "processors")
        own = lines[lines["experiment"] == name]
        return dict(zip(own["processor"], own["parts"], strict=True))

    return write


def test_what_is_new_is_of_this_processor_and_what_was_kept_of_the_earlier_one(record, tmp_path):
    """Parts made anew, kept, dropped; rows from before anything was recorded; other experiments untouched."""
    assert record(rows("a", "b"), None, "first") == {"first": ALL}
    assert record(rows("x"), None, "other", "fig5") == {"other": ALL}
    assert record(rows("a", "b", "c"), rows("a", "b"), "second") == {"first": "a b", "second": "c"}
    assert record(rows("b", "c", "d"), rows("a", "b", "c"), "second") == {"first": "b", "second": "c d"}
    assert who_made("gpoo", "fig2", folder=tmp_path / "processors") == "first and second"
    assert record(rows("b", "c", "d"), None, "third") == {"third": ALL}
    assert who_made("gpoo", "fig5", folder=tmp_path / "processors") == "other"
    assert record(rows("m", "n"), rows("m"), "first", "fig6") == {"first": "n", UNKNOWN: "m"}


def test_nothing_is_written_where_nothing_is_new(record, tmp_path):
    assert record(rows("a"), rows("a", "b"), "first") == {}
    assert not (tmp_path / "processors").exists()
    assert who_made("gpoo", "fig2", folder=tmp_path / "processors") == UNKNOWN


def test_a_processor_has_a_name():
    assert "(" in processor_name()
    assert "\n" not in processor_name()
