r"""Covariance functions of Gaussian processes, and their averages over boxes.

Methods carry GPy's names, so that a GPy kernel can take the place of one of these wherever a kernel is asked for.

References
----------
.. [1] Rasmussen, Williams. "Gaussian Processes for Machine Learning". MIT Press 2006. Section 4.2.
.. [2] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Appendix D.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from scipy.special import erf

from bestarm.interface import FloatArray
from bestarm.settings import check_settings

Family = Literal["rbf", "matern52", "matern32", "exponential"]

_OF_DISTANCE: dict[str, Callable[[FloatArray], FloatArray]] = {
    "rbf": lambda r: np.exp(-0.5 * r**2),
    "matern52": lambda r: (1.0 + np.sqrt(5.0) * r + 5.0 / 3.0 * r**2) * np.exp(-np.sqrt(5.0) * r),
    "matern32": lambda r: (1.0 + np.sqrt(3.0) * r) * np.exp(-np.sqrt(3.0) * r),
    "exponential": lambda r: np.exp(-r),
}
_SMALL = 0.05  # cells narrower than so many length-scales are integrated by Gauss's rule: the closed form cancels there
_GAUSS = np.polynomial.legendre.leggauss(4)
_PANEL = np.polynomial.legendre.leggauss(16)


class Kernel(Protocol):
    """Anything with GPy's ``K``: the covariances between two sets of points, shapes (n, d) and (m, d)."""

    def K(self, X: FloatArray, X2: FloatArray | None = None) -> FloatArray:
        """Return the covariances, shape (n, m)."""
        ...


@dataclass(frozen=True)
class Stationary:
    r"""A stationary kernel :math:`v\,g(\|x-x'\|/\ell)` ([1]_, Section 4.2.1).

    Raises ValueError for an unknown family, or a variance or length-scale that is not positive.

    Parameters
    ----------
    family : {"rbf", "matern52", "matern32", "exponential"}
        The function g.
    variance : float
        v, in squared units of the reward.
    lengthscale : float
        :math:`\ell`, in units of the space.
    """

    family: Family = "rbf"
    variance: float = 1.0
    lengthscale: float = 1.0

    def __post_init__(self) -> None:
        check_settings(self, positive=("variance", "lengthscale"))

    def K_of_r(self, r: FloatArray) -> FloatArray:
        """Return the covariance at distances ``r``, in units of the length-scale, of any shape."""
        return self.variance * _OF_DISTANCE[self.family](r)

    def K(self, X: FloatArray, X2: FloatArray | None = None) -> FloatArray:
        """Return the covariances between points of shapes (..., n, d) and (..., m, d), shape (..., n, m)."""
        other = X if X2 is None else X2
        squared = ((X[..., :, None, :] - other[..., None, :, :]) ** 2).sum(axis=-1)
        return self.K_of_r(np.sqrt(squared) / self.lengthscale)

    def to_gpy(self, n_dimensions: int) -> Any:
        """Return the same kernel as GPy's, for fitting its hyper-parameters."""
        from GPy import kern

        classes = {"rbf": "RBF", "matern52": "Matern52", "matern32": "Matern32", "exponential": "Exponential"}
        make = getattr(kern, classes[self.family])
        return make(n_dimensions, variance=self.variance, lengthscale=self.lengthscale)


def _interval_average(lower: FloatArray, upper: FloatArray, x: FloatArray, lengthscale: float) -> FloatArray:
    """Return the average over [lower, upper] of exp(-(u - x)^2 / 2 l^2) ([2]_, Appendix D)."""
    width, scale = upper - lower, np.sqrt(2.0) * lengthscale
    exact = lengthscale * np.sqrt(np.pi / 2.0) * (erf((upper - x) / scale) - erf((lower - x) / scale))
    nodes, weights = _GAUSS
    middle = (lower + upper) / 2.0
    small = sum(
        w / 2.0 * np.exp(-0.5 * ((middle + node * width / 2.0 - x) / lengthscale) ** 2)
        for node, w in zip(nodes, weights, strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(width < _SMALL * lengthscale, small, exact / width)


def _interval_pair_average(
    lower: FloatArray, upper: FloatArray, other_lower: FloatArray, other_upper: FloatArray, lengthscale: float
) -> FloatArray:
    """Return the average of exp(-(x - y)^2 / 2 l^2) over x in one interval and y in another ([2]_, Appendix D)."""
    first, second = upper - lower, other_upper - other_lower

    def psi(u: FloatArray) -> FloatArray:
        return u * np.sqrt(np.pi / 2.0) * erf(u / np.sqrt(2.0)) + np.exp(-0.5 * u**2)

    bracket = (
        psi((upper - other_lower) / lengthscale)
        + psi((lower - other_upper) / lengthscale)
        - psi((upper - other_upper) / lengthscale)
        - psi((lower - other_lower) / lengthscale)
    )
    swap = second < first  # Gauss's rule goes over the narrower interval
    narrow_lower, narrow_upper = np.where(swap, other_lower, lower), np.where(swap, other_upper, upper)
    wide_lower, wide_upper = np.where(swap, lower, other_lower), np.where(swap, upper, other_upper)
    middle, half = (narrow_lower + narrow_upper) / 2.0, (narrow_upper - narrow_lower) / 2.0
    nodes, weights = _GAUSS
    small = sum(
        w / 2.0 * _interval_average(wide_lower, wide_upper, middle + node * half, lengthscale)
        for node, w in zip(nodes, weights, strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = lengthscale**2 * bracket / (first * second)
    return np.where(np.minimum(first, second) < _SMALL * lengthscale, small, exact)


def quadrature(
    lower: FloatArray, upper: FloatArray, lengthscale: float, *, most: int = 4096
) -> tuple[FloatArray, FloatArray]:
    """Return nodes, shape (n, d), and weights, shape (n,), that average a function over one box.

    Gauss and Legendre's rule with 16 nodes on panels of at most two length-scales a side, with ``most`` nodes at most.
    """
    sides = []
    for low, high in zip(lower, upper, strict=True):
        n_panels = int(np.clip(np.ceil((high - low) / (2.0 * lengthscale)), 1, max(1, most ** (1 / len(lower)) // 16)))
        edges = np.linspace(low, high, n_panels + 1)
        nodes = (edges[:-1, None] + edges[1:, None]) / 2.0 + np.diff(edges)[:, None] / 2.0 * _PANEL[0]
        sides.append((nodes.ravel(), np.tile(_PANEL[1] / 2.0 / n_panels, n_panels)))
    grid = np.stack([g.ravel() for g in np.meshgrid(*(s[0] for s in sides), indexing="ij")], axis=1)
    weights = np.ones(1)
    for side in sides:
        weights = np.outer(weights, side[1]).ravel()
    return grid, weights


def box_point_average(kernel: Kernel, lower: FloatArray, upper: FloatArray, x: FloatArray) -> FloatArray:
    """Return the average over boxes of the covariance with points: one box for each point or broadcast against them.

    ``kernel``: closed form for `Stationary` "rbf", quadrature otherwise; ``lower``, ``upper``, ``x`` (ndarray, shape
    (..., d)): corners of the boxes; points. Returns ndarray, shape (...)."""
    if isinstance(kernel, Stationary) and kernel.family == "rbf":
        return kernel.variance * _interval_average(lower, upper, x, kernel.lengthscale).prod(axis=-1)
    lower, upper, x = np.broadcast_arrays(lower, upper, x)
    found = np.empty(lower.shape[:-1])
    for place in np.ndindex(found.shape):
        nodes, weights = quadrature(lower[place], upper[place], lengthscale_of(kernel))
        found[place] = weights @ kernel.K(nodes, x[place][None])[:, 0]
    return found


def box_average(
    kernel: Kernel, lower: FloatArray, upper: FloatArray, other_lower: FloatArray, other_upper: FloatArray
) -> FloatArray:
    """Return the average of the covariance over pairs of boxes, each given by its corners, shape (..., d).

    Closed form for `Stationary` "rbf", quadrature otherwise.
    """
    if isinstance(kernel, Stationary) and kernel.family == "rbf":
        sides = _interval_pair_average(lower, upper, other_lower, other_upper, kernel.lengthscale)
        return kernel.variance * sides.prod(axis=-1)
    boxes = np.broadcast_arrays(lower, upper, other_lower, other_upper)
    found = np.empty(boxes[0].shape[:-1])
    scale = lengthscale_of(kernel)
    for place in np.ndindex(found.shape):
        nodes, weights = quadrature(boxes[0][place], boxes[1][place], scale)
        others, other_weights = quadrature(boxes[2][place], boxes[3][place], scale)
        found[place] = weights @ kernel.K(nodes, others) @ other_weights
    return found


def lengthscale_of(kernel: Kernel) -> float:
    """Return the shortest length-scale of a kernel (GPy's may have one for each dimension), or 1 if it has none."""
    return float(np.min(np.asarray(getattr(kernel, "lengthscale", 1.0))))
