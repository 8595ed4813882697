"""Checks of the normal tail beside SciPy's, where it changes from one formula to another."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from bestarm.policies.gaussian.gp_acquisition import log_cdf


@pytest.mark.parametrize("z", [-1e4, -100.0, -40.0, -35.0 - 1e-9, -35.0 + 1e-9, -20.0, -1.0, 0.0, 1e-12, 3.0, 9.0])
def test_the_log_of_the_normal_distribution_function_is_scipys(z):
    """To 12 digits, on both sides of the change."""
    assert log_cdf(z) == pytest.approx(log_ndtr(z), rel=1e-12)


def test_the_tail_is_continuous_and_increasing():
    """Over the change from the error function to its series."""
    z = np.linspace(-35.001, -34.999, 201)
    values = np.array([log_cdf(v) for v in z])
    assert (np.diff(values) > 0.0).all()
    np.testing.assert_allclose(np.diff(values), np.diff(log_ndtr(z)), rtol=1e-6)
