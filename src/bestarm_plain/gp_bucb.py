"""GP-BUCB and B-EST: batches of a Gaussian process, filled by bounds with rewards that are not yet there.

Idea: within a batch the mean stays as it was, while the deviations know the arms chosen before, since they do not
depend on rewards. So the next arm is taken where something is left to learn.

Source: Desautels, Krause, Burdick. "Parallelizing Exploration-Exploitation Tradeoffs in Gaussian Process Bandit
Optimization". JMLR 2014; as Algorithm 1 (its lines are quoted) in Kathuria, Deshpande, Kohli. NIPS 2016, with B-EST.

Deviations: the hyper-parameters are known; the arm with the largest posterior mean is returned, and not the one with
the largest noisy reward.
"""

from functools import partial

import numpy as np
from numpy import ndarray

from bestarm_plain.gaussian import Observe, condition, deviations, est_width, estimated_maximum, posterior, ucb_width
from bestarm_plain.shared import Argmax, argmax


def gp_bucb(
    K: ndarray,  # prior covariance of the arms, shape (n, n)
    observe: Observe,
    batch: int,
    rounds: int,
    first: list[int],  # arms to start with
    *,
    noise: float = 0.01,
    delta: float = 0.05,
    inflation: float = 1.0,
    estimate: bool = False,
    argmax: Argmax = argmax,
) -> int:
    """Return the arm with the largest posterior mean after all batches."""
    n, B, C = len(K), batch, inflation
    seen, y = list(first), list(observe(first))
    for t in range(rounds):
        mu, cov = posterior(K, noise, seen, y)  # mu_fb[t]: of the rewards of whole batches
        maximum = estimated_maximum(mu, deviations(cov), max(y))
        chosen: list[int] = []
        for b in range(1, B + 1):  # for t = 1 to TB do
            sd = deviations(cov)
            width = est_width(mu, sd, maximum) if estimate else ucb_width(n, t * B + b, delta)  # choose beta_t^1/2
            x = argmax(mu + C * width * sd)  # choose x_t = argmax mu_fb[t] + beta_t^1/2 sigma_{t-1}
            cov = condition(cov, x, noise)  # and compute sigma_t
            chosen.append(x)
        seen += chosen
        y += list(observe(chosen))  # if fb[t] < fb[t + 1]: obtain the rewards of the batch
    return int(np.argmax(posterior(K, noise, seen, y)[0]))


b_est = partial(gp_bucb, estimate=True)
