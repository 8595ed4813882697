"""Thresholds: the sizes that the specification of the paper quotes, their laws, and refusals."""

import numpy as np
import pytest
from refusals import refuses

from bestarm.interface import Arms
from bestarm.policies.linear.thresholds import heuristic_threshold, linear_threshold, lucb1_threshold, make_threshold
from bestarm_studies.linear_topm.instances import classic_instance

REGULARISER = (0.5 / 20) ** 2


def squared(threshold, t: float) -> float:
    """Return C^2 at time t."""
    return float(threshold(np.array([t]))[0] ** 2)


def eq2(n_arms: int, n_best: int):
    """Return the threshold of Equation 2 with S = 1, sigma = 1/2 and delta = 0.05; L^2 is 2 unless one arm is best."""
    return linear_threshold(classic_instance(n_arms, n_best, 0.5).arms, 0.05, 0.5, REGULARISER, 1.0)


def test_thresholds_have_the_quoted_size():
    """C^2; with sqrt(lambda) S / sigma, lambda = sigma / 20, as printed, 51.6 becomes 55.5 (N = 3, t = 3000)."""
    for n_arms, n_best, t, expected in ((4, 2, 3000, 51.6), (4, 2, 10_000, 55.3), (3, 1, 4000, 36.6)):
        assert squared(eq2(n_arms, n_best), t) == pytest.approx(expected, abs=0.05)
    printed = eq2(4, 2)(np.array([3000.0])) - np.sqrt(REGULARISER) / 0.5 + np.sqrt(0.5 / 20) / 0.5
    assert float(printed[0] ** 2) == pytest.approx(55.5, abs=0.05)
    assert squared(lucb1_threshold(4, 0.05), 10_000) == pytest.approx(82.9, abs=0.05)
    assert squared(heuristic_threshold(0.05), 10_000) == pytest.approx(10.5, abs=0.15)


def test_thresholds_follow_their_formulas():
    """Each formula of the paper's Section 5 and Eq. 2, written out."""
    arms, t, delta, sigma, rho, bound = Arms(np.array([[3.0, 4.0], [0.0, 1.0], [1.0, 1.0]])), 77.0, 0.1, 0.3, 0.2, 2.0
    written = np.sqrt(2 * np.log(1 / delta) + 2 * np.log(1 + (t + 1) * 25 / (rho * 2))) + np.sqrt(rho) / sigma * bound
    expected = {
        "heuristic": np.sqrt(2 * np.log((np.log(t) + 1) / delta)),
        "eq2": written,
        "lucb1": np.sqrt(2 * np.log(5 * 3 * t**4 / (4 * delta))),
    }
    for name, value in expected.items():
        threshold = make_threshold(name, arms, delta=delta, sigma=sigma, regulariser=rho, norm_bound=bound)
        assert threshold(np.array([t]))[0] == pytest.approx(value, rel=1e-12)
    others = {"delta": 0.05, "sigma": 0.5, "regulariser": 1.0, "norm_bound": 1.0}
    refuses(lambda: make_threshold("eq3", arms, **others), "must be one of heuristic, eq2, lucb1, got 'eq3'")


@pytest.mark.parametrize("name", ["heuristic", "eq2", "lucb1"])
def test_thresholds_grow_with_time_and_with_confidence(name):
    """C increases in t and decreases in delta, from t = 1 on."""
    arms, t = Arms.unstructured(3), np.arange(1.0, 1000.0)
    strict, loose = (
        make_threshold(name, arms, delta=delta, sigma=0.5, regulariser=REGULARISER, norm_bound=1.0)(t)
        for delta in (0.01, 0.1)
    )
    assert (np.diff(strict) > 0).all()
    assert (strict > loose).all()
