"""Ceilings of size: a number here is raised only with a line in docs/decisions/house.md that says what for."""

import pytest

from bestarm_lab.paths import ROOT

CEILINGS = {  # lines of Python, or of YAML
    "src/bestarm/**/*.py": 24_652,
    "src/bestarm_lab/**/*.py": 9_024,
    "src/bestarm_objectives/**/*.py": 2714,
    "src/bestarm_plain/**/*.py": 1931,
    "src/bestarm_studies/**/*.py": 18_711,
    "tests/**/*.py": 34_500,
    "src/bestarm_studies/**/*.yaml": 7050,
}
WORDS_OF_DECISIONS = 15_000
ENTRIES_OF_ROOT = 24  # and what git ignores


def lines(pattern: str) -> int:
    return sum(path.read_text(encoding="utf-8").count("\n") for path in ROOT.glob(pattern))


@pytest.mark.parametrize("pattern", CEILINGS)
def test_sizes_stay_below_their_ceilings(pattern):
    assert 0.8 * CEILINGS[pattern] < lines(pattern) <= CEILINGS[pattern]


def test_the_library_without_its_search():
    assert lines("src/bestarm/**/*.py") - lines("src/bestarm/search/**/*.py") <= 18_000


def test_decisions_can_be_read_in_an_hour():
    pages = (ROOT / "docs" / "decisions").glob("*.md")
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= WORDS_OF_DECISIONS


def test_the_root_is_seen_at_a_glance():
    ignored = {".git", *(line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split())}
    entries = {path.name for path in ROOT.iterdir()} - ignored
    assert len(entries) <= ENTRIES_OF_ROOT, sorted(entries)
