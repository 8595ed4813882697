"""UCB-DPP-SAMPLE and EST-DPP-SAMPLE: batches of a Gaussian process that are a sample of a determinantal point process.

Idea: the first arm of a batch has the largest upper bound. The others are drawn from the region that may still hold the
maximum, a set S with probability proportional to the determinant of L_S, L = I + K_{t,1} / noise: arms that tell
different things are likely to come together.

Source: Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
NIPS 2016. Algorithm 2 (its lines are quoted). `k_dpp` is Kulesza and Taskar, "k-DPPs", ICML 2011, Algorithms 1 and 2.

Deviations: the sample is exact, by eigenvectors, where the paper runs a Markov chain. The hyper-parameters are known;
the arm with the largest posterior mean is returned. A region with fewer arms than wanted is taken whole, with repeats.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy import ndarray

from bestarm_plain.gaussian import Observe, condition, first_and_region, posterior
from bestarm_plain.shared import Argmax, argmax

Uniform = Callable[[int], float]  # the draw of a number


def k_dpp(L: ndarray, k: int, uniform: Uniform) -> list[int]:
    """Return k places, a set S with probability proportional to det L_S."""
    n = len(L)
    lam, V = np.linalg.eigh(L)
    lam = np.maximum(lam, 1.0)  # L is at least I
    lam *= k / lam.sum()  # the law is the same, and the polynomials stay in range
    e = np.zeros((k + 1, n + 1))  # elementary symmetric polynomials of the first eigenvalues
    e[0] = 1.0
    for j in range(1, k + 1):
        for i in range(1, n + 1):
            e[j, i] = e[j, i - 1] + lam[i - 1] * e[j - 1, i - 1]
    J: list[int] = []
    for i in range(n - 1, -1, -1):  # k eigenvectors
        left = k - len(J)
        if left and uniform(i) * e[left, i + 1] < lam[i] * e[left - 1, i]:
            J.insert(0, i)
    B, S = V[:, J], list[int]()
    P = B @ B.T  # the projection on their span; places are drawn by what is left of its diagonal
    for t in range(k):
        weight = np.maximum(np.diag(P), 0)
        weight[S] = 0.0
        place = int(np.searchsorted(np.cumsum(weight), uniform(n + t) * weight.sum(), side="right"))
        place = min(place, int(np.flatnonzero(weight > 0)[-1]))
        P = P - np.outer(P[:, place], P[place]) / P[place, place]
        S.append(place)
    return S


def ucb_dpp_sample(
    K: ndarray,  # prior covariance of the arms, shape (n, n)
    observe: Observe,
    batch: int,
    rounds: int,
    first: list[int],  # arms to start with
    *,
    noise: float = 0.01,
    delta: float = 0.05,
    estimate: bool = False,
    uniform: Uniform = lambda number: np.random.default_rng().random(),
    argmax: Argmax = argmax,
) -> int:
    """Return the arm with the largest posterior mean after all batches."""
    k = batch - 1
    seen, y = list(first), list(observe(first))
    for t in range(1, rounds + 1):  # for t = 1 to T do
        mu, cov = posterior(K, noise, seen, y)  # compute mu_{t-1} and sigma_{t-1}
        x1, R = first_and_region(mu, cov, t, max(y), delta, estimate, argmax)  # x_{t,1}, and the region R_t^+
        K1 = condition(cov, x1, noise)[np.ix_(R, R)]
        if len(R) > k:  # {x_{t,b}} <- kDPPSample(K_{t,1}, B - 1)
            others = R[k_dpp(np.eye(len(R)) + K1 / noise, k, uniform)].tolist() if k else []
        else:
            others = R.tolist() + [int(R[int(uniform(b) * len(R))]) for b in range(len(R), k)]
        chosen = [x1, *others]
        seen += chosen
        y += list(observe(chosen))  # obtain y_{t,b}
    return int(np.argmax(posterior(K, noise, seen, y)[0]))


est_dpp_sample = partial(ucb_dpp_sample, estimate=True)
