"""LP-UCB: batches of a Gaussian process, filled by upper bounds that are lowered around the arms already in them.

Idea: if f has the Lipschitz constant L, its maximum M is no nearer to an arm x_b than (M - f(x_b)) / L. The bound, made
positive, is multiplied by the probability phi that an arm is outside of this ball, for each arm of the batch.

Source: González, Dai, Hennig, Lawrence. "Batch Bayesian Optimization via Local Penalization". AISTATS 2016. Algorithm 1
(its steps are quoted); a rival in Kathuria, Deshpande, Kohli. NIPS 2016.

Deviations: M is the best reward. The noise does not count in the deviations. Hyper-parameters are known, and the arm
with the largest posterior mean is returned.
"""

from collections.abc import Callable

import numpy as np
from numpy import ndarray
from scipy.optimize import minimize
from scipy.special import log_ndtr

from bestarm_plain.gaussian import Observe, deviations, posterior
from bestarm_plain.shared import Argmax, argmax

Slope = Callable[[ndarray, ndarray, ndarray, ndarray, float], float]


def steepest(x: ndarray, seen: ndarray, weights: ndarray, lengthscale: ndarray, signal: float) -> float:
    """Return L, the largest gradient norm of the posterior mean sum_i w_i k(x, seen_i) in the box of the arms."""

    def slope(z: ndarray) -> float:
        d = (z - seen) / lengthscale
        k = signal * weights * np.exp(-0.5 * (d**2).sum(axis=1))
        return -float(np.linalg.norm((k[:, None] * d / lengthscale).sum(axis=0)))

    low, high = x.min(axis=0), x.max(axis=0)
    tried = np.concatenate([x, seen, np.random.default_rng(0).uniform(low, high, (500, x.shape[1]))])
    start = min(tried, key=slope)
    return -minimize(slope, start, method="L-BFGS-B", bounds=list(zip(low, high, strict=True))).fun


def lp_ucb(
    x: ndarray,  # features of the arms, shape (n, d)
    observe: Observe,
    batch: int,
    rounds: int,
    first: list[int],  # arms to start with
    *,
    lengthscale: ndarray,  # of the squared-exponential kernel, shape (d,)
    signal: float = 1.0,
    noise: float = 0.01,
    width: float = 2.0,
    slope: Slope = steepest,
    argmax: Argmax = argmax,
) -> int:
    """Return the arm with the largest posterior mean after all batches."""
    z = x / lengthscale
    K = signal * np.exp(-0.5 * ((z[:, None] - z) ** 2).sum(axis=2))
    seen, y = list(first), list(observe(first))
    for _ in range(rounds):
        mu, cov = posterior(K, noise, seen, y)
        sd, M = deviations(cov), max(y)
        weights = np.linalg.solve(K[np.ix_(seen, seen)] + noise * np.eye(len(seen)), np.array(y))
        L = slope(x, x[seen], weights, lengthscale, signal)  # L <- max of the gradient's norm
        log_g = np.log(np.logaddexp(0, mu + width * sd))  # the bound, made positive by a softplus
        chosen: list[int] = []
        for _ in range(batch):
            b = argmax(log_g)  # x_{t,b} <- argmax of the penalised bound
            distance = np.linalg.norm(x - x[b], axis=1)
            log_g = log_g + log_ndtr((L * distance - M + mu[b]) / max(sd[b], 1e-8))  # phi(x; x_{t,b})
            chosen.append(b)
        seen += chosen
        y += list(observe(chosen))
    return int(np.argmax(posterior(K, noise, seen, y)[0]))
