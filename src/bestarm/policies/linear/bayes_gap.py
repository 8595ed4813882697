r"""BayesGap: Bayesian gap-based exploration with a fixed budget, on arms that a Gaussian process relates.

The posterior is kept in arm space: with the prior covariance :math:`\eta^2 G` of the means and noise of variance
:math:`\sigma^2`, the matrix :math:`\eta^2 G/\sigma^2` obeys the recursion of a design with unit noise.

References
----------
.. [1] Hoffman, Shahriari, de Freitas. "On correlation and budget constraints in model-based bandit optimization with
   application to automatic machine learning". AISTATS 2014. Algorithm 1, Theorem 1.
.. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 8,
   Appendices D.1 and E.1.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.kernels import Stationary
from bestarm.policies.linear import arm_space
from bestarm.policies.linear.arm_space import ArmSpace
from bestarm.policies.linear.fixed_budget import check_budget, largest
from bestarm.settings import check_settings
from bestarm.streams import Streams

ArmKernel = Literal["linear", "exponential", "rbf", "matern32", "matern52", "empirical"]
_ROUNDING = 1e-10


def prior_gram(
    features: FloatArray, kernel: ArmKernel, lengthscale: float, squared_distance: bool = False
) -> FloatArray:
    r"""Return the covariances G of the arms' means before any reward, up to the prior's scale.

    ``features`` (ndarray, shape (..., n_arms, n_features)): arm features; ``kernel`` ({"linear", "exponential", "rbf",
    "matern32", "matern52", "empirical"}): :math:`X X^\top`; a stationary kernel; or the sample covariance of two arms
    over their features; ``lengthscale``: :math:`\ell` of a stationary kernel, in units of the features;
    ``squared_distance``: :math:`e^{-\|x-x'\|^2/\ell}` for the exponential kernel :math:`e^{-\|x-x'\|/\ell}`. Returns
    ndarray, shape (..., n_arms, n_arms). Raises ValueError if the empirical covariance is asked of a single feature."""
    if kernel == "linear":
        return features @ np.swapaxes(features, -1, -2)
    if kernel == "empirical":
        if features.shape[-1] < 2:
            raise ValueError("kernel 'empirical' needs at least 2 features, got 1; take 'linear'.")
        centred = features - features.mean(axis=-1, keepdims=True)
        return centred @ np.swapaxes(centred, -1, -2) / (features.shape[-1] - 1.0)
    if kernel == "exponential" and squared_distance:
        return Stationary("rbf", 1.0, float(np.sqrt(lengthscale / 2.0))).K(features)
    return Stationary(kernel, 1.0, lengthscale).K(features)


def _gram_of_eigenvectors(gram: FloatArray) -> FloatArray:
    """Return X X' for X = V D^(1/2) by the general eigenvalue solver.

    Eigenvalues below 0 by rounding, as singular matrices have them, count as 0. The authors' code then computes with
    NaN and returns the first arm; that is left out.
    """
    values, vectors = np.linalg.eig(gram)
    features = vectors.real * np.sqrt(np.maximum(values.real, 0.0))[..., None, :]
    return np.asarray(features @ np.swapaxes(features, -1, -2))


@dataclass(kw_only=True)
class BayesGapState(ArmSpace):
    r"""The state of BayesGap for R replications; covariances are in units of :math:`\sigma^2`."""

    means: FloatArray  # posterior means, (R, K)
    pulls: IntArray  # successful pulls of each arm, (R, K)
    spent: IntArray  # pulls that were asked for, failed ones included, (R,)
    information: FloatArray  # (B - K) / sigma^2 + kappa / eta^2 of Theorem 1, (R,)
    smallest_bound: FloatArray  # the least B_J(t)(t) so far, (R,)
    recommended: IntArray  # the J of that round; -1 before the first, (R, 1)
    replications: IntArray
    key: np.uint64 = shared()
    initialised: bool = shared()


class Rule(NamedTuple):
    """The settings of `BayesGap` that a round needs."""

    budget: int
    sigma: float
    epsilon: float
    inverse_square: bool
    absolute_gaps: bool
    root: bool
    variance_as_width: bool
    ties_in_order: bool


@njit(cache=True)
def largest_of_the_others(values: FloatArray) -> FloatArray:
    """Return the largest value over all other positions, for each position."""
    first, second, place = -np.inf, -np.inf, 0
    for k in range(len(values)):
        if values[k] > first:
            first, second, place = values[k], first, k
        elif values[k] > second:
            second = values[k]
    others = np.full(len(values), first)
    others[place] = second
    return others


@njit(cache=True)
def estimated_hardness(
    means: FloatArray, widths: FloatArray, epsilon: float, inverse_square: bool, absolute: bool
) -> float:
    """Return H with gaps from three-sigma bounds, |max_{j != k} (mean_j + 3 w_j) - (mean_k - 3 w_k)| ([1]_)."""
    others = largest_of_the_others(means + 3.0 * widths)
    hardness = 0.0
    for k in range(len(means)):
        gap = others[k] - (means[k] - 3.0 * widths[k])
        if absolute:
            gap = abs(gap)
        # [1]_, Theorem 1: H is the sum of max((gap + epsilon) / 2, epsilon)^-2
        half = max((gap + epsilon) / 2.0, epsilon)
        if not inverse_square:
            hardness += half
        else:
            hardness += 1.0 / half**2 if half > 0.0 else np.inf
    return hardness


@njit(cache=True)
def exploration(information: float, hardness: float, root: bool) -> float:
    """Return beta: the root of information / (4 H) ([1]_, Theorem 1), 0 where nothing can be told apart."""
    squared = max(information, 0.0) / (4.0 * hardness) if hardness > 0.0 else 0.0
    return np.sqrt(squared) if root else squared


@njit(cache=True)
def choose(
    rule: Rule,
    variances: FloatArray,
    means: FloatArray,
    information: FloatArray,
    key: np.uint64,
    replications: IntArray,
    spent: IntArray,
    smallest_bound: FloatArray,
    recommended: IntArray,
    arms: IntArray,
) -> None:
    """Compute B_k, J and j, write the one of the two that is less known, and keep J if its bound is the least so far.

    A replication without budget is left as it is.
    """
    budget, sigma, epsilon, inverse_square, absolute, root, variance, in_order = rule
    n_replications, n_arms = means.shape
    widths, allowed = np.empty(n_arms), np.ones(n_arms, dtype=np.bool_)
    pair = np.zeros(n_arms, dtype=np.bool_)
    for r in range(n_replications):
        if spent[r] >= budget:
            continue
        replication, time, mu = replications[r], spent[r], means[r]
        for k in range(n_arms):
            squared = sigma**2 * max(variances[r, k], 0.0)
            widths[k] = squared if variance else np.sqrt(squared)
        # beta, with the hardness as it is estimated now ([1]_, Theorem 1)
        hardness = estimated_hardness(mu, widths, epsilon, inverse_square, absolute)
        beta = exploration(information[r], hardness, root)
        upper = mu + beta * widths
        bounds = largest_of_the_others(upper) - (mu - beta * widths)  # B_k = max_{i != k} U_i - L_k
        best = largest(-bounds, allowed, in_order, key, replication, time, 0)  # J = argmin_k B_k
        allowed[best] = False
        rival = largest(upper, allowed, in_order, key, replication, time, 1)  # j = argmax_{k != J} U_k
        allowed[best] = True
        # the recommendation is the J of the round with the least bound
        if bounds[best] < smallest_bound[r]:
            smallest_bound[r], recommended[r, 0] = bounds[best], best
        # the arm to pull is the less known one of J and j
        if in_order:  # of two that are known equally well, J
            arms[r, 0] = best if widths[best] >= (1.0 - _ROUNDING) * widths[rival] else rival
        else:
            pair[best], pair[rival] = True, True
            arms[r, 0] = largest(widths, pair, False, key, replication, time, 2)
            pair[best], pair[rival] = False, False


@dataclass(frozen=True)
class BayesGap:
    r"""BayesGap ([1]_, Algorithm 1) with its exploration estimated anew in every round.

    With posterior means :math:`\hat\mu` and standard deviations :math:`\hat\sigma`, bounds :math:`U,L=\hat\mu\pm\beta
    \hat\sigma` and :math:`B_k=\max_{i\neq k}U_i-L_k`: J minimises B, j maximises U over the others, the one with the
    larger :math:`\hat\sigma` is pulled. Returned is J of the round with the smallest :math:`B_J`; a round looks at the
    data before its pull, so the last reward has no part in it.

    .. math:: \beta^2=\frac{(B-K)/\sigma^2+\kappa/\eta^2}{4\hat H},\quad \kappa=\sum_k\|x_k\|^{-2},\quad
              \hat H=\sum_k\max(\tfrac12(\hat\Delta_k+\varepsilon),\varepsilon)^{-2}

    A negative :math:`\beta^2` (a budget far below the number of arms) counts as 0. An arm at the origin, whose mean is
    known, has no part in :math:`\kappa`. With a kernel, :math:`\|x_k\|^2` is the k-th diagonal entry of its matrix.
    Raises ValueError for a value out of range.

    Parameters
    ----------
    budget : int
        B, at least 1.
    sigma : float
        Standard deviation of the noise, in units of reward.
    label : str
        Name in the paper; keys the random ties.
    kernel : {"linear", "exponential", "rbf", "matern32", "matern52", "empirical"}
        Covariance of the arms' means, see `prior_gram`.
    lengthscale : float
        Of a stationary kernel, in units of the features.
    prior_scale : float
        :math:`\eta`, standard deviation of the parameter.
    epsilon : float
        Slack of the guarantee, in units of reward, at least 0; by default next to 0, as in Appendix D.1 of [2]_. With 0
        itself an estimated gap of 0 makes :math:`\beta=0`.
    initialise : bool
        *Deviation*: pull every arm once first, as the authors' code does.
    inverse_square : bool
        *Deviation* if False: :math:`\hat H` without its power -2, as in the authors' code.
    absolute_gaps : bool
        *Deviation* if False: an estimated gap may be negative, as in the authors' code, and then counts as 0.
    root : bool
        *Deviation* if False: the right-hand side above is taken for :math:`\beta`, as in the authors' code.
    variance_as_width : bool
        *Deviation*: :math:`\hat\sigma^2` for :math:`\hat\sigma` everywhere, as in the authors' code.
    squared_distance : bool
        *Deviation*: the exponential kernel is :math:`e^{-\|x-x'\|^2/\ell}`, as in the authors' code.
    gram_as_features : bool
        *Deviation*: the rows of the kernel's matrix G are taken for features, so the covariance is :math:`G G^\top`; in
        the authors' code with Matérn kernels.
    general_eigenvectors : bool
        *Deviation*: features are :math:`V D^{1/2}` by a solver for matrices that need not be symmetric, as in the
        authors' code with the exponential and the empirical kernel. Where an eigenvalue repeats its V is not
        orthogonal, so the covariance is not G and arms that are alike are not treated alike; how depends on LAPACK.
    ties_in_order : bool
        *Deviation*: of equal arms take the first, and J before an equally well known j, as the authors' code does.
    """

    budget: int
    sigma: float
    label: str = "BayesGap"
    kernel: ArmKernel = "linear"
    lengthscale: float = 1.0
    prior_scale: float = 1.0
    epsilon: float = 1e-6
    initialise: bool = False
    inverse_square: bool = True
    absolute_gaps: bool = True
    root: bool = True
    variance_as_width: bool = False
    squared_distance: bool = False
    gram_as_features: bool = False
    general_eigenvectors: bool = False
    ties_in_order: bool = False

    def __post_init__(self) -> None:
        check_settings(self, positive=("sigma", "prior_scale", "lengthscale"), epsilon=0)
        check_budget(self.label, self.budget)

    def as_coded(self) -> "BayesGap":
        """Return the algorithm with the named deviations of the authors' code, its prior scale and slack."""
        return replace(
            self,
            prior_scale=50.0,
            epsilon=0.0,
            initialise=True,
            inverse_square=False,
            absolute_gaps=False,
            root=False,
            variance_as_width=True,
            squared_distance=True,
            gram_as_features=self.kernel in ("matern32", "matern52"),
            general_eigenvectors=self.kernel in ("exponential", "empirical"),
            ties_in_order=True,
        )

    def start(self, arms: Arms, streams: Streams) -> BayesGapState:
        """Return the state before the first pull; with ``initialise`` the budget must reach for every arm."""
        n_arms, n_replications = arms.n_arms, len(streams.replications)
        if self.initialise:
            check_budget(self.label, self.budget, n_arms, "one pull of every arm")
        features, feature_set = arms.feature_sets(n_replications)
        gram = prior_gram(features, self.kernel, self.lengthscale, self.squared_distance)
        if self.gram_as_features:
            gram = gram @ gram.transpose(0, 2, 1)
        if self.general_eigenvectors:
            gram = _gram_of_eigenvectors(gram)
        squared_norms = np.einsum("skk->sk", gram)
        placed = squared_norms > 0.0
        kappa = np.where(placed, 1.0 / np.where(placed, squared_norms, 1.0), 0.0).sum(axis=1)
        information = (self.budget - n_arms) / self.sigma**2 + kappa / self.prior_scale**2
        known: dict[str, Any] = arm_space.start((gram * (self.prior_scale / self.sigma) ** 2)[feature_set])
        return BayesGapState(
            **known,
            means=np.zeros((n_replications, n_arms)),
            pulls=arms.no_pulls(n_replications),
            spent=np.zeros(n_replications, dtype=np.int64),
            information=information[feature_set],
            smallest_bound=np.full(n_replications, np.inf),
            recommended=np.full((n_replications, 1), -1, dtype=np.int64),
            replications=streams.replications,
            key=streams.key(f"ties of {self.label}"),
            initialised=not self.initialise,
        )

    def ask(self, state: BayesGapState) -> Ask:
        """Choose, where budget is left, the less known of the best arm and its rival."""
        n_replications, n_arms = state.means.shape
        if not state.initialised:
            arms = np.tile(np.arange(n_arms), (n_replications, 1))
            return Ask(arms, np.ones_like(arms))
        return Ask(
            self._choose(state, state.spent, state.smallest_bound, state.recommended),
            (state.spent < self.budget)[:, None].astype(np.int64),
        )

    def tell(self, state: BayesGapState, asked: Ask, totals: FloatArray) -> None:
        """Update the posterior; a total that is NaN (a failed evaluation) teaches nothing and costs its pulls."""
        state.spent += asked.counts.sum(axis=1)
        arm_space.learn(state, state.means, state.pulls, asked, totals)
        state.initialised = True

    def finished(self, state: BayesGapState) -> BoolArray:
        """Return which replications have spent their budget."""
        return state.spent >= self.budget

    def recommend(self, state: BayesGapState) -> IntArray:
        """Return J of the round with the smallest bound, shape (R, 1); of the present where there was no round."""
        if (state.recommended >= 0).all():
            return state.recommended.copy()
        bound, present = np.full_like(state.smallest_bound, np.inf), state.recommended.copy()
        self._choose(state, np.minimum(state.spent, self.budget - 1), bound, present)
        return np.where(state.recommended >= 0, state.recommended, present)

    @cached_property
    def _rule(self) -> Rule:
        return Rule._make(getattr(self, name) for name in Rule._fields)

    def _choose(self, state: BayesGapState, time: IntArray, bound: FloatArray, recommended: IntArray) -> IntArray:
        arms = np.zeros((len(state.means), 1), dtype=np.int64)
        choose(
            self._rule, state.variances, state.means, state.information, state.key, state.replications, time, bound,
            recommended, arms,
        )  # fmt: skip
        return arms
