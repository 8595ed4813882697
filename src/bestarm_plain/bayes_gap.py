"""BayesGap: the best arm within a budget, by a Bayesian posterior of all means and the gaps between its bounds.

Idea: J has the smallest gap index, the most by which another arm may exceed it; j is its strongest rival. The one of
the two with the wider interval is pulled. The answer is the J whose index was smallest in any round.

Source: Hoffman, Shahriari, de Freitas. "On correlation and budget constraints in model-based bandit optimization".
AISTATS 2014. Algorithm 1, Theorem 1 (beta); a rival in Azizi, Kveton, Ghavamzadeh. IJCAI 2022.

Deviations: gaps count in absolute value, and H is of the inverse squares, as Theorem 1 needs. The switches that are not
as they stand here are what the code of the IJCAI paper does otherwise.
"""

import numpy as np
from numpy import ndarray

from bestarm_plain.shared import Argmax, Pull, argmax


def gram(
    x: ndarray,
    kernel: str,
    lengthscale: float,
    squared_distance: bool = False,
    gram_as_features: bool = False,
    general_eigenvectors: bool = False,
) -> ndarray:
    """Return the kernel matrix of the arms, shape (K, K)."""
    D = np.linalg.norm(x[:, None] - x, axis=2)
    match kernel:
        case "linear":
            G = x @ x.T
        case "exponential":
            G = np.exp(-(D**2 if squared_distance else D) / lengthscale)
        case "matern32":
            root = np.sqrt(3) * D / lengthscale
            G = (1 + root) * np.exp(-root)
        case _:
            G = np.cov(x)
    if general_eigenvectors:
        values, vectors = np.linalg.eig(G)
        return (vectors * values) @ vectors.T
    return G @ G if gram_as_features else G


def bayes_gap(
    x: ndarray,  # features, shape (K, d)
    pull: Pull,
    budget: int,
    sigma: float,
    *,
    prior_scale: float = 1.0,
    kernel: str = "linear",
    lengthscale: float = 1.0,
    epsilon: float = 1e-6,
    initialise: bool = False,
    inverse_square: bool = True,
    absolute_gaps: bool = True,
    root: bool = True,
    variance_as_width: bool = False,
    squared_distance: bool = False,
    gram_as_features: bool = False,
    general_eigenvectors: bool = False,
    argmax: Argmax = argmax,
) -> int:
    """Return the arm whose gap index was smallest in any round."""
    K, T, eta = len(x), budget, prior_scale
    G = gram(x, kernel, lengthscale, squared_distance, gram_as_features, general_eigenvectors)
    prior, kappa = eta**2 * G, (1 / np.diag(G)).sum()
    seen: list[int] = []
    y: list[float] = []
    best, answer = np.inf, -1

    def learn(a: int) -> None:
        y.append(pull(a))
        seen.append(a)

    for k in range(K if initialise else 0):
        learn(k)
    while True:
        # the posterior: Gaussian process regression on every reward so far
        gain = prior[:, seen] @ np.linalg.inv(prior[np.ix_(seen, seen)] + sigma**2 * np.eye(len(seen)))
        mu, cov = gain @ np.array(y), prior - gain @ prior[seen]
        s = np.diag(cov) if variance_as_width else np.sqrt(np.diag(cov))
        # beta of Theorem 1, with the hardness H of gaps between bounds of three deviations
        gaps = np.array([np.delete(mu + 3 * s, k).max() for k in range(K)]) - (mu - 3 * s)
        gaps = np.abs(gaps) if absolute_gaps else gaps
        H = (np.maximum((gaps + epsilon) / 2, epsilon) ** (-2.0 if inverse_square else 1.0)).sum()
        beta = ((T - K) / sigma**2 + kappa / eta**2) / (4 * H)
        beta = np.sqrt(beta) if root else beta
        U, L = mu + beta * s, mu - beta * s
        B = np.array([np.delete(U, k).max() for k in range(K)]) - L
        J = argmax(-B)  # J(t) = argmin B_k(t)
        if len(y) == T:
            return J if answer < 0 else answer
        j = argmax(U, [k for k in range(K) if k != J])  # j(t) = argmax_{k != J} U_k(t)
        if B[J] < best:
            best, answer = B[J], J
        learn(J if s[J] >= s[j] else j)  # a(t) = argmax of the width
