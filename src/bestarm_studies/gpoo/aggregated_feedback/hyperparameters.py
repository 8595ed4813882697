"""Hyper-parameters from averages, fitted by GPy: its regression on a kernel of averages of points."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from bestarm.interface import FloatArray
from bestarm.kernels import Stationary


def averages_kernel(base: Any, points: FloatArray, averaging: FloatArray) -> Any:
    r"""Return a GPy kernel whose inputs are row numbers of A and whose covariance is :math:`A k(X, X) A^\top`.
    ``base``: k; ``points`` (ndarray, shape (n, d)): X; ``averaging`` (ndarray, shape (t, n)): A."""
    from GPy.kern import Kern  # seconds to import, and only needed here

    class Averages(Kern):
        """The kernel of the averages; gradients are passed on to the base kernel."""

        def __init__(self) -> None:
            super().__init__(1, None, "averages")
            self.base = base
            self.link_parameter(base)

        def _rows(self, x: FloatArray | None) -> FloatArray:
            return averaging if x is None else averaging[np.asarray(x)[:, 0].astype(int)]

        def K(self, X: FloatArray, X2: FloatArray | None = None) -> FloatArray:
            """Return the covariances of two sets of averages."""
            first = self._rows(X)
            second = first if X2 is None else self._rows(X2)
            return np.asarray(first @ self.base.K(points) @ second.T)

        def Kdiag(self, X: FloatArray) -> FloatArray:
            """Return the variances of averages."""
            first = self._rows(X)
            return np.einsum("ij,jk,ik->i", first, self.base.K(points), first)

        def update_gradients_full(self, dL_dK: FloatArray, X: FloatArray, X2: FloatArray | None = None) -> None:
            """Pass the gradient of the objective on to the base kernel."""
            first = self._rows(X)
            second = first if X2 is None else self._rows(X2)
            self.base.update_gradients_full(first.T @ dL_dK @ second, points)

        def update_gradients_diag(self, dL_dKdiag: FloatArray, X: FloatArray) -> None:
            """Pass the gradient of the variances on to the base kernel."""
            first = self._rows(X)
            self.base.update_gradients_full(first.T @ (dL_dKdiag[:, None] * first), points)

    return Averages()


def fit_hyperparameters(
    kernel: Any,
    points: FloatArray,
    rewards: FloatArray,
    averaging: FloatArray | None = None,
    *,
    noise_variance: float = 0.01,
) -> tuple[Any, float]:
    """Return a kernel and a noise variance that maximise the likelihood of averages, found by GPy from one start.
    GPy's own model adds 1e-8 to the noise variance. ``kernel``: where to start; what is returned is of the same kind;
    ``points``, ``rewards``, ``averaging`` (ndarray, shapes (n, d), (t,) and (t, n)): X, Y and A; by default every
    reward is that of one point; ``noise_variance``: where to start. Raises ValueError if there are fewer rewards than
    hyper-parameters, shapes that do not fit, or numbers that are not finite. Raises RuntimeError if GPy's optimiser
    stops at its largest number of evaluations."""
    from GPy.models import GPRegression

    base = kernel.to_gpy(np.shape(points)[-1]) if isinstance(kernel, Stationary) else kernel.copy()
    averaging = np.eye(len(points)) if averaging is None else averaging
    if np.ndim(points) != 2 or np.shape(averaging) != (len(rewards), len(points)):
        raise ValueError(
            f"points must have shape (n, d) and averaging (t, n) = {(len(rewards), len(points))}, got "
            f"{np.shape(points)} and {np.shape(averaging)}; replications are fitted one by one."
        )
    if not (np.isfinite(points).all() and np.isfinite(rewards).all() and np.isfinite(averaging).all()):
        raise ValueError("points, rewards and averaging must be finite; leave out the rewards that failed.")
    if len(rewards) <= base.size:
        raise ValueError(f"{len(rewards)} rewards cannot fit {base.size + 1} hyper-parameters; take more rewards.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=RuntimeWarning)  # GPy's optimiser steps through overflows
        model = GPRegression(
            np.arange(len(rewards), dtype=np.float64)[:, None],
            np.asarray(rewards, dtype=np.float64)[:, None],
            averages_kernel(base, points, averaging),
            noise_var=noise_variance,
        )
        model.optimize()
    if "Maximum" in str(model.optimization_runs[-1].status):
        raise RuntimeError("GPy's optimiser did not converge; start from a kernel nearer to the data.")
    if isinstance(kernel, Stationary):
        base = replace(kernel, variance=float(base.variance[0]), lengthscale=float(base.lengthscale[0]))
    return base, float(model.likelihood.variance[0])
