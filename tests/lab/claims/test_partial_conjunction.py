"""Claims on many cells: the rule that counts them and the mean beside it, simulated at their limits."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bestarm_lab.claims import statistics

RUNS, ERROR = 25, 0.15  # as the referee of this rule had them: near the margin means by 0.02


def test_partial_conjunction_is_that_of_benjamini_and_heller():
    ps = [0.001, 0.01, 0.02, 0.2, 0.9]
    assert statistics.partial_conjunction(ps, 3) == pytest.approx(3 * 0.02)
    assert statistics.partial_conjunction_of_cells(ps, 3) == pytest.approx(min(3 * 0.02, 3 / 2 * 0.2, 0.9))
    assert statistics.partial_conjunction_of_cells(ps, 5) == 0.9
    assert statistics.at_least(ps) == 1  # two of five: 4 times 0.01
    assert (statistics.at_least([0.001] * 4), statistics.at_least([0.5] * 4)) == (4, 0)


def decided(effects, need, shared, n_ledgers):
    """Return the shares of simulated claims that are confirmed and refuted; ``shared`` is the cells' correlation."""
    generator = np.random.default_rng(len(effects))
    m, spread = len(effects), ERROR * np.sqrt(RUNS)
    common = generator.normal(size=(n_ledgers, 1, RUNS))
    own = generator.normal(size=(n_ledgers, m, RUNS))
    runs = effects[None, :, None] + spread * (np.sqrt(shared) * common + np.sqrt(1.0 - shared) * own)
    means, errors = runs.mean(axis=2), runs.std(axis=2, ddof=1) / np.sqrt(RUNS)
    cells = zip(means.ravel(), errors.ravel(), strict=True)
    both = np.array([statistics.Estimate(d, e, RUNS).tails(0.0) for d, e in cells]).reshape(n_ledgers, m, 2)
    confirmed = [statistics.partial_conjunction_of_cells(ps, need) <= 0.025 for ps in both[:, :, 0]]
    refuted = [statistics.partial_conjunction_of_cells(ps, m - need + 1) <= 0.025 for ps in both[:, :, 1]]
    return np.mean(confirmed), np.mean(refuted)


@pytest.mark.parametrize(("m", "need"), [(4, 3), (14, 12), (16, 12), (22, 17)])
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_claims_that_are_false_or_true_by_one_cell_are_seldom_decided_wrongly(m, need, shared):
    """False decisions at most 3% a side; a model that pools the cells was wrong in up to 93% and 100% of these."""
    behind = np.where(np.arange(m) < need - 1, -0.6, 0.02)  # one cell too few ahead, the others hardly behind
    ahead = np.where(np.arange(m) < need, -0.02, 0.6)  # just enough ahead, hardly; the others clearly behind
    assert decided(behind, need, shared, 400)[0] <= 0.03
    assert decided(ahead, need, shared, 400)[1] <= 0.03


def test_clear_claims_are_decided():
    assert decided(np.full(8, -0.6), 6, 0.0, 4000)[0] > 0.9
    assert decided(np.full(8, 0.6), 6, 0.0, 4000)[1] > 0.9


@pytest.mark.parametrize("lead", [0.0, 0.25, 1.0])
def test_a_series_that_is_best_is_not_refuted_for_ranks(lead):
    """Best in six cells by so many standard errors, with four equal rivals: a bootstrap of ranks refuted 96%, 56%."""
    generator = np.random.default_rng(7)
    refuted = 0
    for _ in range(300):
        opposite = []
        for _ in range(6):
            mine = lead + generator.normal(size=RUNS) * np.sqrt(RUNS / 2)
            changes = mine - generator.normal(size=(4, RUNS)) * np.sqrt(RUNS / 2)
            tests = [statistics.Estimate(-c.mean(), c.std(ddof=1) / np.sqrt(RUNS), RUNS).tails(0.0) for c in changes]
            opposite.append(statistics.partial_conjunction([p for _, p in tests], 1))
        refuted += statistics.partial_conjunction_of_cells(opposite, 6 - 5 + 1) <= 0.025
    assert refuted / 300 <= 0.03


def test_a_second_look_is_paid_for_as_by_obrien_and_fleming():
    """Two looks at halves of the runs: the bounds of Lan and DeMets for 2.5% a side are 2.963 and 1.969."""
    assert statistics.spent(float(stats.norm.sf(1.969)), 0.5) == pytest.approx(0.025, abs=5e-5)
    first, second = np.random.default_rng(0).normal(size=(2, 400_000))
    last = (first + second) / np.sqrt(2.0)
    assert np.mean((first > 2.963) | (last > 1.969)) == pytest.approx(0.025, abs=8e-4)
    assert statistics.spent(0.01, 1.0) == 0.01
    for tiny in (1.0001e-8, 3e-8, 1e-6):  # digits of upper tails, not of what is left of 1
        assert statistics.spent(tiny, 0.5) == pytest.approx(tiny, rel=1e-4)
        assert tiny < statistics.spent(tiny, 0.9) < 1.2 * tiny
    assert 0.01 <= statistics.spent(0.01, 0.25) < 0.0101


def cells_on_average(runs, relation, *, shares=False):
    """Return the mean over cells of runs, shape (cells, runs)."""
    estimates = [statistics.Estimate(float(r.mean()), np.nan, len(r), runs=pd.Series(r), shares=shares) for r in runs]
    cells = [statistics.Comparison("", e.value, e.interval, 0.5, 0.5, e.n, estimate=e) for e in estimates]
    return statistics.on_average(cells, relation)


def test_a_mean_over_cells_is_hall_s_test_on_the_means_of_runs():
    """Cells of equal runs by `mean_of`; of unequal ones by the variance of a sum; of ratios by logarithms."""
    rng, above = np.random.default_rng(0), statistics.Relation("above", 0.1)
    runs = rng.exponential(size=(3, 40))
    found, plain = cells_on_average(runs, above), statistics.mean_of(pd.Series(runs.mean(axis=0)), shares=False)
    assert (found.p, found.p_opposite) == pytest.approx(plain.tails(0.1)[::-1])
    assert found.interval(0.02) == pytest.approx(plain.interval(0.02))
    for shares, cells in ((False, runs), (True, (runs < 1.0).astype(float))):
        every, mean = (cells_on_average(of, above, shares=shares) for of in (cells, cells.mean(axis=0, keepdims=True)))
        assert (every.p, every.p_opposite, every.error) == pytest.approx((mean.p, mean.p_opposite, mean.error))
    ragged = [rng.normal(size=4000), rng.normal(size=4000), 2.0 * rng.normal(size=25)]
    found = cells_on_average(ragged, above)
    assert found.error**2 == pytest.approx(sum(r.var(ddof=1) / len(r) for r in ragged) / 9, rel=0.1)
    assert (found.effect, found.n) == (pytest.approx(np.mean([r.mean() for r in ragged])), 25)
    left, right = (pd.Series(rng.exponential(mean, size=50)) for mean in (1.0, 2.0))
    sides = ((left, right, True), (right, left, False))
    ratios = [statistics.ratio_comparison("", a, b, above, paired=p) for a, b, p in sides]
    both = statistics.on_average(ratios, statistics.Relation("above", 0.5))
    assert (both.effect, both.logged) == (pytest.approx(1.0), True)
    assert both.error < 1e-9 < ratios[0].error  # the noise is one and the same, and cancels
    assert statistics.on_average([*ratios, statistics.Comparison("", 1.0, both.interval, 0.5, 0.5, 9)], above) is None


def test_runs_that_agree_in_everything_are_no_certainty():
    found = cells_on_average(np.ones((5, 30)), statistics.Relation("above", 0.95), shares=True)
    assert found.error == pytest.approx(1 / 30)
    assert 0.05 < found.p < 0.15


LAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "exponential": lambda rng, size: rng.exponential(size=size) - 1.0,
    "three degrees": lambda rng, size: rng.standard_t(3, size=size),
    "lognormal": lambda rng, size: rng.lognormal(size=size) - np.exp(0.5),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("m", "n"), [(4, 25), (12, 100)])
@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9])
def test_a_mean_over_correlated_cells_is_decided_wrongly_in_at_most_four_percent_a_side(law, m, n, shared):
    """Cells on both sides of the margin and their mean at it; 3.8% are allowed."""
    rng, draw = np.random.default_rng(m), LAWS[law]
    wrong = np.zeros(2)
    for _ in range(500):
        own, common = draw(rng, (m, n)), draw(rng, (1, n))
        runs = np.sqrt(1.0 - shared) * own + np.sqrt(shared) * common + np.linspace(-0.5, 0.5, m)[:, None]
        found = cells_on_average(runs.mean(axis=0, keepdims=True), statistics.Relation("above", 0.0))  # as of all cells
        wrong += [found.p <= 0.025, found.p_opposite <= 0.025]
    assert (wrong / 500 <= 0.038).all()


@pytest.mark.parametrize(("m", "n", "share"), [(4, 50, 0.02), (12, 200, 0.02), (12, 50, 0.1), (12, 200, 0.2)])
@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_a_mean_share_is_decided_wrongly_in_at_most_four_percent_a_side(m, n, share, shared):
    rng, wrong = np.random.default_rng(m), np.zeros(2)
    for _ in range(500):
        drawn = np.where(rng.random((m, n)) < shared, rng.random((1, n)), rng.random((m, n))) < share
        found = cells_on_average(drawn.mean(axis=0, keepdims=True), statistics.Relation("above", share), shares=True)
        wrong += [found.p <= 0.025, found.p_opposite <= 0.025]
    assert (wrong / 500 <= 0.038).all()
