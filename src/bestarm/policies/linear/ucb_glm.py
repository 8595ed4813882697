r"""UCB-GLM with a fixed budget: the baseline of the GSE paper for logistic rewards.

A round computes everything from the counts and totals of the arms, in O(K d^2).

References
----------
.. [1] Li, Lu, Zhou. "Provably Optimal Algorithms for Generalized Linear Contextual Bandits". ICML 2017. Algorithm 1,
   Theorem 2.
.. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 8.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.models.regression import design, factorise, fit_logistic, linear_predictor, solve_lower
from bestarm.policies.linear.fixed_budget import check_budget, largest, most_pulled
from bestarm.settings import check_settings
from bestarm.streams import Streams, uniform

Opening = Literal["random", "each_arm"]
_RANK_TOLERANCE = 1e-9
_ROUNDING = 1e-9


def theoretical_alpha(
    n_features: int | IntArray, budget: int, delta: float, sigma: float = 0.5, kappa: float = 0.25
) -> FloatArray:
    r"""Return :math:`\frac{\sigma}{\kappa}\sqrt{\frac d2\ln(1+\frac{2B}d)+\ln\frac1\delta}` ([1]_, Theorem 2).

    ``sigma`` is the sub-Gaussian scale of a reward in [0, 1]; ``kappa`` bounds the slope of the link from below. Its
    default is the slope at 0, the most that a logistic link has, as other implementations take it.
    """
    d = np.maximum(n_features, 1)  # arms at the origin span nothing
    return np.asarray(sigma / kappa * np.sqrt(d / 2.0 * np.log1p(2.0 * budget / d) - np.log(delta)))


@dataclass
class UcbGlmState:
    """The state of UCB-GLM for R replications."""

    theta: FloatArray  # last estimate, in coordinates of the arms' span, where the next search starts, (R, d)
    pulls: IntArray  # successful pulls of each arm, (R, K)
    totals: FloatArray  # the sums of their rewards, (R, K)
    spent: IntArray  # pulls that were asked for, failed ones included, (R,)
    alpha: FloatArray  # factor of the bonus, (R,)
    replications: IntArray
    feature_set: IntArray
    features: FloatArray = shared()  # coordinates of the arms in their span, 0 beyond its dimension, (n_sets, K, d)
    ranks: IntArray = shared()  # dimension of each span, (n_sets,)
    key: np.uint64 = shared()
    initialised: bool = shared()


class Knowledge(NamedTuple):
    """The fields of `UcbGlmState` that a round reads; ``theta`` is changed in place."""

    features: FloatArray
    ranks: IntArray
    feature_set: IntArray
    pulls: IntArray
    totals: FloatArray
    theta: FloatArray
    alpha: FloatArray
    replications: IntArray
    spent: IntArray
    key: np.uint64


@njit(cache=True)
def is_at_least(matrix: FloatArray, level: float) -> bool:
    """Return whether the smallest eigenvalue of a symmetric matrix reaches a level; for level 0, exceeds rounding.

    Where it does, the matrix less the level has a Cholesky factor. Looks at the lower triangle.
    """
    rest = matrix.copy()
    greatest = 0.0
    for i in range(len(rest)):
        greatest = max(greatest, rest[i, i])
    for i in range(len(rest)):
        rest[i, i] -= max(level * (1.0 - _ROUNDING), _ROUNDING * greatest)
    return factorise(rest)


@njit(cache=True)
def choose(
    known: Knowledge,
    ridge: float,
    regulariser: float,
    least_eigenvalue: float,
    root: bool,
    in_order: bool,
    stopped: BoolArray,
    arms: IntArray,
) -> None:
    """Write a random arm while V is too small, else the one with the largest x' theta + bonus ([1]_), shape (R, 1)."""
    features, ranks, feature_set, pulls, totals, theta, alpha, replications, spent, key = known
    n_replications, n_arms = pulls.shape
    index, everything = np.empty(n_arms), np.ones(n_arms, dtype=np.bool_)
    for r in range(n_replications):
        if stopped[r]:
            continue
        rank = ranks[feature_set[r]]
        x, numbers = features[feature_set[r], :, :rank], pulls[r].astype(np.float64)
        v = design(x, numbers, regulariser)  # V = regulariser I + sum_k N_k x_k x_k'
        if not is_at_least(v, least_eigenvalue):  # [1]_, Algorithm 1: random arms until V is large enough
            arms[r, 0] = int(n_arms * uniform(key, replications[r], spent[r], 2 * n_arms))
            continue
        # the maximum likelihood estimate, from the last one on
        fit_logistic(x, numbers, totals[r], ridge, theta[r, :rank])
        index[:] = linear_predictor(x, theta[r, :rank])
        factorise(v)
        column = np.empty(rank)
        # x'theta + alpha |x|_{V^-1}, by the Cholesky factor of V
        for k in range(n_arms):
            column[:] = x[k]
            solve_lower(v, column)
            bonus = 0.0
            for i in range(rank):
                bonus += column[i] ** 2
            index[k] += alpha[r] * (np.sqrt(bonus) if root else bonus)
        arms[r, 0] = largest(index, everything, in_order, key, replications[r], spent[r], 0)


@njit(cache=True)
def tally(pulls: IntArray, sums: FloatArray, arms: IntArray, counts: IntArray, totals: FloatArray) -> None:
    """Add what was pulled and what it paid to the counts and sums of the arms, in place."""
    for r in range(len(pulls)):
        for j in range(arms.shape[1]):
            if counts[r, j] > 0 and not np.isnan(totals[r, j]):
                pulls[r, arms[r, j]] += counts[r, j]
                sums[r, arms[r, j]] += totals[r, j]


@dataclass(frozen=True)
class UcbGlm:
    r"""UCB-GLM ([1]_) for logistic rewards that stops when its budget is spent and returns the most pulled arm ([2]_).

    Pulls random arms until the smallest eigenvalue of :math:`V=\sum xx^\top` reaches 1, then the arm with the largest
    :math:`x^\top\hat\theta+\alpha\|x\|_{V^{-1}}`, where :math:`\hat\theta` maximises the likelihood of all rewards.
    Arms are taken in coordinates of their span, so V can be inverted whatever the number of features. Raises ValueError
    for a value out of range; in `tell`, for rewards outside [0, 1].

    Parameters
    ----------
    budget : int
        Pulls, at least 1.
    label : str
        Name in the paper; keys the random ties and the random pulls.
    alpha : float, optional
        Exploration, on the scale of :math:`x^\top\theta`; default `theoretical_alpha` with the rank of the arms.
    delta : float
        Risk in (0, 1) behind the default of ``alpha``.
    opening : {"random", "each_arm"}
        Random pulls, or (*deviation* of the authors' code) one pull of every arm; if some of those fail, random pulls
        until V has full rank.
    least_eigenvalue : float
        Where the random pulls end; 1 in [1]_.
    root : bool
        *Deviation* if False: the bonus is :math:`\alpha\,x^\top V^{-1}x`, as in the authors' code.
    ties_in_order : bool
        *Deviation*: of equal arms take the first, as the authors' code does.
    regulariser : float
        :math:`\rho \geq 0` in :math:`V=\rho I+\sum xx^\top`; 0 in [1]_ and in the authors' code.
    ridge : float
        Penalty :math:`\lambda\|\theta\|^2/2` of the likelihood, positive: without it the estimate does not exist while
        the rewards can be separated, as they always can be at the start.
    """

    budget: int
    label: str = "UCB-GLM"
    alpha: float | None = None
    delta: float = 0.05
    opening: Opening = "random"
    least_eigenvalue: float = 1.0
    root: bool = True
    ties_in_order: bool = False
    regulariser: float = 0.0
    ridge: float = 1e-4

    def __post_init__(self) -> None:
        check_settings(self, positive=("ridge",), shares=("delta",), alpha=0, regulariser=0, least_eigenvalue=0)
        check_budget(self.label, self.budget)

    def as_coded(self) -> "UcbGlm":
        """Return the algorithm with the named deviations of the authors' code, and its alpha."""
        return replace(self, alpha=0.5, opening="each_arm", root=False, ties_in_order=True, regulariser=0.0)

    def start(self, arms: Arms, streams: Streams) -> UcbGlmState:
        """Return the state before the first pull; one pull of every arm must fit into the budget if it is asked for."""
        n_replications = len(streams.replications)
        if self.opening == "each_arm":
            check_budget(self.label, self.budget, arms.n_arms, "one pull of every arm")
        features, feature_set = arms.feature_sets(n_replications)
        _, stretches, axes = np.linalg.svd(features, full_matrices=False)
        spans = stretches > _RANK_TOLERANCE * stretches[:, :1]
        ranks = spans.sum(axis=1)
        coordinates = features @ axes.transpose(0, 2, 1) * spans[:, None, :]
        alpha = theoretical_alpha(ranks, self.budget, self.delta)
        if self.alpha is not None:
            alpha = np.full(len(ranks), float(self.alpha))
        return UcbGlmState(
            theta=np.zeros((n_replications, coordinates.shape[2])),
            pulls=arms.no_pulls(n_replications),
            totals=np.zeros((n_replications, arms.n_arms)),
            spent=np.zeros(n_replications, dtype=np.int64),
            alpha=alpha[feature_set],
            replications=streams.replications,
            feature_set=feature_set,
            features=np.ascontiguousarray(coordinates),
            ranks=ranks.astype(np.int64),
            key=streams.key(f"ties of {self.label}"),
            initialised=self.opening == "random",
        )

    def ask(self, state: UcbGlmState) -> Ask:
        """Choose a random arm or the most optimistic one where budget is left."""
        n_replications, n_arms = state.pulls.shape
        if not state.initialised:
            arms = np.tile(np.arange(n_arms), (n_replications, 1))
            return Ask(arms, np.ones_like(arms))
        arms, stopped = np.zeros((n_replications, 1), dtype=np.int64), self.finished(state)
        least = self.least_eigenvalue if self.opening == "random" else 0.0
        known = Knowledge(
            state.features, state.ranks, state.feature_set, state.pulls, state.totals, state.theta, state.alpha,
            state.replications, state.spent, state.key,
        )  # fmt: skip
        choose(known, self.ridge, self.regulariser, least, self.root, self.ties_in_order, stopped, arms)
        return Ask(arms, (~stopped[:, None]).astype(np.int64))

    def tell(self, state: UcbGlmState, asked: Ask, totals: FloatArray) -> None:
        """Add up the rewards; a total that is NaN (a failed evaluation) teaches nothing and costs its pulls."""
        outside = (totals < 0.0) | (totals > asked.counts)
        if (outside & (asked.counts > 0)).any():
            r, j = np.argwhere(outside & (asked.counts > 0))[0]
            raise ValueError(
                f"{self.label} models rewards in [0, 1], got a sum of {totals[r, j]} from {asked.counts[r, j]} pulls "
                f"of arm {asked.arms[r, j]}; rescale the rewards, or take a policy for linear rewards such as LinUCB."
            )
        state.spent += asked.counts.sum(axis=1)
        tally(state.pulls, state.totals, asked.arms, asked.counts, totals)
        state.initialised = True

    def finished(self, state: UcbGlmState) -> BoolArray:
        """Return which replications have spent their budget."""
        return state.spent >= self.budget

    def recommend(self, state: UcbGlmState) -> IntArray:
        """Return the most pulled arm, shape (R, 1)."""
        return most_pulled(state.pulls, self.ties_in_order, state.key, state.replications, state.spent, 1)
