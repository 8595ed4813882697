"""Small factors and inverses against NumPy's, at sizes around the length of a block."""

import numpy as np
import pytest

from bestarm.models.triangular import symmetric_inverse, upper_cholesky


def covariance(n: int) -> np.ndarray:
    """Return a positive definite matrix with a condition number of some thousands."""
    x = np.random.default_rng(n).random((n, 3))
    return np.exp(-2.0 * ((x[:, None] - x[None]) ** 2).sum(axis=-1)) + 0.01 * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 5, 15, 16, 17, 33, 70])
def test_factor_and_inverse_are_those_of_numpy(n):
    """U'U is the matrix, the lower triangle stays as it was, and the inverse of the matrix comes from U alone."""
    matrix = covariance(n)
    factor = matrix.copy()
    factor[np.tril_indices(n, -1)] = 7.0
    upper_cholesky(factor)
    np.testing.assert_array_equal(factor[np.tril_indices(n, -1)], 7.0)
    np.testing.assert_allclose(np.triu(factor), np.linalg.cholesky(matrix).T, atol=1e-12)
    inverse = symmetric_inverse(factor)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), atol=1e-8)
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_gives_nan():
    matrix = np.array([[1.0, 2.0], [2.0, 1.0]])
    upper_cholesky(matrix)
    assert np.isnan(matrix[1, 1])
