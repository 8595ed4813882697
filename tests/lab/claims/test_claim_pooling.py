"""The pooled model of a claim's cells, against simulation and its own limits."""

import numpy as np
import pytest

from bestarm_lab.claims.pooling import count_law, quantiles


def test_cells_that_are_known_exactly_are_counted():
    law = count_law(np.array([-0.3, -0.1, 0.2, 0.4]), np.full(4, 1e-5))
    assert law == pytest.approx([0, 0, 1, 0, 0], abs=1e-3)
    assert quantiles(law, np.array([0.025, 0.975])).tolist() == [2.0, 2.0]


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
    tau = np.abs(generator.normal(0, 1, n))
    mean = generator.uniform(-4, 4, n)
    effects = mean[:, None] + tau[:, None] * generator.normal(size=(n, 3))
    weight = np.exp(-0.5 * (((d - effects) / s) ** 2).sum(axis=1))
    law = np.bincount((effects < 0).sum(axis=1), weight, 4) / weight.sum()
    assert count_law(d, s) == pytest.approx(law, abs=0.01)


@pytest.mark.parametrize(("m", "need", "error"), [(4, 3, 0.15), (16, 12, 0.15), (16, 12, 0.3)])
def test_claims_that_just_fail_or_just_hold_are_seldom_decided_wrongly(m, need, error):
    """At most one false decision in twenty, at both sides of the border, by 200 simulated ledgers each."""
    generator = np.random.default_rng(m)

    def estimates(ahead):
        size = np.abs(generator.normal(0.0, 0.3, m))
        return np.where(np.arange(m) < ahead, -size, size) + generator.normal(0.0, error, m)

    held = [count_law(estimates(need - 1), np.full(m, error))[need:].sum() for _ in range(200)]
    failed = [count_law(estimates(need), np.full(m, error))[need:].sum() for _ in range(200)]
    assert np.mean(np.array(held) > 0.975) <= 0.06
    assert np.mean(np.array(failed) < 0.025) <= 0.06
