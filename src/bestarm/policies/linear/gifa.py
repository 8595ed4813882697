r"""Gap-index focused algorithms (GIFA): LUCB, UGapE, m-LinGapE, LinGIFA and every mixture of their parts.

All of them keep, in arm space, the Gram matrix :math:`G = X V^{-1} X^\top` and the estimated means, so the cost of a
round is :math:`O(K^2)` whatever the dimension. The classical algorithms are the case of orthogonal arms without
regularisation, where :math:`G` is diagonal with entries :math:`1/N_a`.

References
----------
.. [1] Réda, Kaufmann, Delahaye-Duriez. "Top-m identification for linear bandits". AISTATS 2021. Algorithm 1, Table 1.
.. [2] Xu, Honda, Sugiyama. "A fully adaptive algorithm for pure exploration in linear bandits". AISTATS 2018.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from bestarm.designs.l1_design import l1_design
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.policies.linear import gifa_round
from bestarm.policies.linear.thresholds import Threshold, ThresholdName, make_threshold
from bestarm.presets import preset
from bestarm.settings import check_settings
from bestarm.streams import Streams

Index = Literal["paired", "individual", "classical", "classical_paired"]
Selection = Literal["largest_variance", "both", "greedy", "optimised"]
Stop = Literal["lucb", "ugape"]


@dataclass
class GifaState:
    """The state of a GIFA algorithm for R replications."""

    gram: FloatArray  # x_i' V^-1 x_j, (R, K, K)
    means: FloatArray  # estimated means, (R, K)
    pulls: IntArray  # successful pulls of each arm, (R, K)
    candidates: IntArray  # J(t) of the last round, (R, m)
    pair: IntArray  # the two ambiguous arms (b, c) of the last round; -1 before the first, (R, 2)
    due: BoolArray  # whether the stopping rule held in the last round, (R,)
    stopped: BoolArray  # whether the replication has stopped, (R,)
    replications: IntArray
    feature_set: IntArray
    features: FloatArray = shared()  # (n_sets, K, N)
    design_row: IntArray = shared()  # (n_sets, K, K): row of ``designs`` for the ordered pair (b, c), -1 if not solved
    designs: FloatArray = shared()  # (at least n_solved, K): solutions of Eq. 1, then room
    n_solved: int = shared()
    threshold: Threshold = shared()
    key: np.uint64 = shared()
    initialised: bool = shared()


@dataclass(frozen=True)
class Gifa:
    r"""A gap-index focused algorithm for Top-m identification with fixed confidence ([1]_, Algorithm 1).

    The presets below fill in the parts of Table 1. Raises ValueError for a value out of range, or a selection rule that
    needs features with an index that has none.

    Parameters
    ----------
    label : str
        Name in the paper; keys the random ties.
    n_best : int
        m, the number of arms to find.
    index : {"paired", "individual", "classical", "classical_paired"}
        Width of a gap: :math:`\|x_i-x_j\|_\Sigma`; :math:`\|x_i\|_\Sigma+\|x_j\|_\Sigma`; the same two without
        features, :math:`\sigma(N_i^{-1/2}+N_j^{-1/2})` and :math:`\sigma(N_i^{-1}+N_j^{-1})^{1/2}`.
    by_gap_index : bool
        J(t): the m arms with the smallest m-th largest gap index (UGapE), else the m largest means (LUCB).
    challenged_by_mth : bool
        b(t): maximise the m-th largest gap index over all other arms (LinGIFA), else the largest one outside J.
    selection : {"largest_variance", "both", "greedy", "optimised"}
        Which arm to pull to tell b from c; "optimised" follows the solution of Eq. 1.
    stop : {"lucb", "ugape"}
        :math:`\tau^{LUCB}` or :math:`\tau^{UGapE}` (Section 3.1).
    threshold : {"heuristic", "eq2", "lucb1"}
        :math:`C_{t,\delta}`: "eq2" and "lucb1" are proven, "heuristic" stops earlier without a proof.
    initialise : bool
        Pull every arm once first.
    delta : float
        Risk of a wrong answer, in (0, 1).
    epsilon : float
        Slack, at least 0, in units of reward.
    sigma : float
        Sub-Gaussian scale of the noise, in units of reward.
    norm_bound : float
        S in Eq. 2, a bound on the norm of the parameter.
    regulariser : float, optional
        :math:`\rho` in :math:`V=\rho I+\sum_a N_a x_a x_a^\top`; default :math:`(\sigma/20)^2`. The recursion in arm
        space keeps about :math:`10^{-16}/\rho` of absolute accuracy: below :math:`10^{-6}` it loses digits.
    threshold_regulariser : float, optional
        :math:`\rho` in Eq. 2; default ``regulariser``. *Deviation*: the authors' m-LinGapE has 1 in V only.
    stale_pair : bool
        *Deviation*: test the stopping rule after the pull on the pair chosen before it (:math:`\tau^{LUCB}`), or one
        pull late (:math:`\tau^{UGapE}`), and return the old J, as the authors' code does.
    index_time_ahead : bool
        *Deviation*: without initialisation, evaluate :math:`C_{t}` at t + 1, as the authors' code does.
    """

    label: str
    n_best: int
    index: Index = "paired"
    by_gap_index: bool = False
    challenged_by_mth: bool = False
    selection: Selection = "largest_variance"
    stop: Stop = "lucb"
    threshold: ThresholdName = "heuristic"
    initialise: bool = True
    delta: float = 0.05
    epsilon: float = 0.0
    sigma: float = 0.5
    norm_bound: float = 1.0
    regulariser: float | None = None
    threshold_regulariser: float | None = None
    stale_pair: bool = False
    index_time_ahead: bool = False

    def __post_init__(self) -> None:
        least = {"n_best": 1, "epsilon": 0, "norm_bound": 0, "regulariser": 1e-12, "threshold_regulariser": 1e-12}
        check_settings(self, positive=("sigma",), shares=("delta",), **least)
        if not self.uses_features and self.selection in ("greedy", "optimised"):
            raise ValueError(f"selection {self.selection!r} needs features: index must be paired or individual.")
        if not self.uses_features and not self.initialise:
            raise ValueError("a classical index needs initialise=True: an arm without pulls has no mean.")

    @property
    def uses_features(self) -> bool:
        """Whether arms share information through their features."""
        return self.index in ("paired", "individual")

    @property
    def design_regulariser(self) -> float:
        """The regulariser of the design matrix."""
        return (self.sigma / 20.0) ** 2 if self.regulariser is None else self.regulariser

    def as_coded(self) -> "Gifa":
        """Return the algorithm with the named deviations of the authors' code."""
        initialised = self.uses_features and self.initialise
        return replace(
            self,
            stale_pair=True,
            index_time_ahead=not self.initialise,
            regulariser=1.0 if initialised else self.regulariser,
            threshold_regulariser=self._bias_regulariser if initialised else self.threshold_regulariser,
        )

    def start(self, arms: Arms, streams: Streams) -> GifaState:
        """Return the state before the first pull; refuses ``n_best`` that leaves no arm out."""
        n_arms, n_replications = arms.n_arms, len(streams.replications)
        if self.n_best >= n_arms:
            raise ValueError(f"n_best must be smaller than the number of arms {n_arms}, got {self.n_best}.")
        features, feature_set = arms.feature_sets(n_replications)
        if self.uses_features:
            gram = (features @ features.transpose(0, 2, 1) / self.design_regulariser)[feature_set]
        else:
            gram = np.broadcast_to(np.diag(np.full(n_arms, np.inf)), (n_replications, n_arms, n_arms)).copy()
        threshold = make_threshold(
            self.threshold,
            arms,
            delta=self.delta,
            sigma=self.sigma,
            regulariser=self._bias_regulariser,
            norm_bound=self.norm_bound,
        )
        return GifaState(
            gram=gram,
            means=np.zeros((n_replications, n_arms)),
            pulls=np.zeros((n_replications, n_arms), dtype=np.int64),
            candidates=np.tile(np.arange(self.n_best), (n_replications, 1)),
            pair=np.full((n_replications, 2), -1, dtype=np.int64),
            due=np.zeros(n_replications, dtype=np.bool_),
            stopped=np.zeros(n_replications, dtype=np.bool_),
            replications=streams.replications,
            feature_set=feature_set,
            features=features,
            design_row=np.full((len(features), n_arms, n_arms), -1, dtype=np.int64),
            designs=np.zeros((0, n_arms)),
            n_solved=0,
            threshold=threshold,
            key=streams.key(f"ties of {self.label}"),
            initialised=not self.initialise,
        )

    def ask(self, state: GifaState) -> Ask:
        """Stop where the rule holds; elsewhere choose the arm that best tells b from c."""
        n_replications, n_arms = state.means.shape
        if not state.initialised:
            arms = np.tile(np.arange(n_arms), (n_replications, 1))
            return Ask(arms, np.ones_like(arms))
        self._choose_pair(state, state.pair, state.due)
        if not self.stale_pair:
            state.stopped |= state.due
        arms = np.zeros((n_replications, 2 if self.selection == "both" else 1), dtype=np.int64)
        if self.selection == "optimised":
            self._solve_new_designs(state)
            gifa_round.select_optimised(
                state.pulls,
                state.pair,
                state.feature_set,
                state.design_row,
                state.designs,
                state.key,
                state.replications,
                state.stopped,
                arms,
            )
        else:
            rule = gifa_round.SELECTION[self.selection]
            gifa_round.select(
                state.gram, state.pulls, state.pair, rule, state.key, state.replications, state.stopped, arms
            )
        return Ask(arms, np.broadcast_to(~state.stopped[:, None], arms.shape).astype(np.int64))

    def tell(self, state: GifaState, asked: Ask, totals: FloatArray) -> None:
        """Update the estimates; a total that is NaN (a failed evaluation) teaches nothing."""
        gifa_round.learn(state.gram, state.means, state.pulls, asked.arms, asked.counts, totals, self.uses_features)
        if self.stale_pair and state.initialised:
            if self.stop == "lucb":
                gifa_round.old_pair_is_separated(
                    state.gram, state.means, self._scale(state), self._paired, self.epsilon, state.pair, state.due
                )
            state.stopped |= state.due
        state.initialised = True

    def finished(self, state: GifaState) -> BoolArray:
        """Return which replications have stopped."""
        return state.stopped

    def recommend(self, state: GifaState) -> IntArray:
        """Return J(t), shape (R, m): that of the stopping time, or of the present where the search goes on."""
        if state.initialised and state.pulls.any():
            self._choose_pair(state, state.pair.copy(), state.due.copy())
        return state.candidates.copy()

    @property
    def _bias_regulariser(self) -> float:
        return self.design_regulariser if self.threshold_regulariser is None else self.threshold_regulariser

    @property
    def _paired(self) -> bool:
        return self.index in ("paired", "classical_paired")

    def _choose_pair(self, state: GifaState, pair: IntArray, due: BoolArray) -> None:
        stop_ugape = self.stop == "ugape"
        rule = gifa_round.Rule(
            self._paired, self.by_gap_index, self.challenged_by_mth, stop_ugape, self.epsilon, state.key
        )
        gifa_round.choose_pair(
            rule, state.gram, state.means, state.pulls, self._scale(state), state.replications, state.stopped,
            state.candidates, pair, due,
        )  # fmt: skip

    def _scale(self, state: GifaState) -> FloatArray:
        """Return C sigma at the present time, shape (R,)."""
        time = state.pulls.sum(axis=1) + (1 if self.index_time_ahead else 0)
        return self.sigma * state.threshold(np.maximum(time, 1.0), state.feature_set)

    def _solve_new_designs(self, state: GifaState) -> None:
        """Solve Eq. 1 for the ordered pairs met for the first time."""
        searching = ~state.stopped
        sets, b, c = state.feature_set[searching], state.pair[searching, 0], state.pair[searching, 1]
        new = state.design_row[sets, b, c] < 0
        if not new.any():
            return
        pairs = np.unique(np.stack([sets[new], b[new], c[new]], axis=1), axis=0)
        last = state.n_solved + len(pairs)
        if last > len(state.designs):
            room = np.zeros((max(last, 2 * len(state.designs)), state.designs.shape[1]))
            room[: state.n_solved] = state.designs[: state.n_solved]
            state.designs = room
        state.designs[state.n_solved : last] = self._solve(state, pairs)
        state.design_row[pairs[:, 0], pairs[:, 1], pairs[:, 2]] = np.arange(state.n_solved, last)
        state.n_solved = last

    def _solve(self, state: GifaState, pairs: IntArray) -> FloatArray:
        """Return the designs of pairs (set, b, c)."""
        return np.stack([l1_design(state.features[s], int(b), int(c)) for s, b, c in pairs])


@preset
class Lucb(Gifa):
    """LUCB ([1]_, Table 1): the m best arms with fixed confidence, without features."""

    label: str = "LUCB"
    index: Index = "classical"
    threshold: ThresholdName = "lucb1"
    by_gap_index: bool = field(init=False, default=False)
    challenged_by_mth: bool = field(init=False, default=False)
    initialise: bool = field(init=False, default=True)


@preset
class Ugape(Gifa):
    """UGapE ([1]_, Table 1): the m best arms with fixed confidence, without features."""

    label: str = "UGapE"
    index: Index = "classical"
    stop: Stop = "ugape"
    threshold: ThresholdName = "lucb1"
    by_gap_index: bool = field(init=False, default=True)
    challenged_by_mth: bool = field(init=False, default=False)
    initialise: bool = field(init=False, default=True)


@preset
class MLinGape(Gifa):
    """m-LinGapE ([1]_, Table 1): the m best arms of a linear bandit; LinGapE of [2]_ for m = 1."""

    label: str = "m-LinGapE"
    selection: Selection = "greedy"
    threshold: ThresholdName = "eq2"
    by_gap_index: bool = field(init=False, default=False)
    challenged_by_mth: bool = field(init=False, default=False)


@preset
class LinGifa(Gifa):
    """LinGIFA ([1]_, Table 1): the m best arms of a linear bandit with fixed confidence."""

    label: str = "LinGIFA"
    stop: Stop = "ugape"
    threshold: ThresholdName = "eq2"
    initialise: bool = False
    by_gap_index: bool = field(init=False, default=True)
    challenged_by_mth: bool = field(init=False, default=True)
