"""The rule of verdicts on constructed p-values, and the runs that an undecided claim would take."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bestarm_lab.claims import statistics, verdicts
from bestarm_lab.claims.verdicts import adjust, deciding, direction, effect_text, needed_runs, states, verdict_text


def given(*ps: float, n: int = 100) -> list[statistics.Comparison]:
    return [statistics.Comparison(f"c{i}", 0.0, lambda level: (0.0, 0.0), p, 1.0 - p, n) for i, p in enumerate(ps)]


def word(*ps: float, need: int | None = None) -> str:
    found = given(*ps)
    need = len(found) if need is None else need
    return verdicts.verdict_of(found, verdicts.two_sided(*statistics.joint_p(found, need)) < verdicts.LEVEL, need)


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
        ((1e-6, 0.49), "at the margin"),  # a hundred times as many runs would not decide it
        ((1e-6, 0.5), "at the margin"),
    ],
)
def test_a_verdict_follows_from_the_comparisons(ps, expected):
    assert word(*ps) == expected


def test_a_claim_that_needs_some_is_a_partial_conjunction():
    """Two of three: the second smallest, times two; refuted if two are against."""
    assert statistics.partial_conjunction([0.5, 0.01, 0.02], 2) == 0.04
    assert statistics.joint_p(given(0.001, 0.01, 0.9), 2) == (0.02, pytest.approx(0.999))
    assert (word(0.001, 0.01, 0.9, need=2), word(0.1, 0.999, 0.999, need=2)) == ("confirmed", "refuted")
    assert word(1e-6, 0.999, 0.9999, need=2) == "mixed"  # not most, and significantly some
    assert verdicts.verdict_of(given(1e-6, 0.999, 0.9999), True, 2, mixed=False) == "refuted"  # a claimed number
    shown, share = deciding(given(0.001, 0.01, 0.9), "confirmed", 2)
    assert (shown.name, share) == ("c1", 0.5)
    assert deciding(given(0.001, 0.99, 0.999), "refuted", 2)[0].name == "c1"
    simes, share = deciding(given(0.001, 0.02, 0.021), "confirmed", 2)  # the third passes where the second fails
    assert (simes.name, share) == ("c2", 1.0)


def test_what_decides_is_the_weakest_or_the_one_most_against():
    found = given(0.01, 0.2, 0.999)
    assert deciding(found[:2], "confirmed", 2)[0].name == "c1"
    assert deciding(found, "refuted", 3)[0].name == deciding(found, "mixed", 3)[0].name == "c2"
    assert deciding(given(0.5, 0.5, 0.985), "undecided", 3)[1] == 1 / 3  # the weakest, as one of three
    assert states(given(1e-9, 0.001, 0.03)).count("for") == 2  # 0.03 alone is 0.06 from two sides
    assert states(given(1e-9, 0.3, 1.0 - 1e-9, 0.02)) == ["for", "open", "against", "open"]  # the last counts thrice
    assert states(given(0.02, 0.02)).count("for") == 0  # each is 0.04, and the smaller counts twice


@pytest.mark.parametrize("seed", range(20))
def test_holm_within_a_claim_is_that_of_statsmodels(seed):
    rng = np.random.default_rng(seed)
    ps = rng.uniform(size=rng.integers(1, 12)) ** 6
    expected = multipletests(np.minimum(2.0 * ps, 1.0), 0.05, method="holm")[1] < 0.05
    assert states(given(*ps)).count("for") == expected.sum()


def test_claims_of_a_convention_are_adjusted_by_benjamini_and_hochberg():
    """Against statsmodels, apart for conventions and levels; ours and exact checks have no part in it."""
    p = [0.001, 0.01, 0.02, 0.4]
    line = {"convention": "as_written", "ours": "", "level": "detail"}
    lines = [line | {"p": x, "p_opposite": 1 - x} for x in p]
    lines += [line | {"convention": "as_coded", "p": 0.99, "p_opposite": 0.01}]
    lines += [line | {"ours": "control", "level": "", "p": 0.03, "p_opposite": 0.97}]
    lines += [line | {"p": np.nan, "p_opposite": np.nan}]
    lines += [line | {"level": "headline", "p": 0.02, "p_opposite": 0.98}]
    found, level = (adjust(pd.DataFrame(lines))[column] for column in ("p_adjusted", "level"))
    expected = multipletests(2 * np.array(p), 0.05, method="fdr_bh")[1]
    assert found.iloc[:4].to_numpy() == pytest.approx(np.minimum(expected, 1.0))
    assert found.iloc[4:6].tolist() == pytest.approx([0.02, 0.06])
    assert np.isnan(found.iloc[6])
    assert found.iloc[7] == pytest.approx(0.04)  # details cost a headline nothing
    assert level.iloc[0] == pytest.approx(0.05 * 2 / 4)  # two of four are significant
    assert [2 * x < level.iloc[0] for x in p] == [x < 0.05 for x in found.iloc[:4]]  # intervals agree with verdicts
    assert level.iloc[4] == level.iloc[5] == 0.05


def test_a_statement_of_ours_on_the_same_comparison_has_its_claims_p():
    claim = {"id": "C", "convention": "as_written", "ours": "", "of": "", "level": "section", "p": 0.02}
    claim |= {"p_opposite": 0.98}
    other = claim | {"id": "D", "p": 0.7, "p_opposite": 0.3}
    lines = pd.DataFrame([claim, other, claim | {"id": "Cn", "ours": "control", "of": "C"}])
    found = adjust(lines)["p_adjusted"]
    assert found.iloc[2] == found.iloc[0] == pytest.approx(0.08)
    assert adjust(lines.assign(of=""))["p_adjusted"].iloc[2] == pytest.approx(0.04)


def test_holm_is_that_of_statsmodels():
    p = [0.001, 0.02, 0.03]
    line = {"convention": "as_written", "ours": "", "level": "section"}
    lines = pd.DataFrame([line | {"p": x, "p_opposite": 1 - x} for x in p])
    assert verdicts.by_holm(lines).tolist() == pytest.approx(multipletests(2 * np.array(p), method="holm")[1])


def test_the_direction_of_a_refutation():
    within = statistics.Relation("within", -0.02, 0.02)
    high, low = (statistics.mean_comparison("c", statistics.Estimate(e, 0.01, 9), within, True) for e in (0.1, -0.1))
    sides = {"": ["above", "below"], "above": ["better", "below"], "below": ["above", "better"]}
    for better, (of_high, of_low) in sides.items():
        assert (direction(high, [high], within, better), direction(low, [], within, better)) == (of_high, of_low)
        assert direction(high, [low, high], within, better) == "above and below"
    assert direction(high, [high], statistics.Relation("below", high=0.0), "") == "worse"


@pytest.mark.parametrize("of", [(1, 1, 0.05), (1, 1, 0.01), (12, 7, 0.05), (12, 12, 0.02), (5, 3, 0.02)])
def test_the_runs_that_would_decide_have_80_percent_power(of):
    """With so many runs of these effects the joint rule decides four claims in five; noise is half shared."""
    m, need, level = of
    rng, n = np.random.default_rng(m + need), 50
    z = np.linspace(0.6, 1.6, m) if m > 1 else np.array([1.2])
    observed = [statistics.Comparison("", 0.0, lambda level: (0.0, 0.0), *stats.norm.sf([x, -x]), n) for x in z]
    runs = int(needed_runs(observed, need, level))
    shift, spread = (z / np.sqrt(n))[:, None], np.sqrt([0.5, 0.5])
    t = np.empty((1000, m))
    for ledger in t:
        drawn = shift + spread[0] * rng.normal(size=runs) + spread[1] * rng.normal(size=(m, runs))
        ledger[:] = drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / np.sqrt(runs))
    ps = stats.t.sf(t, runs - 1)
    least = np.min([terms.min(axis=1) for terms in statistics.joint_terms(ps, 1.0 - ps, need)], axis=0)
    assert np.mean(least <= level / 2) == pytest.approx(0.8, abs=0.04)


def test_the_runs_of_one_comparison_are_those_of_its_formula():
    z, n = 1.2, 50
    runs = needed_runs(given(float(stats.norm.sf(z)), n=n), 1)
    assert runs == pytest.approx(n * ((1.96 + 0.8416) / z) ** 2, rel=0.03)
    assert needed_runs(given(float(stats.norm.sf(-z)), n=n), 1) == pytest.approx(runs, rel=0.03)  # or against
    assert np.isinf(needed_runs(given(0.5), 1))
    many = needed_runs(given(0.5, 0.5, float(stats.norm.sf(-z)), n=n), 3)
    assert many > runs  # the one against has to survive the choice among three


def test_no_interval_contradicts_its_word():
    """What decides is beyond its margin, at the level that partial conjunction leaves to it, if it decides."""
    rng, relation = np.random.default_rng(0), statistics.Relation("above", 0.0)
    kinds = {"confirmed": "confirmed", "refuted": "refuted", "mixed": "refuted"}
    for _ in range(300):
        m, level = int(rng.integers(1, 9)), float(rng.choice([0.05, 0.01]))
        need, centre = int(rng.integers(1, m + 1)), rng.normal(0.0, 2.0)
        estimates = (statistics.Estimate(e, 1.0, 25) for e in rng.normal(centre, 1.5, size=m))
        found = [statistics.mean_comparison("c", estimate, relation, True) for estimate in estimates]
        word = verdicts.verdict_alone(found, need, level=level)
        shown, share = deciding(found, word, need)
        low, high = shown.interval(level * share)
        assert ("confirmed" if low >= 0.0 else "refuted" if high <= 0.0 else "open") == kinds.get(word, "open")


def test_runs_are_told_only_where_they_are_advice():
    """Not where there are enough already, which the adjustment over claims undoes, and not beyond ten times as many."""
    assert verdicts.required_runs(given(0.04), 1) == needed_runs(given(0.04), 1)
    assert verdicts.required_runs(given(0.001), 1) is None
    assert needed_runs(given(0.25), 1) > 10 * given(0.25)[0].n
    assert verdicts.required_runs(given(0.25), 1) is None


def test_verdicts_in_words():
    line = {"verdict": "confirmed", "kind": "test", "comparisons": 8, "for": 8, "open": 0, "against": 0}
    line |= {"needed_n": 432.0, "direction": "", "needed": 5, "p_adjusted": 0.0691}
    assert (verdict_text(line), verdicts.counts_text(line)) == ("confirmed", "8 / 0 / 0")
    assert verdict_text(line | {"for": 5, "open": 1, "against": 2}) == "confirmed (5 of 8, 2 against)"  # most of them
    assert verdict_text(line | {"verdict": "mixed", "for": 3, "against": 5}) == "mixed (3 of 8, 5 against)"
    alone = line | {"verdict": "undecided", "comparisons": 1}
    assert verdict_text(alone) == "undecided (about 430 runs)"
    assert verdict_text(alone | {"needed_n": 12345.0}) == "undecided (about 12,000 runs)"
    assert verdict_text(alone | {"needed_n": np.nan}) == "undecided"
    some = line | {"verdict": "undecided", "for": 1, "open": 4, "against": 3}
    assert verdict_text(some) == "undecided (needs 5 of 8 for or 4 against, has 1 and 3; about 430 runs)"
    enough = some | {"open": 3, "against": 4, "needed_n": np.nan}
    assert verdict_text(enough) == "undecided (needs 5 of 8 for or 4 against, has 1 and 4, adjusted p 0.069)"
    assert verdict_text(enough, brief=True) == "undecided"
    assert verdict_text(line | {"verdict": "at the margin"}) == "at the margin"
    assert verdict_text(line | {"verdict": "refuted", "direction": "worse"}) == "refuted"
    for brief in (False, True):
        better = line | {"verdict": "refuted", "direction": "better"}
        assert verdict_text(better, brief=brief) == "refuted (better than claimed)"
    assert verdict_text(line | {"verdict": "refuted", "direction": "above"}) == "refuted (above what is claimed)"
    assert verdict_text(line | {"verdict": "refuted", "direction": np.nan}) == "refuted"
    exact = {"kind": "exact", "against": np.nan, "comparisons": np.nan}
    assert verdict_text(line | exact, brief=True) == verdict_text(line | exact) == "confirmed (exact)"
    assert verdict_text(line | exact | {"checked": "30 runs"}) == "no violation in 30 runs"
    assert verdict_text(line | exact | {"verdict": "refuted", "checked": ""}) == "refuted (exact)"
    assert verdicts.counts_text(line | exact) == ""


def test_effects_in_words():
    effect = {"effect": 0.1234, "low": 0.1, "high": 0.15, "margin": "above 0", "unit": "difference of accuracy"}
    effect |= {"comparisons": 1, "decided_by": "e: k = 1, a against b"}
    assert effect_text(effect) == "0.123 [0.1, 0.15] (claimed: above 0), difference of accuracy"
    several = effect | {"comparisons": 3, "on_average": "refuted", "average": -0.2}
    several |= {"average_low": -0.3, "average_high": -0.1}
    mean = "; on average refuted, -0.2 [-0.3, -0.1]"
    said = "0.123 [0.1, 0.15] in e: k = 1, a against b (claimed: above 0), difference of accuracy"
    assert (effect_text(several), effect_text(several | {"on_average": np.nan})) == (said + mean, said)
    cells = several | {"unit": "share of the cells in which", "decided_by": "3 of 4 cells, between 1 and 4"}
    told = "3 of 4 cells, between 1 and 4 (claimed: above 0), share of the cells in which"
    assert effect_text(cells) == told + mean
    assert effect_text({"effect": np.nan, "decided_by": "found"}) == "found"
