r"""Fixed-confidence algorithms with a fixed budget: LinGapE as the GSE paper runs it.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 8,
   Appendix F.
.. [2] Xu, Honda, Sugiyama. "A fully adaptive algorithm for pure exploration in linear bandits". AISTATS 2018.
"""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bestarm.designs.l1_design import l1_pairs, nonnegative_design, related_arms
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.policies.linear.fixed_budget import check_budget
from bestarm.policies.linear.gifa import Gifa, GifaState, Index, MLinGape, Selection, Stop
from bestarm.policies.linear.thresholds import Threshold, ThresholdName
from bestarm.settings import check_settings
from bestarm.streams import Streams

Radius = Literal["own", "determinant", "explicit"]


def explicit_radius(
    arms: Arms, delta: float, sigma: float, regulariser: float, norm_bound: float, *, as_coded: bool = False
) -> Threshold:
    r"""Return :math:`t \mapsto \sqrt{d\ln(K^2(1+tL^2)/(\rho\delta))} + \sqrt\rho S/\sigma`, a bound on that of [2]_.

    ``arms``, ``delta``, ``sigma``, ``regulariser``, ``norm_bound``: as in
    `bestarm.policies.linear.thresholds.linear_threshold`, with d for N; ``as_coded``: the code of [1]_: L = 1, and the
    root times :math:`\sigma` once more."""
    longest = np.atleast_1d((arms.features**2).sum(axis=-1).max(axis=-1))  # of each set of features
    if as_coded:
        longest = np.ones_like(longest)
    n_pairs, factor = arms.n_arms**2, sigma if as_coded else 1.0
    bias = np.sqrt(regulariser) * norm_bound / sigma
    return lambda t, feature_set=0: (
        factor * np.sqrt(arms.n_features * np.log(n_pairs * (1.0 + t * longest[feature_set]) / (regulariser * delta)))
        + bias
    )


@dataclass
class BudgetedState(GifaState):
    """The state of the algorithm, and of its budget."""

    spent: IntArray = field(kw_only=True)  # pulls that were asked for, failed ones included, (R,)
    log_volume: FloatArray = field(kw_only=True)  # ln det(A) / det(rho I), (R,)
    # related, coordinates: what `related_arms` says of the sets of features, empty where nobody asks
    related: BoolArray = field(kw_only=True, metadata={"shared": True})
    coordinates: FloatArray = field(kw_only=True, metadata={"shared": True})


@dataclass(frozen=True)
class _Searching(Gifa):
    """A gap-index focused algorithm whose designs are solved compiled, or with the slip of the authors' code."""

    nonnegative: bool = False

    def _solve(self, state: GifaState, pairs: IntArray) -> FloatArray:
        """Return the designs of pairs (set, b, c)."""
        assert isinstance(state, BudgetedState)
        if self.nonnegative:
            return np.stack([nonnegative_design(state.features[s], b, c) for s, b, c in pairs])
        return l1_pairs(state.features, state.related, state.coordinates, pairs)


@dataclass(frozen=True)
class Budgeted:
    r"""A gap-index focused algorithm that stops when its budget is spent, or before by its own rule ([1]_, Section 8).

    Returns what the algorithm recommends at that time: for LinGapE the arm with the largest estimated mean, given all
    rewards ([1]_, Appendix F). A round that asks for more than is left is cut, its first arms being pulled. Raises
    ValueError for a value out of range, or a radius that needs features where there are none.

    Parameters
    ----------
    policy : Gifa
        The algorithm; its label keys the random ties, its risk ``delta`` is what [1]_ tunes.
    budget : int
        B, at least 1; at least the number of arms where the algorithm starts with one pull of each.
    radius : {"own", "determinant", "explicit"}
        The threshold of the policy; that of [2]_, :math:`\sqrt{2\ln(K^2\det(A)^{1/2}\det(\rho I)^{-1/2}/\delta)} +
        \sqrt\rho S/\sigma`; or `explicit_radius`.
    stops_early : bool
        Whether the algorithm's own rule may end the search before the budget does.
    coded_radius : bool
        *Deviation*: the explicit radius has :math:`\sigma^2` for :math:`\sigma` and L = 1, as in the code of [1]_.
    nonnegative_weights : bool
        *Deviation*: the linear program of the optimised selection asks for weights of at least 0, as in the code of
        [1]_, see `bestarm.designs.l1_design.nonnegative_design`.
    """

    policy: Gifa
    budget: int
    radius: Radius = "own"
    stops_early: bool = True
    coded_radius: bool = False
    nonnegative_weights: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        check_budget(self.label, self.budget)
        if self.radius != "own" and not self.policy.uses_features:
            raise ValueError(
                f"radius {self.radius!r} needs features: the index of the policy is {self.policy.index!r}."
            )
        if self.coded_radius and self.radius != "explicit":
            raise ValueError(f"coded_radius is a deviation of radius 'explicit', got radius {self.radius!r}.")

    @property
    def label(self) -> str:
        """Name of the algorithm."""
        return self.policy.label

    def as_coded(self) -> "Budgeted":
        r"""Return the algorithm with the deviations of the code of [1]_: explicit radius, :math:`\rho=10^{-8}`, S = 2.

        The budget alone ends the search, and the optimised rule asks for weights of at least 0.
        """
        policy = replace(self.policy, regulariser=1e-8, threshold_regulariser=1e-8, norm_bound=2.0)
        return replace(
            self,
            policy=policy,
            radius="explicit",
            stops_early=False,
            coded_radius=True,
            nonnegative_weights=self.policy.selection == "optimised",
        )

    def start(self, arms: Arms, streams: Streams) -> BudgetedState:
        """Return the state before the first pull."""
        if self.policy.initialise:
            check_budget(self.label, self.budget, arms.n_arms, "one pull of every arm")
        n_replications, searching = len(streams.replications), self._searching.start(arms, streams)
        needs_designs = self.policy.selection == "optimised" and not self.nonnegative_weights
        related, coordinates = related_arms(searching.features[: None if needs_designs else 0])
        state = BudgetedState(
            **vars(searching),
            spent=np.zeros(n_replications, dtype=np.int64),
            log_volume=np.zeros(n_replications),
            related=related,
            coordinates=coordinates,
        )
        if self.radius == "explicit":
            policy = self.policy
            state.threshold = explicit_radius(
                arms, policy.delta, policy.sigma, self._rho, policy.norm_bound, as_coded=self.coded_radius
            )
        return state

    def ask(self, state: BudgetedState) -> Ask:
        """Let the algorithm choose; stop where it stops or nothing of the budget is left."""
        self._set_radius(state)
        asked = self._searching.ask(state)
        left = self.budget - state.spent[:, None]
        before = np.cumsum(asked.counts, axis=1) - asked.counts
        state.stopped |= left[:, 0] <= 0
        return Ask(asked.arms, np.clip(left - before, 0, asked.counts))

    def tell(self, state: BudgetedState, asked: Ask, totals: FloatArray) -> None:
        """Update the algorithm; a total that is NaN (a failed evaluation) teaches nothing and costs its pulls."""
        state.spent += asked.counts.sum(axis=1)
        if self.radius == "determinant":
            state.log_volume += _log_growth(state.gram, asked, totals)
        self._set_radius(state)
        stopped = state.stopped.copy()
        self._searching.tell(state, asked, totals)
        if not self.stops_early:
            state.stopped[:] = stopped

    def finished(self, state: BudgetedState) -> BoolArray:
        """Return which replications have stopped."""
        return state.stopped

    def recommend(self, state: BudgetedState) -> IntArray:
        """Return what the algorithm recommends, shape (R, n_best)."""
        self._set_radius(state)
        return self._searching.recommend(state)

    @cached_property
    def _searching(self) -> Gifa:
        """The algorithm; if its own rule is not to end the search, the rule is put into `tell`, which can undo it."""
        settings = {f.name: getattr(self.policy, f.name) for f in fields(Gifa)}
        if not self.stops_early:
            settings["stale_pair"] = True
        return _Searching(**settings, nonnegative=self.nonnegative_weights)

    @property
    def _rho(self) -> float:
        explicit = self.policy.threshold_regulariser
        return self.policy.design_regulariser if explicit is None else explicit

    def _set_radius(self, state: BudgetedState) -> None:
        """Make the threshold that of the present data, where it depends on more than the time."""
        if self.radius == "determinant":
            risk = 2.0 * np.log(state.means.shape[1] ** 2 / self.policy.delta)
            present = np.sqrt(risk + state.log_volume) + np.sqrt(self._rho) * self.policy.norm_bound / self.policy.sigma
            state.threshold = lambda t, feature_set=0: present


def _log_growth(gram: FloatArray, asked: Ask, totals: FloatArray) -> FloatArray:
    r"""Return :math:`\ln\det(A+\sum nxx^\top)/\det(A)`, shape (R,), for the pulls that succeeded."""
    numbers = np.where(np.isnan(totals), 0, asked.counts).astype(np.float64)
    rows = np.arange(len(gram))[:, None]
    if asked.arms.shape[1] == 1:
        return np.asarray(np.log1p(numbers * gram[rows, asked.arms, asked.arms]))[:, 0]
    roots = np.sqrt(numbers)
    block = gram[rows[:, :, None], asked.arms[:, :, None], asked.arms[:, None, :]]
    return np.asarray(np.linalg.slogdet(np.eye(roots.shape[1]) + roots[:, :, None] * block * roots[:, None, :])[1])


def lingape(
    budget: int,
    *,
    radius: Radius = "determinant",
    stops_early: bool = True,
    coded_radius: bool = False,
    nonnegative_weights: bool = False,
    index: Index = "paired",
    stop: Stop = "lucb",
    threshold: ThresholdName = "eq2",
    initialise: bool = True,
    delta: float = 0.05,
    epsilon: float = 0.0,
    sigma: float = 0.5,
    norm_bound: float = 1.0,
    regulariser: float | None = 1.0,
    threshold_regulariser: float | None = None,
    stale_pair: bool = False,
    index_time_ahead: bool = False,
    label: str = "LinGapE",
) -> Budgeted:
    """LinGapE ([2]_) with a budget: the best arm of a linear bandit, optimised pulls.

    Settings as of `Budgeted` and `Gifa`.
    """
    return _lingape("optimised", **locals())


def lingape_greedy(
    budget: int,
    *,
    radius: Radius = "determinant",
    stops_early: bool = True,
    coded_radius: bool = False,
    index: Index = "paired",
    stop: Stop = "lucb",
    threshold: ThresholdName = "eq2",
    initialise: bool = True,
    delta: float = 0.05,
    epsilon: float = 0.0,
    sigma: float = 0.5,
    norm_bound: float = 1.0,
    regulariser: float | None = 1.0,
    threshold_regulariser: float | None = None,
    stale_pair: bool = False,
    index_time_ahead: bool = False,
    label: str = "LinGapE-Greedy",
) -> Budgeted:
    """LinGapE ([2]_) with a budget: the best arm of a linear bandit, greedy pulls.

    Settings as of `Budgeted` and `Gifa`.
    """
    return _lingape("greedy", nonnegative_weights=False, **locals())


def _lingape(
    selection: Selection,
    budget: int,
    radius: Radius,
    stops_early: bool,
    coded_radius: bool,
    nonnegative_weights: bool,
    **settings: Any,
) -> Budgeted:
    """Return LinGapE with these settings of its own and those of `Gifa`."""
    policy = MLinGape(1, selection=selection, **settings)
    return Budgeted(policy, budget, radius, stops_early, coded_radius, nonnegative_weights)
