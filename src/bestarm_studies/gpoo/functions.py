"""Reward functions of the GPOO paper (Appendix E), one of two dimensions, and draws from the prior."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self, get_args

import numpy as np
from scipy.linalg import solve_triangular

from bestarm.interface import FloatArray, IntArray
from bestarm.kernels import Stationary, box_point_average
from bestarm.partition import Feedback, Partition
from bestarm.streams import Streams, standard_normal
from bestarm_studies.gpoo.cell_bandit import CellBandit

Name = Literal["f1", "f2", "f3"]
_VARIANCE = 0.1


@dataclass(frozen=True)
class KernelExpansion:
    """A function in the span of a kernel, or one for each replication.
    ``centres`` c_j, shape (n, d); ``weights``, shape (n,) or (R, n): shared, or one set for each replication."""

    kernel: Stationary
    centres: FloatArray
    weights: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return f at points of shape (..., d), shape (...); with R sets of weights the leading axis is R."""
        covariances = self.kernel.K(x, self.centres) if x.ndim > 1 else self.kernel.K(x[None], self.centres)[0]
        return self._sum(covariances)

    def average(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Return the averages of f over boxes given by their corners, shape (..., d): closed form for an RBF kernel."""
        return self._sum(box_point_average(self.kernel, lower[..., None, :], upper[..., None, :], self.centres))

    def _sum(self, covariances: FloatArray) -> FloatArray:
        if self.weights.ndim == 1:
            # no matrix product: its last bit depends on how many points are asked at once, hence on the block
            return np.asarray((covariances * self.weights).sum(axis=-1))
        flat = covariances.reshape(len(self.weights), -1, self.weights.shape[1])
        return np.einsum("rmn,rn->rm", flat, self.weights).reshape(covariances.shape[:-1])

    def take(self, rows: IntArray) -> Self:
        """Return the functions of a subset of the replications."""
        return self if self.weights.ndim == 1 else replace(self, weights=self.weights[rows])


def posterior_mean(kernel: Stationary, x: FloatArray, y: FloatArray, noise_variance: float) -> KernelExpansion:
    """Return the posterior mean given rewards y, shape (n,), at points x, shape (n, d)."""
    gram = kernel.K(x) + noise_variance * np.eye(len(x))
    weights: FloatArray = np.asarray(np.linalg.solve(gram, y), dtype=np.float64)
    return KernelExpansion(kernel, x, weights)


def prior_draws(kernel: Stationary, centres: FloatArray, streams: Streams) -> KernelExpansion:
    """Return draws from the prior, one for each replication: exact at the centres, their interpolation between.
    The centres must lie closer than about a quarter of the length-scale for the draws to be the process's everywhere;
    a jitter of 1e-10 of the variance keeps the factorisation stable."""
    factor = np.linalg.cholesky(kernel.K(centres) + 1e-10 * kernel.variance * np.eye(len(centres)))
    key = streams.key("function")
    normals = np.array([[standard_normal(key, r, j, 0) for j in range(len(centres))] for r in streams.replications])
    return KernelExpansion(kernel, centres, solve_triangular(factor, normals.T, lower=True, trans="T").T)


@dataclass(frozen=True)
class Design:
    """How a reward function is made.
    ``name``: f1 (similar maxima), f2 (periodic-like) or f3 (a narrow peak); ``lengthscale``: of the kernel with
    variance 0.1 that makes it; ``conditioning_variance``: of the given points (the paper calls 0.005 a standard
    deviation; read so, f3 reaches 1.7); ``n_regions``: parts of [0, 0.9] for f2 and f3."""

    name: Name
    lengthscale: float
    conditioning_variance: float = 0.005
    n_regions: int = 10

    def __post_init__(self) -> None:
        if self.name not in get_args(Name):
            raise ValueError(f"name must be one of {', '.join(get_args(Name))}, got {self.name!r}.")

    def points(self) -> tuple[FloatArray, FloatArray]:
        """Return the given points, shape (n, 1), and the values there, shape (n,)."""
        if self.name == "f1":
            return np.array([[0.05], [0.2], [0.4], [0.65], [0.9]]), np.array([0.85, 0.1, 0.87, 0.05, 0.98])
        edges = np.linspace(0.0, 0.9, self.n_regions + 1)
        width = 0.9 / self.n_regions
        centres = (edges[:-1] + edges[1:]) / 2.0
        x = np.stack([centres, centres + 2.0 / 3.0 * width], axis=1).ravel()
        y = np.tile([0.1, 0.2], self.n_regions)
        if self.name == "f3":
            x, y = np.append(x, [0.94, 0.945]), np.append(y, [0.1, 0.2])
        return np.append(x, 0.95)[:, None], np.append(y, 0.9)

    def function(self) -> KernelExpansion:
        """Return the posterior mean."""
        kernel = Stationary("rbf", _VARIANCE, self.lengthscale)
        return posterior_mean(kernel, *self.points(), self.conditioning_variance)


@dataclass(frozen=True)
class DesignedBandit(CellBandit):
    """A reward function of the paper with the design that it comes from."""

    design: Any = None

    def as_coded(self) -> "DesignedBandit":
        """Return the function that the authors' code makes: f1 is smoother, f2 and f3 have nine regions."""
        changes = {"lengthscale": 0.1} if self.design.name == "f1" else {"n_regions": 9}
        design = replace(self.design, **changes)
        return replace(self, function=design.function(), design=design)


Maker = partial[DesignedBandit]  # `reward_function` with its name and settings


def reward_function(
    name: Name,
    *,
    lengthscale: float | None = None,
    conditioning_variance: float = 0.005,
    n_regions: int = 10,
    arity: int = 2,
    n_representatives: int = 1,
    feedback: Feedback = "representatives",
    sigma: float = 0.1,
    n_points: int = 1000,
) -> DesignedBandit:
    """Return f1, f2 or f3 of the paper on [0, 1]; the length-scale is 0.05, of f3 0.01, unless it is given."""
    design = Design(name, lengthscale or (0.01 if name == "f3" else 0.05), conditioning_variance, n_regions)
    partition = Partition(arity, n_representatives, feedback=feedback)
    return DesignedBandit(f"GPOO {name}", design.function(), partition, sigma, n_points=n_points, design=design)


def prior_bandit(
    n_functions: int,
    seed: int,
    *,
    lengthscale: float = 0.05,
    arity: int = 2,
    n_representatives: int = 1,
    sigma: float = 0.1,
) -> CellBandit:
    """Return one draw of the prior for each replication (Assumption 1), on [0, 1]."""
    kernel = Stationary("rbf", _VARIANCE, lengthscale)
    centres = np.linspace(0.0, 1.0, int(np.ceil(4.0 / lengthscale)) + 1)[:, None]
    label = f"prior draws lengthscale={lengthscale:g}"
    functions = prior_draws(kernel, centres, Streams.first(n_functions, seed=seed, instance=label))
    return CellBandit(label, functions, Partition(arity, n_representatives), sigma)
