"""UCB-DPP-MAX and EST-DPP-MAX: batches of a Gaussian process that enlarge a determinant most; also known as UCB-PE.

Idea: the first arm of a batch has the largest upper bound. The others come from the region that may still hold the
maximum: one by one, the arm with the largest deviation given those before, which is greedy maximisation of a
determinant.

Source: Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
NIPS 2016. Algorithm 2 (its lines are quoted); Contal, Buffoni, Robicquet, Vayatis. ECML 2013 (UCB-PE).

Deviations: the hyper-parameters are known; the arm with the largest posterior mean is returned. A region with fewer
arms than wanted is taken whole and filled up with repeats.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy import ndarray

from bestarm_plain.gaussian import Observe, condition, first_and_region, posterior
from bestarm_plain.shared import Argmax, argmax

Uniform = Callable[[int], float]  # the draw of a number


def greedy(cov: ndarray, R: ndarray, k: int, noise: float, uniform: Uniform, argmax: Argmax) -> list[int]:
    """Return k arms of the region R, each with the largest deviation given those before."""
    chosen, left = list[int](), R.tolist()
    for _ in range(k):
        chosen.append(argmax(np.diag(cov), left))
        left.remove(chosen[-1])
        cov = condition(cov, chosen[-1], noise)
    return chosen


def ucb_dpp_max(
    K: ndarray,  # prior covariance of the arms, shape (n, n)
    observe: Observe,
    batch: int,
    rounds: int,
    first: list[int],  # arms to start with
    *,
    noise: float = 0.01,
    delta: float = 0.05,
    estimate: bool = False,
    choose: Callable[..., list[int]] = greedy,
    uniform: Uniform = lambda number: np.random.default_rng().random(),
    argmax: Argmax = argmax,
) -> int:
    """Return the arm with the largest posterior mean after all batches."""
    k = batch - 1
    seen, y = list(first), list(observe(first))
    for t in range(1, rounds + 1):  # for t = 1 to T do
        mu, cov = posterior(K, noise, seen, y)  # compute mu_{t-1} and sigma_{t-1}
        x1, R = first_and_region(mu, cov, t, max(y), delta, estimate, argmax)  # x_{t,1}, and the region R_t^+
        if len(R) > k:  # {x_{t,b}} <- kDPPMaxGreedy(K_{t,1}, B - 1), or kDPPSample
            others = choose(condition(cov, x1, noise), R, k, noise, uniform, argmax)
        else:
            others = R.tolist() + [int(R[int(uniform(b) * len(R))]) for b in range(len(R), k)]
        chosen = [x1, *others]
        seen += chosen
        y += list(observe(chosen))  # obtain y_{t,b}
    return int(np.argmax(posterior(K, noise, seen, y)[0]))


est_dpp_max = partial(ucb_dpp_max, estimate=True)
