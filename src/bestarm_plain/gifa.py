"""GIFA: the m best arms with fixed confidence, by gap indices; m-LinGapE, LinGIFA, LUCB and UGapE are rows of a table.

Idea: B_ij(t) bounds mu_i - mu_j from above. J(t) holds m candidates, b_t is the one whose place is most in doubt, c_t
its strongest challenger. The arm that best tells b_t from c_t is pulled, until no challenger can win by epsilon.

Source: Réda, Kaufmann, Delahaye-Duriez. "Top-m identification for linear bandits". AISTATS 2021. Algorithm 1 (its lines
are quoted), Table 1 (the four algorithms at the end), Section 3 (selection and stopping rules), Eq. 2 (threshold).

Deviations: Eq. 2 has one regulariser rho, where the paper prints lambda^2 and the root of lambda; the design that
compares b_t with c_t may have negative weights, of which the size counts. ``stale_pair`` and ``index_time_ahead`` are
what the authors' code does otherwise: it tests the old pair after the pull, and the threshold looks a round ahead.
"""

from functools import partial

import numpy as np
from numpy import ndarray

from bestarm_plain.shared import Argmax, Design, Pull, argmax, pair_design


def gifa(
    x: ndarray,  # features, shape (K, N); the classical indices use their number only
    pull: Pull,
    n_best: int,
    *,
    index: str = "paired",
    by_gap_index: bool = False,
    challenged_by_mth: bool = False,
    selection: str = "largest_variance",
    stop: str = "lucb",
    threshold: str = "heuristic",
    initialise: bool = True,
    delta: float = 0.05,
    epsilon: float = 0.0,
    sigma: float = 0.5,
    norm_bound: float = 1.0,
    regulariser: float | None = None,
    threshold_regulariser: float | None = None,
    stale_pair: bool = False,
    index_time_ahead: bool = False,
    max_pulls: int = 10**6,
    design: Design = pair_design,
    argmax: Argmax = argmax,
) -> list[int]:
    """Return the m arms that are epsilon-optimal with probability at least 1 - delta."""
    K, d, m, S = *x.shape, n_best, norm_bound
    arms, N, sums = range(K), np.zeros(K, dtype=int), np.zeros(K)
    rho = regulariser or (sigma / 20) ** 2
    bias_rho, L = threshold_regulariser or rho, np.linalg.norm(x, axis=1).max()

    def C(t: float) -> float:
        if threshold == "heuristic":
            return np.sqrt(2 * np.log((np.log(t) + 1) / delta))
        if threshold == "lucb1":
            return np.sqrt(2 * np.log(5 * K * t**4 / (4 * delta)))
        log = d * np.log(1 + (t + 1) * L**2 / (bias_rho * d))  # Eq. 2
        return np.sqrt(2 * np.log(1 / delta) + log) + np.sqrt(bias_rho) / sigma * S

    def estimate() -> tuple[ndarray, ndarray, ndarray, ndarray]:
        """Means, the width W of each arm, the index B of each pair, and V."""
        V = rho * np.eye(d) + (x.T * N) @ x
        if index in ("paired", "individual"):
            inverse = np.linalg.inv(V)
            mean, W = x @ inverse @ (x.T @ sums), np.sqrt(((x @ inverse) * x).sum(axis=1))
            D = x[:, None] - x
            pairs = np.sqrt(((D @ inverse) * D).sum(axis=2))
        else:
            mean, W = sums / N, 1 / np.sqrt(N)
            pairs = np.sqrt(1 / N[:, None] + 1 / N)
        if index in ("individual", "classical"):
            pairs = W[:, None] + W
        return mean, W, mean[:, None] - mean + sigma * C(max(1, N.sum() + index_time_ahead)) * pairs, V

    def learn(a: int) -> None:
        sums[a] += pull(a)
        N[a] += 1

    for a in arms if initialise else []:  # initialization()
        learn(a)
    while True:
        mean, W, B, V = estimate()
        mth = [np.sort([B[i, j] for i in arms if i != j])[-m] for j in arms]  # max^m_{i != j} B_ij
        J: list[int] = []
        for _ in range(m):  # J(t) <- compute_Jt
            J.append(argmax([-v for v in mth] if by_gap_index else mean, [a for a in arms if a not in J]))
        others = [a for a in arms if a not in J]
        doubt = {j: mth[j] if challenged_by_mth else max(B[i, j] for i in others) for j in J}
        b = argmax(doubt, sorted(J))  # b_t <- compute_bt
        c = argmax(B[:, b], others)  # c_t <- argmax_{a not in J(t)} B_{a, b_t}(t)
        gap = max(mth[j] for j in J) if stop == "ugape" else B[c, b]
        if gap <= epsilon and not stale_pair:  # stopping_rule
            return J
        if selection == "both":  # a_t <- selection_rule(b_t, c_t)
            chosen = [b, c]
        elif selection == "largest_variance":
            chosen = [argmax(W, sorted([b, c]))]
        elif selection == "greedy":
            y = x[b] - x[c]
            chosen = [argmax([-y @ np.linalg.inv(V + np.outer(x_a, x_a)) @ y for x_a in x], arms)]
        else:  # optimised: the arm that lags most behind the design that compares b_t with c_t
            w = np.abs(design(x, b, c))
            chosen = [argmax({a: -N[a] / w[a] for a in arms if w[a] > 0}, [a for a in arms if w[a] > 0])]
        if N.sum() + len(chosen) > max_pulls:
            return J
        for a in chosen:  # r_t <- pulling(a_t); update the design, the means and the gap indices
            learn(a)
        if stale_pair and (estimate()[2][c, b] if stop == "lucb" else gap) <= epsilon:
            return J


m_lingape = partial(gifa, selection="greedy", threshold="eq2")
lingifa = partial(gifa, by_gap_index=True, challenged_by_mth=True, stop="ugape", threshold="eq2", initialise=False)
lucb = partial(gifa, index="classical", threshold="lucb1")
ugape = partial(gifa, index="classical", by_gap_index=True, stop="ugape", threshold="lucb1")
