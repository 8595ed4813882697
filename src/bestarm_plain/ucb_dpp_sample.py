"""UCB-DPP-SAMPLE and EST-DPP-SAMPLE: batches of a Gaussian process that are a sample of a determinantal point process.

Idea: the first arm of a batch has the largest upper bound. The others are drawn from the region that may still hold the
maximum, a set S with probability proportional to the determinant of L_S, L = I + K_{t,1} / noise: arms that tell
different things are likely to come together.

Source: Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
NIPS 2016. Algorithm 2 (its lines are quoted). `k_dpp` is Kulesza and Taskar, "k-DPPs", ICML 2011, Algorithms 1 and 2.

Deviations: the sample is exact, by eigenvectors, where the paper runs a Markov chain. The hyper-parameters are known;
the arm with the largest posterior mean is returned. A region with fewer arms than wanted is taken whole, with repeats.
"""

from functools import partial

import numpy as np
from numpy import ndarray

from bestarm_plain.shared import Argmax
from bestarm_plain.ucb_dpp_max import Uniform, ucb_dpp_max


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


def sample(cov: ndarray, R: ndarray, k: int, noise: float, uniform: Uniform, argmax: Argmax) -> list[int]:
    """Return k arms of the region R: a sample of the k-DPP, kDPPSample(K_{t,1}, B - 1)."""
    return R[k_dpp(np.eye(len(R)) + cov[np.ix_(R, R)] / noise, k, uniform)].tolist() if k else []


ucb_dpp_sample = partial(ucb_dpp_max, choose=sample)
est_dpp_sample = partial(ucb_dpp_sample, estimate=True)
