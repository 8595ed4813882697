"""Claims that count cells: the rule that decides them, simulated at its limits, and the model that describes them."""

import numpy as np
import pytest
from scipy import stats

from bestarm_lab.claims.pooling import count_law, expected_share
from bestarm_lab.claims.statistics import Estimate, at_least, partial_conjunction, partial_conjunction_of_cells, spent


def test_cells_that_are_known_exactly_are_counted():
    law = count_law(np.array([-0.3, -0.1, 0.2, 0.4]), np.full(4, 1e-5))
    assert law == pytest.approx([0, 0, 1, 0, 0], abs=1e-3)
    assert expected_share(np.array([-0.3, -0.1, 0.2, 0.4]), np.full(4, 1e-5)) == pytest.approx(0.5, abs=1e-3)


def test_one_cell_at_its_margin_is_a_coin_and_the_law_adds_up():
    assert count_law(np.zeros(1), np.ones(1)) == pytest.approx([0.5, 0.5])
    assert count_law(np.linspace(-1, 1, 24), np.full(24, 0.2)).sum() == pytest.approx(1.0)


def test_signs_mirror():
    d, s = np.array([-0.5, 0.1, 0.3]), np.array([0.1, 0.2, 0.3])
    assert count_law(d, s) == pytest.approx(count_law(-d, s)[::-1], abs=1e-9)


def test_the_posterior_is_that_of_simulation():
    """Draw common means, spreads and effects from the prior, keep draws weighted by the likelihood of the estimates."""
    d, s = np.array([-0.4, -0.1, 0.2]), np.array([0.2, 0.15, 0.25])
    generator = np.random.default_rng(1)
    n = 2_000_000
    unit = np.sqrt(np.mean(d**2))
    tau = np.abs(generator.normal(0, unit, n))
    mean = generator.uniform(-2, 2, n)
    effects = mean[:, None] + tau[:, None] * generator.normal(size=(n, 3))
    weight = np.exp(-0.5 * (((d - effects) / s) ** 2).sum(axis=1))
    law = np.bincount((effects < 0).sum(axis=1), weight, 4) / weight.sum()
    assert count_law(d, s) == pytest.approx(law, abs=0.01)


@pytest.mark.parametrize("unit", [1e-3, 10.0, 100.0])
def test_the_model_is_free_of_units(unit):
    d, s = np.array([-0.4, -0.1, 0.2, 3.5e-6]), np.array([0.2, 0.15, 0.25, 1e-4])
    assert count_law(d * unit, s * unit) == pytest.approx(count_law(d, s), abs=1e-9)


def test_partial_conjunction_is_that_of_benjamini_and_heller():
    ps = [0.001, 0.01, 0.02, 0.2, 0.9]
    assert partial_conjunction(ps, 3) == pytest.approx(3 * 0.02)
    assert partial_conjunction_of_cells(ps, 3) == pytest.approx(min(3 * 0.02, 3 / 2 * 0.2, 0.9))
    assert partial_conjunction_of_cells(ps, 5) == 0.9
    assert at_least(ps) == 1  # two of five: 4 times 0.01
    assert at_least([0.001] * 4) == 4
    assert at_least([0.5] * 4) == 0


RUNS, ERROR = 25, 0.15  # as the referee of this rule had them: near the margin means by 0.02


def decided(effects, need, shared, n_ledgers):
    """Return the shares of simulated claims that are confirmed and refuted; ``shared`` is the cells' correlation."""
    generator = np.random.default_rng(len(effects))
    m, spread = len(effects), ERROR * np.sqrt(RUNS)
    common = generator.normal(size=(n_ledgers, 1, RUNS))
    own = generator.normal(size=(n_ledgers, m, RUNS))
    runs = effects[None, :, None] + spread * (np.sqrt(shared) * common + np.sqrt(1.0 - shared) * own)
    means, errors = runs.mean(axis=2), runs.std(axis=2, ddof=1) / np.sqrt(RUNS)
    both = np.array(
        [
            [Estimate(d, e, RUNS).tails(0.0) for d, e in zip(*cell, strict=True)]
            for cell in zip(means, errors, strict=True)
        ]
    )
    confirmed = [partial_conjunction_of_cells(ps, need) <= 0.025 for ps in both[:, :, 0]]
    refuted = [partial_conjunction_of_cells(ps, m - need + 1) <= 0.025 for ps in both[:, :, 1]]
    return np.mean(confirmed), np.mean(refuted)


@pytest.mark.parametrize(("m", "need"), [(4, 3), (14, 12), (16, 12), (22, 17)])
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_claims_that_are_false_or_true_by_one_cell_are_seldom_decided_wrongly(m, need, shared):
    """False decisions at most 3% a side; the posterior that decided before was wrong in up to 93% and 100% of these."""
    behind = np.where(np.arange(m) < need - 1, -0.6, 0.02)  # one cell too few ahead, the others hardly behind
    ahead = np.where(np.arange(m) < need, -0.02, 0.6)  # just enough ahead, hardly; the others clearly behind
    assert decided(behind, need, shared, 400)[0] <= 0.03
    assert decided(ahead, need, shared, 400)[1] <= 0.03


def test_clear_claims_are_decided():
    """Power: all cells four standard errors ahead, and all behind."""
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
            others = generator.normal(size=(4, RUNS)) * np.sqrt(RUNS / 2)
            changes = mine - others
            tests = [Estimate(-c.mean(), c.std(ddof=1) / np.sqrt(RUNS), RUNS).tails(0.0) for c in changes]
            opposite.append(partial_conjunction([p for _, p in tests], 1))
        refuted += partial_conjunction_of_cells(opposite, 6 - 5 + 1) <= 0.025
    assert refuted / 300 <= 0.03


def test_a_second_look_is_paid_for_as_by_obrien_and_fleming():
    """Two looks at halves of the runs: the bounds of Lan and DeMets for 2.5% a side are 2.963 and 1.969."""
    assert spent(float(stats.norm.sf(1.969)), 0.5) == pytest.approx(0.025, abs=5e-5)
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 400_000))
    last = (first + second) / np.sqrt(2.0)
    assert np.mean((first > 2.963) | (last > 1.969)) == pytest.approx(0.025, abs=8e-4)
    assert spent(0.01, 1.0) == 0.01
    for tiny in (1.0001e-8, 3e-8, 1e-6):  # digits of upper tails, not of what is left of 1
        assert spent(tiny, 0.5) == pytest.approx(tiny, rel=1e-4)
        assert tiny < spent(tiny, 0.9) < 1.2 * tiny
    assert 0.01 <= spent(0.01, 0.25) < 0.0101
