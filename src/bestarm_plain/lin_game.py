"""LinGame: the best arm of a linear bandit with fixed confidence, as the value of a game against the worst alternative.

Idea: a learner proposes weights w of the arms; the opponent answers with the model closest to the estimate under which
another arm is best; the learner is told an optimistic gain of each arm. The pulls follow the weights, until a
likelihood ratio leaves no alternative.

Source: Degenne, Ménard, Shang, Valko. "Gamification of Pure Exploration for Linear Bandits". ICML 2020. Algorithm 1
(LinGame), with AdaHedge (de Rooij et al., JMLR 2014) as the learner, one for each answer; a rival in Réda et al. 2021.

Deviations: the threshold is log((log t + 1) / delta), as in Réda et al.; the learner's first mixability gap is 0.01.
``tracking`` D of the present weights, ``best_response`` to the counts, ``noise_in_statistic`` False and
``squared_norm`` False are what the code of Réda et al. does otherwise.
"""

import numpy as np
from numpy import ndarray
from scipy.special import logsumexp

from bestarm_plain.shared import Argmax, Pull, argmax


def lin_game(
    x: ndarray,  # features, shape (K, d)
    pull: Pull,
    *,
    delta: float = 0.05,
    sigma: float = 0.5,
    regulariser: float = 1.0,
    tracking: str = "C",
    best_response: str = "learner",
    noise_in_statistic: bool = True,
    squared_norm: bool = True,
    max_pulls: int = 10**6,
    argmax: Argmax = argmax,
) -> int:
    """Return the best arm, right with probability at least 1 - delta."""
    (K, d), arms = x.shape, range(len(x))
    sigma = sigma if noise_in_statistic else 1.0
    N, sums = np.zeros(K, dtype=int), np.zeros(K)
    losses, gap = np.zeros((K, K)), np.full(K, 0.01)  # of the learner of each answer i

    def learn(a: int) -> None:
        sums[a] += pull(a)
        N[a] += 1

    for a in arms:  # pull each arm once
        learn(a)
    W = np.ones(K)  # the weights so far, summed up
    while True:
        t = N.sum()
        V0 = (x.T * N) @ x
        V_inverse = np.linalg.inv(regulariser * np.eye(d) + V0)
        theta = V_inverse @ (x.T @ sums)
        i = argmax(x @ theta)  # the answer
        others = [a for a in arms if a != i]
        # stop if the ratio of the likelihoods of the estimate and of every alternative is large enough
        V0_inverse = np.linalg.inv(V0)
        Y = x[others] - x[i]
        ratios = (Y @ theta) ** 2 / (2 * sigma**2 * ((Y @ V0_inverse) * Y).sum(axis=1))
        if ratios.min() >= np.log((np.log(t) + 1) / delta):
            return i
        # the learner of this answer plays AdaHedge
        eta = np.log(K) / gap[i]
        w = np.exp(-eta * (losses[i] - losses[i].min()))
        w /= w.sum()
        # the opponent's best response: the nearest model on the border of a half-space in which another arm is best
        V_w = (x.T * np.maximum(w if best_response == "learner" else N, 1e-12)) @ x
        steps = np.linalg.inv(V_w) @ Y.T
        models = theta - ((Y @ theta) / (Y * steps.T).sum(axis=1) * steps).T
        costs = [0.5 * (theta - model) @ V_w @ (theta - model) for model in models]
        model = models[int(np.argmin(costs))]
        # optimistic gains U_k^2 / (2 sigma^2), at most f(t) = log t
        f, norm = np.log(t), ((x @ V_inverse) * x).sum(axis=1)
        U = np.abs(x @ (theta - model)) + np.sqrt(2 * f * sigma**2 * (norm if squared_norm else np.sqrt(norm)))
        loss = -np.minimum(U**2 / (2 * sigma**2), f)
        mix = (logsumexp(-eta * losses[i]) - logsumexp(-eta * (losses[i] + loss))) / eta
        gap[i] += max(w @ loss - mix, 0)
        losses[i] += loss
        # tracking: the arm that lags most behind the weights
        W += w
        a = argmax(t * w - N if tracking == "D" else W - N)
        if t + 1 > max_pulls:
            return i
        learn(a)
