"""Fingerprints of papers' sentences: what they ignore, and that each in a ledger is of a sentence that is there."""

from itertools import accumulate

import pytest
from refusals import refused

from bestarm_lab.claims.fingerprint import _hash, fingerprint, read_fingerprint, words_of
from bestarm_lab.paths import data_mirror
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names

TEXT = "Nothing here. The first arm\nis the BEST one, by 0.5! Nor there."


def by_fingerprint(words: list[str], n: int) -> dict[str, str]:
    """Return all runs of n of a text's words by their fingerprints."""
    text, starts = " ".join(words), [0, *accumulate(len(word) + 1 for word in words)]
    runs = (text[start : end - 1] for start, end in zip(starts, starts[n:], strict=False))
    return {f"s{_hash(run)}-{n}": run for run in runs}


def test_capitals_punctuation_and_lines_do_not_matter():
    mark = fingerprint("The first arm is the best one, by 0.5.")
    assert mark == fingerprint("the first arm -- is the best one by 0.5")
    assert mark.endswith("-10")
    assert by_fingerprint(words_of(TEXT), 10)[mark] == "the first arm is the best one by 0 5"
    assert fingerprint("The first arm is the worst one.") not in by_fingerprint(words_of(TEXT), 7)
    assert words_of("naïve λ_1") == ["naïve", "λ", "1"]


test_what_is_no_fingerprint_is_refused = refused(
    lambda raw: read_fingerprint("c.yaml, C, sentence", raw),
    ("the first arm", r"^c\.yaml, C, sentence: expected a fingerprint such as"),
    ("s12-3", r"^c\.yaml, C, sentence: expected a fingerprint such as"),
    (7, r"^c\.yaml, C, sentence: expected a fingerprint such as"),
    ("s0123456789", r"^c\.yaml, C, sentence: expected a fingerprint such as"),
)


@pytest.mark.parametrize("name", study_names())
def test_every_claim_is_of_a_sentence_of_its_paper(name):
    claims = [claim for claim in load_study(name).claims.values() if not claim.ours]
    file = data_mirror().parent / "papers" / "text" / f"{name.replace('_', '-')}.txt"
    if not file.is_file():
        pytest.skip("the text of the paper is not here")
    words, lengths = words_of(file.read_text(encoding="utf-8")), {int(c.sentence.partition("-")[2]) for c in claims}
    known = {mark for n in lengths for mark in by_fingerprint(words, n)}
    absent = {claim.id for claim in claims if claim.sentence not in known}
    assert not absent, f"no sentence of {file.name} has the fingerprint of {', '.join(sorted(absent))}"
