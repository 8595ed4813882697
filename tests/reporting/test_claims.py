"""Verdicts: the tests behind them on data whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bestarm.reporting.claim_tests import compare_means
from bestarm.reporting.claims import evaluate


def rows(
    means: dict[str, float], *, n: int = 100, errors: int = 0, seed: int = 0, data: str = "synthetic"
) -> pd.DataFrame:
    """Return rows of an experiment with a shared noise and a coefficient of variation of about 10%."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 0.1, n)
    frames = []
    for series, mean in means.items():
        own = rng.normal(0, 0.02, n)
        frame = pd.DataFrame({"series": series, "replication": np.arange(n), "pulls": mean * (1 + noise + own)})
        frames.append(frame.assign(correct=(np.arange(n) >= errors).astype(float), convention="as_written", data=data))
    return pd.concat(frames)


def verdict(test: dict, frames: dict[str, pd.DataFrame], profile: str = "laptop") -> pd.Series:
    """Return the as-written verdict on one claim."""
    claims = {"X-C1": {"claim": "c", "where": "w", "test": test}}
    table = evaluate("linear_topm", claims, frames, dict.fromkeys(frames, profile))
    return table[table["convention"] == "as_written"].iloc[0]


@pytest.mark.parametrize(
    ("truth", "test", "expected"),
    [
        (0.5, {"below": 0.6}, "reproduced"),
        (0.9, {"below": 0.6}, "contradicted"),
        (0.6, {"below": 0.6}, "inconclusive"),
        (1.0, {"similar": [0.93, 1.07]}, "reproduced"),
        (1.3, {"similar": [0.93, 1.07]}, "contradicted"),
        (1.07, {"similar": [0.93, 1.07]}, "inconclusive"),
    ],
)
def test_a_ratio_gets_the_verdict_of_its_truth(truth, test, expected):
    """Above, inside and on the edge of the margin."""
    frames = {"e": rows({"a": 100.0 * truth, "b": 100.0})}
    found = verdict({"kind": "ratio", "pairs": [["e", "a", "b"]], **test}, frames)
    assert found["verdict"] == expected
    assert found["low"] < truth < found["high"] or abs(found["effect"] - truth) < 0.02


def test_the_delta_method_agrees_with_the_paired_t_test_on_logs():
    """For small coefficients of variation the ratio of means and the mean of log ratios are the same thing."""
    frame = rows({"a": 97.0, "b": 100.0}, n=400)
    left, right = (frame[frame["series"] == s].set_index("replication")["pulls"] for s in "ab")
    found = compare_means(left, right, {"below": 1.0}, "a / b")
    expected = stats.ttest_rel(np.log(left), np.log(right), alternative="less").pvalue
    assert np.log10(found.p) == pytest.approx(np.log10(expected), rel=0.05)


def test_pairing_narrows_the_interval_and_independence_is_an_option():
    """The shared noise cancels only in the paired comparison."""
    frame = rows({"a": 97.0, "b": 100.0})
    left, right = (frame[frame["series"] == s].set_index("replication")["pulls"] for s in "ab")
    paired = compare_means(left, right, {"below": 1.0}, "")
    unpaired = compare_means(left, right, {"below": 1.0, "paired": False}, "")
    assert paired.high - paired.low < 0.4 * (unpaired.high - unpaired.low)


def test_identical_series_are_similar_and_not_below_one():
    """A difference of exactly zero has no variance; it must not divide by it."""
    frame = rows({"a": 100.0})
    same = pd.concat([frame, frame.assign(series="b")])
    assert verdict({"kind": "ratio", "similar": [0.93, 1.07], "pairs": [["e", "a", "b"]]}, {"e": same})["verdict"] == (
        "reproduced"
    )
    assert (
        verdict({"kind": "ratio", "below": 1.0, "pairs": [["e", "a", "b"]]}, {"e": same})["verdict"] == "inconclusive"
    )


@pytest.mark.parametrize(("errors", "expected"), [(0, "reproduced"), (60, "contradicted"), (22, "inconclusive")])
def test_error_rates_are_tested_exactly(errors, expected):
    """At most 5%, with n = 500."""
    frames = {"e": rows({"a": 10.0}, n=500, errors=errors)}
    assert verdict({"kind": "error_rate", "at_most": 0.05, "experiments": ["e"]}, frames)["verdict"] == expected


@pytest.mark.parametrize(
    ("errors", "printed", "expected"), [(22, 0.044, "inconclusive"), (0, 0.0, "reproduced"), (80, 0.0, "contradicted")]
)
def test_printed_error_rates(errors, printed, expected):
    """Zero against zero is decided although both counts are zero; 0.044 against itself is too noisy for the margin."""
    frames = {"e": rows({"a": 10.0}, n=500, errors=errors)}
    test = {"kind": "printed_error_rates", "margin": 0.02, "printed_n": 500, "printed": {"e": {"a": printed}}}
    assert verdict(test, frames)["verdict"] == expected


def test_a_claim_over_several_comparisons_needs_all_of_them():
    """One failing comparison contradicts the claim and is the one that decides."""
    frames = {"e": rows({"a": 50.0, "b": 100.0, "c": 99.0})}
    found = verdict({"kind": "ratio", "below": 0.6, "pairs": [["e", "a", "b"], ["e", "c", "b"]]}, frames)
    assert found["verdict"] == "contradicted"
    assert found["decided_by"] == "e: c / b (1 of 2 comparisons hold)"


def test_holm_adjusts_over_the_claims_of_a_convention():
    """The same comparison as twenty claims has twenty times the p-value."""
    frames = {"e": rows({"a": 98.0, "b": 100.0}, n=40)}
    test = {"kind": "ratio", "below": 0.985, "pairs": [["e", "a", "b"]]}
    alone = verdict(test, frames)["p"]
    claims = {f"X-C{i}": {"claim": "c", "where": "w", "test": test} for i in range(20)}
    table = evaluate("linear_topm", claims, frames, {"e": "laptop"})
    many = table[table["convention"] == "as_written"]["p"].astype(float)
    assert many.max() == pytest.approx(min(1.0, 20 * alone))


@pytest.mark.parametrize(
    ("frame", "profile", "reason"),
    [
        (rows({"a": 50.0, "b": 100.0}), "smoke", "smoke profile"),
        (rows({"a": 50.0, "b": 100.0}, data="stand-in"), "laptop", "stand-in"),
        (rows({"a": 50.0, "b": 100.0}, n=11), "laptop", "n = 11"),
    ],
)
def test_what_cannot_be_tested_is_untested(frame, profile, reason):
    """Smoke runs, stand-in data and too few runs give no verdict, whatever the numbers say."""
    found = verdict({"kind": "ratio", "below": 0.6, "pairs": [["e", "a", "b"]]}, {"e": frame}, profile)
    assert found["verdict"] == "untested"
    assert reason in found["decided_by"]


def test_printed_gaps_hold_to_their_digits_and_fail_beyond():
    """Arithmetic claims hold or fail; they have no p-value."""
    good = verdict(
        {"kind": "gap", "n_best": {"fig1a": 2, "fig1b": 1}, "printed": {"fig1a": [0.13, 2], "fig1b": [0.005, 3]}}, {}
    )
    bad = verdict({"kind": "gap", "n_best": {"fig1a": 2}, "printed": {"fig1a": [0.14, 2]}}, {})
    assert (good["verdict"], bad["verdict"]) == ("holds", "fails")
