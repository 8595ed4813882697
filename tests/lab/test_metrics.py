"""What is measured of a recommendation."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestarm.partition import Partition
from bestarm_lab import metrics
from bestarm_lab.metrics import correct, simple_regret
from bestarm_studies.gpoo.cell_bandit import CellBandit

ARMS = SimpleNamespace(means=np.array([[0.9, 0.5, 0.5, 0.1]]))


@pytest.mark.parametrize(
    ("recommended", "epsilon", "is_correct", "regret"),
    [
        ([0, 1], 0.0, 1, 0.0),
        ([2, 0], 0.0, 1, 0.0),  # ties with the m-th mean are as good
        ([1, 2], 0.0, 1, 0.4),  # within the m-th mean, though not the best set
        ([0, 3], 0.0, 0, 0.4),
        ([0, 3], 0.41, 1, 0.4),
        ([0, 3], 0.39, 0, 0.4),
        ([0], 0.0, 1, 0.0),
        ([1], 0.0, 0, 0.4),
        ([3, 2, 1], 0.0, 0, 0.8),
    ],
)
def test_table_of_recommendations(recommended, epsilon, is_correct, regret):
    assert correct(ARMS, np.array([recommended]), epsilon) == is_correct
    np.testing.assert_allclose(simple_regret(ARMS, np.array([recommended])), regret, atol=1e-12)


def test_means_may_differ_between_replications():
    """The same recommendation is right in one replication and wrong in the other."""
    arms = SimpleNamespace(means=np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.2]]))
    recommended = np.array([[0], [0]])
    np.testing.assert_array_equal(correct(arms, recommended), [1, 0])
    np.testing.assert_array_equal(simple_regret(arms, recommended), [0, 1])


@given(seed=st.integers(0, 2**32 - 1), n_arms=st.integers(2, 8), n_replications=st.integers(1, 5))
def test_only_sets_without_regret_are_always_correct(seed, n_arms, n_replications):
    """Regret is never negative; no regret implies a correct set; without ties the two agree."""
    rng = np.random.default_rng(seed)
    n_best = int(rng.integers(1, n_arms))
    arms = SimpleNamespace(means=rng.standard_normal((1, n_arms)))
    recommended = np.stack([rng.permutation(n_arms)[:n_best] for _ in range(n_replications)])
    regret = simple_regret(arms, recommended)
    assert (regret >= -1e-12).all()
    np.testing.assert_array_equal(correct(arms, recommended) == 1, regret < 1e-12)


def test_cells_are_measured_by_what_they_contain():
    """f(x) = 1 - |x - 0.7| on [0, 1], cells of depth 2: the third quarter holds the optimum."""
    bandit = CellBandit("tent", lambda x: 1.0 - np.abs(x[:, 0] - 0.7), Partition(2, 2))
    cells = np.array([[bandit.partition.cell(2, i)] for i in range(4)])
    best = bandit.best[1][0]
    values = 1.0 - np.abs(bandit.partition.representatives(cells[:, 0])[..., 0] - 0.7)
    np.testing.assert_allclose(metrics.aggregated_regret(bandit, cells), best - values.mean(axis=1))
    away = np.abs(np.array([0.125, 0.375, 0.625, 0.875]) - 0.7)
    np.testing.assert_allclose(metrics.centre_regret(bandit, cells), best - (1 - away))
    first, _, third, _ = metrics.cell_regret(bandit, cells)
    np.testing.assert_allclose(first, best - (1 - (0.7 - 0.125)), atol=1e-12)
    np.testing.assert_allclose(third, best - (1 - (0.2**2 + 0.05**2) / 2 / 0.25), atol=1e-4)
    np.testing.assert_array_equal(metrics.depth(bandit, cells), 2)
    np.testing.assert_allclose(metrics.distance_to_optimum(bandit, cells), [0.45, 0.2, 0.0, 0.05], atol=1e-3)
    np.testing.assert_array_equal(metrics.off_peak(bandit, cells), [1, 1, 0, 0])  # the peak is [0.65, 0.75]
