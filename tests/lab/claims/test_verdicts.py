"""The rule of verdicts on constructed p-values, and the runs that an undecided claim would take."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bestarm_lab.claims.statistics import Comparison
from bestarm_lab.claims.verdicts import (
    adjust,
    confirming,
    deciding,
    effect_text,
    joint_p,
    needed_runs,
    partial_conjunction,
    two_sided,
    verdict_of,
    verdict_text,
)


def given(*ps: float, n: int = 100) -> list[Comparison]:
    """Return comparisons with these p-values, and 1 - p for the opposite."""
    return [Comparison(f"c{i}", 0.0, 0.0, 0.0, p, 1.0 - p, n) for i, p in enumerate(ps)]


def word(*ps: float, need: int | None = None) -> str:
    """Return the verdict on a claim that stands alone."""
    found = given(*ps)
    return verdict_of(found, two_sided(*joint_p(found, need)), need)


@pytest.mark.parametrize(
    ("ps", "expected"),
    [
        ((0.02,), "confirmed"),
        ((0.03,), "undecided"),  # two-sided 0.06
        ((0.98,), "refuted"),
        ((0.02, 0.02, 0.02), "confirmed"),  # all of them, no adjustment
        ((1e-9, 1e-9, 0.2), "undecided"),
        ((0.5, 0.5, 0.999), "refuted"),  # one is enough, three times 0.001
        ((0.5, 0.5, 0.985), "undecided"),  # three times 0.015 is too much
        ((1e-6, 0.5, 0.999), "mixed"),
        ((0.02, 0.5, 0.999), "refuted"),  # 0.02 of three is not significant
        ((1e-6, 1e-6, 0.9), "undecided"),  # none is significantly against
    ],
)
def test_a_verdict_follows_from_the_comparisons(ps, expected):
    assert word(*ps) == expected


def test_a_claim_that_needs_some_is_a_partial_conjunction():
    """Two of three: the second smallest, times two; refuted if two are against."""
    assert partial_conjunction([0.5, 0.01, 0.02], 2) == 0.04
    assert joint_p(given(0.001, 0.01, 0.9), 2) == (0.02, pytest.approx(min(1.0, 2 * 0.99)))
    assert word(0.001, 0.01, 0.9, need=2) == "confirmed"
    assert word(0.001, 0.999, 0.999, need=2) == "refuted"
    assert deciding(given(0.001, 0.01, 0.9), "confirmed", 2).name == "c1"
    assert deciding(given(0.001, 0.99, 0.999), "refuted", 2).name == "c1"


def test_what_decides_is_the_weakest_or_the_one_most_against():
    found = given(0.01, 0.2, 0.999)
    assert deciding(found[:2], "confirmed").name == "c1"
    assert deciding(found, "refuted").name == deciding(found, "mixed").name == "c2"
    assert confirming(given(1e-9, 0.001, 0.03)) == 2  # 0.03 alone is 0.06 from two sides
    assert confirming(given(0.02, 0.02)) == 0  # each is 0.04, and the smaller counts twice


@pytest.mark.parametrize("seed", range(20))
def test_holm_within_a_claim_is_that_of_statsmodels(seed):
    rng = np.random.default_rng(seed)
    ps = rng.uniform(size=rng.integers(1, 12)) ** 6
    expected = multipletests(np.minimum(2.0 * ps, 1.0), 0.05, method="holm")[1] < 0.05
    assert confirming(given(*ps)) == expected.sum()


def test_claims_of_a_convention_are_adjusted_by_benjamini_and_hochberg():
    """Against statsmodels, apart for both conventions; ours and exact checks have no part in it."""
    p = [0.001, 0.01, 0.02, 0.4]
    lines = [{"convention": "as_written", "ours": "", "p": x, "p_opposite": 1 - x} for x in p]
    lines += [{"convention": "as_coded", "ours": "", "p": 0.99, "p_opposite": 0.01}]
    lines += [{"convention": "as_written", "ours": "control", "p": 0.03, "p_opposite": 0.97}]
    lines += [{"convention": "as_written", "ours": "", "p": np.nan, "p_opposite": np.nan}]
    found = adjust(pd.DataFrame(lines))
    expected = multipletests(2 * np.array(p), 0.05, method="fdr_bh")[1]
    assert found.iloc[:4].to_numpy() == pytest.approx(np.minimum(expected, 1.0))
    assert found.iloc[4:6].tolist() == pytest.approx([0.02, 0.06])
    assert np.isnan(found.iloc[6])


def test_the_runs_that_would_decide_have_80_percent_power():
    """With so many runs and this effect, a two-sided test at 5% succeeds four times in five."""
    z, n = 1.2, 50
    runs = needed_runs(given(float(stats.norm.sf(z)), n=n))
    shift = z * np.sqrt(runs / n)
    assert stats.norm.sf(stats.norm.isf(0.025) - shift) == pytest.approx(0.8, abs=0.01)
    assert needed_runs(given(float(stats.norm.sf(-z)), n=n)) == runs  # or against
    assert np.isnan(needed_runs(given(0.5)))
    many = needed_runs(given(0.5, 0.5, float(stats.norm.sf(-z)), n=n))
    assert many > runs  # the one against has to survive the choice among three


def test_verdicts_in_words():
    line = {"verdict": "confirmed", "kind": "test", "comparisons": 8, "confirming": 3, "needed_n": 432.0}
    assert verdict_text(line) == "confirmed"
    assert verdict_text(line | {"verdict": "mixed"}) == "mixed (3 of 8)"
    assert verdict_text(line | {"verdict": "undecided"}) == "undecided (about 430 runs)"
    assert verdict_text(line | {"verdict": "undecided", "needed_n": 12345.0}) == "undecided (about 12,000 runs)"
    assert verdict_text(line | {"verdict": "undecided", "needed_n": np.nan}) == "undecided (at the margin)"
    assert verdict_text(line | {"kind": "exact"}) == "confirmed (exact)"
    assert verdict_text(line | {"kind": "exact", "checked": "30 runs"}) == "no violation in 30 runs"
    assert verdict_text(line | {"kind": "exact", "verdict": "refuted", "checked": ""}) == "refuted (exact)"
    effect = {"effect": 0.1234, "low": 0.1, "high": 0.15, "margin": "above 0", "unit": "difference of accuracy"}
    assert effect_text(effect) == "0.123 [0.1, 0.15] (claimed: above 0), difference of accuracy"
    assert effect_text({"effect": np.nan, "decided_by": "found"}) == "found"
