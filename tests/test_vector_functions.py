"""Exponentials and cosines of arrays against extended precision, and at the ends of their range."""

import numpy as np

from bestarm.vector_functions import cosines, exponentials


def test_exponentials_are_right_to_two_units_in_the_last_place():
    """Over the range of kernels, from tiny to hopeless, and for positive arguments."""
    rng = np.random.default_rng(0)
    x = np.concatenate([-40.0 * rng.random(50_000), -(10.0 ** rng.uniform(-12, 2.8, 50_000)), 600.0 * rng.random(1000)])
    found, right = x.copy(), np.exp(x.astype(np.longdouble))
    exponentials(found)
    assert float(np.abs(found / right - 1.0).max()) < 2 * np.finfo(float).eps


def test_ends_of_the_range():
    """exp(0) is 1 exactly, what is hopeless is 0 to all practice, and NaN stays."""
    found = np.array([0.0, -0.0, -1e5, -np.inf, np.nan])
    exponentials(found)
    np.testing.assert_array_equal(found[:2], 1.0)
    assert (found[2:4] < 1e-300).all()
    assert np.isnan(found[4])


def test_cosines_are_right_to_rounding():
    rng = np.random.default_rng(0)
    x = np.concatenate([1e2 * rng.standard_normal(50_000), 1e5 * rng.standard_normal(50_000), [0, np.pi, -np.pi / 2]])
    found = x.copy()
    cosines(found)
    assert float(np.abs(found - np.cos(x.astype(np.longdouble))).max()) < 4e-16
