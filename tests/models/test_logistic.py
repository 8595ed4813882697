"""Logistic scores of arms: against statsmodels, under separation, and what is refused."""

import numpy as np
import statsmodels.api as sm
from refusals import refusing
from scipy.special import expit

from bestarm.models.arm_estimates import logistic_scores


def data(seed: int, n_replications: int = 6, n_arms: int = 7, d: int = 3, most: int = 60):
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (n_replications, n_arms, d))
    counts = rng.integers(20, most, (n_replications, n_arms))
    return features, counts, rng.binomial(counts, expit(features @ rng.standard_normal(d))).astype(float)


def test_scores_are_those_of_statsmodels():
    features, counts, successes = data(0)
    found = logistic_scores(features, np.arange(6), np.ones(counts.shape, dtype=bool), counts, successes, ridge=1e-9)
    for r in range(6):
        table = np.column_stack([successes[r], counts[r] - successes[r]])
        fitted = sm.GLM(table, features[r], family=sm.families.Binomial()).fit(tol=1e-12)
        np.testing.assert_allclose(found[r], features[r] @ fitted.params, atol=1e-6)


def test_separated_rewards_are_ranked_and_finite():
    """No maximum likelihood estimate exists; the ridge keeps the order of the frequencies and a finite score."""
    counts, successes = np.array([[4, 4, 4, 4]]), np.array([[0.0, 1.0, 3.0, 4.0]])
    found = logistic_scores(np.eye(4)[None], np.zeros(1, int), np.ones((1, 4), bool), counts, successes)
    assert np.isfinite(found).all()
    assert (np.diff(found[0]) > 0).all()


def test_dead_arms_and_failed_evaluations_are_left_out():
    """They are as if they had not been pulled; dead arms score 0."""
    features, counts, successes = data(2)
    live = np.ones(counts.shape, dtype=bool)
    live[:, 0] = False
    failed = successes.copy()
    failed[:, 1] = np.nan
    found = logistic_scores(features, np.arange(6), live, counts, failed)
    fewer = counts * [0, 0, 1, 1, 1, 1, 1]
    np.testing.assert_array_equal(found, logistic_scores(features, np.arange(6), live, fewer, successes * (fewer > 0)))
    assert (found[:, 0] == 0).all()


@refusing(
    *[
        (t, 1.0, rf"rewards of 0 or 1, got a total of {t} from 3 pulls at index \(1, 2\); use a")
        for t in (0.5, -1.0, 4.0)
    ],
    *[(1.0, ridge, "ridge must be positive, got") for ridge in (0.0, -1.0, np.inf, np.nan)],
)
def test_rewards_that_are_not_0_or_1_and_a_ridge_that_is_not_positive_are_refused(total, ridge):
    counts, totals = np.full((2, 3), 3), np.ones((2, 3))
    totals[1, 2] = total
    logistic_scores(np.eye(3)[None], np.zeros(2, int), np.ones((2, 3), bool), counts, totals, ridge)
