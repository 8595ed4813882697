"""Functions drawn from the prior of the search's own model, where the paper's theorems hold, and their kernels."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist

from bestarm.interface import FloatArray
from bestarm.streams import Streams
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms

# Functions drawn from the model itself, in the plane, with known hyper-parameters.
DRAWN = {"lengthscale": 0.15, "sigma": 0.1}


def kernel_matrix(x: FloatArray, lengthscale: float) -> FloatArray:
    """Return the squared-exponential kernel with k(x, x) = 1 between points, shape (n, n)."""
    return np.asarray(np.exp(-0.5 * cdist(x, x, "sqeuclidean") / lengthscale**2))


def kernel_root(x: FloatArray, lengthscale: float) -> FloatArray:
    """Return A with A A' the kernel matrix, shape (n, n), exact where the kernel is singular to rounding."""
    values, vectors = np.linalg.eigh(kernel_matrix(x, lengthscale))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def gp_draw_instance(
    n_arms: int = 400,
    n_features: int = 2,
    lengthscale: float = 0.15,
    sigma: float = 0.1,
    replications: int = 500,
    seed: int = 0,
) -> CandidateArms:
    """Return draws from a Gaussian process with a squared-exponential kernel, k(x, x) = 1, one for each replication.
    The candidates, uniform in :math:`[0,1]^d`, are shared; draw r is the same whatever ``replications`` is."""
    if min(n_arms - 1, n_features, replications) < 1 or not lengthscale > 0:
        raise ValueError(
            f"at least 2 arms, 1 feature, 1 replication and a positive length-scale are needed, got n_arms={n_arms}, "
            f"n_features={n_features}, replications={replications}, lengthscale={lengthscale}."
        )
    x = np.random.default_rng([seed, n_arms, n_features]).random((n_arms, n_features))
    root = kernel_root(x, lengthscale)
    normal = [np.random.default_rng([seed, n_arms, n_features, r]).standard_normal(n_arms) for r in range(replications)]
    label = f"GP draws |X|={n_arms} d={n_features} l={lengthscale:g} sigma={sigma:g}"
    return CandidateArms(label, x, np.stack(normal) @ root.T, sigma)


FUNCTIONS = partial(gp_draw_instance, n_arms=400, lengthscale=DRAWN["lengthscale"], sigma=DRAWN["sigma"])
BLOCK = 125  # replications that are searched together; the rows do not depend on it


def blocks(problem: CandidateArms, replications: int, seed: int) -> Iterator[tuple[CandidateArms, Streams]]:
    """Yield parts of a problem with their random numbers."""
    for start in range(0, replications, BLOCK):
        rows = np.arange(start, min(start + BLOCK, replications))
        yield problem.take(rows), Streams(seed, problem.label, rows)


def batch_kernel(n: int, noise: float, seed: int, item: int, lengthscale: float = 0.3, n_known: int = 3) -> FloatArray:
    """Return the DPP kernel I + K / noise of random points in the plane, of which a few neighbours were observed."""
    x = np.random.default_rng([seed, item, n]).random((n + n_known, 2))
    prior = kernel_matrix(x, lengthscale)
    cross, own = prior[n:, :n], prior[n:, n:] + noise * np.eye(n_known)
    return np.asarray(np.eye(n) + (prior[:n, :n] - cross.T @ np.linalg.solve(own, cross)) / noise)
