r"""Batched Gaussian process search among finitely many arms: UCB and EST with k-DPPs, their rivals and controls.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Algorithms 1 and 2.
.. [2] Desautels, Krause, Burdick. "Parallelizing Exploration-Exploitation Tradeoffs in Gaussian Process Bandit
   Optimization". JMLR 2014. GP-BUCB.
.. [3] Contal, Buffoni, Robicquet, Vayatis. "Parallel Gaussian Process Optimization with Upper Confidence Bound and Pure
   Exploration". ECML 2013. UCB-PE.
.. [4] Gonzalez, Dai, Hennig, Lawrence. "Batch Bayesian Optimization via Local Penalization". AISTATS 2016.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numba import njit

from bestarm.guards.protocol import guarded
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.models.finite_gp import as_lengthscales
from bestarm.models.gp_hyper import refit
from bestarm.policies import gp_batches, gp_choice
from bestarm.policies.gp_state import LOG, BatchGPState, GPModel, Recommendation, check_wholes, recommendations
from bestarm.settings import is_number
from bestarm.streams import Streams, uniform

Acquisition = Literal["ucb", "est"]
Batch = Literal[
    "hallucinate", "dpp-max", "pure-exploration", "dpp-sample", "uniform", "dpp-exact", "local-penalty", "thompson",
    "random",
]  # fmt: skip
Sampler = Literal["down-up", "exchange", "eigen"]
Estimate = Literal["ESTa", "ESTn"]
Region = Literal["as_written", "as_coded"]

_FEWEST = 5  # rewards for which an offset, a scale and hyper-parameters can be learned
_FILLS = {
    "dpp-max": gp_batches.MAX,
    "pure-exploration": gp_batches.EXPLORE,
    "dpp-sample": gp_batches.SAMPLE,
    "uniform": gp_batches.UNIFORM,
    "dpp-exact": gp_batches.EXACT,
}
_FAMILIES = {
    "hallucinate": gp_choice.HALLUCINATE,
    "local-penalty": gp_choice.PENALISE,
    "thompson": gp_choice.THOMPSON,
    "random": gp_choice.RANDOM,
}
_SAMPLERS = {"down-up": gp_batches.DOWN_UP, "exchange": gp_batches.EXCHANGE, "eigen": gp_batches.EIGEN}


@njit(cache=True)
def _random_arms(key: np.uint64, replications: IntArray, n_arms: int, arms: IntArray) -> None:
    for r in range(len(arms)):
        for j in range(arms.shape[1]):
            arms[r, j] = int(uniform(key, replications[r], 0, j) * n_arms)


@guarded()
@dataclass(frozen=True)
class BatchGP:
    r"""Batches chosen by a Gaussian process among finitely many arms ([1]_); use the named constructors.

    The first arms are random and common to all policies of a replication; then ``rounds`` batches follow. An evaluation
    that fails (NaN) is counted and teaches nothing, so that a rule without randomness may ask for the same arm again;
    where the arm is the cause, tell a poor reward, as `bestarm.problems.candidates.maximise` does. Arms may repeat.

    Parameters
    ----------
    label : str
        Name in the figures; keys the policy's own draws.
    batch, rounds : int
        B and T.
    acquisition : {"ucb", "est"}
        Confidence width by :math:`\beta_t=2\log(|X|t^2\pi^2/(6\delta))`, or by an estimate of the maximum.
    rule : str
        How a batch is filled: "hallucinate" (GP-BUCB, B-EST), "dpp-max" (greedy), "pure-exploration" (the same with
        repeats), "dpp-sample", "uniform" in the relevance region, "dpp-exact" (small regions only), "local-penalty",
        "thompson" (draws from the posterior), "random" (anywhere).
    model : GPModel
        The Gaussian process.
    first : int
        Random arms before the first batch.
    delta : float
        :math:`\delta` of UCB in (0, 1).
    beta_scale : float
        Factor of :math:`\beta_t` of UCB; one fifth is customary.
    estimate : {"ESTa", "ESTn"}
        Maximum by the approximate form, or by numerical integration.
    region : {"as_written", "as_coded"}
        Arms with mean plus :math:`2\beta_{t+1}^{1/2}` deviations at least the largest lower bound, or, as in Contal's
        software, :math:`\beta_t^{1/2}` deviations. EST takes its present width for the next one.
    exclude_first : bool
        Whether the rest of a batch leaves out its first arm.
    sampler : {"down-up", "exchange", "eigen"}
        Chain of the k-DPP: with provably few steps, or that of the paper; or exact, for small regions.
    epsilon : float
        Distance of the chain from the k-DPP in total variation.
    inflation : float
        C', factor of the width of GP-BUCB and B-EST.
    two_stage : bool
        Whether these first ask for batches of largest variance, at most five, until B - 1 more arms can tell no more
        than 1/2 of information by the greedy bound.
    by_evaluations : bool
        Whether t of GP-BUCB counts evaluations, as in the text, or batches, as in Contal's software.
    penalty_width : float, optional
        w of the local penalty's UCB; default :math:`\beta_t^{1/2}`, GPyOpt has 2.
    penalty_as_coded : bool
        *Deviation*: the noise counts in the deviations of the local penalty, and their square root scales it (GPyOpt).
    recommends : {"mean", "observed mean", "observed reward"}
        The arm with the largest posterior mean, the same among those observed, or that of the largest reward.
    n_features : int
        Random Fourier features of Thompson draws.

    Raises
    ------
    ValueError
        For an unknown name or a number out of range.
    """

    label: str
    batch: int
    rounds: int
    acquisition: Acquisition = "ucb"
    rule: Batch = "dpp-sample"
    model: GPModel = field(default_factory=GPModel)
    first: int = 1
    delta: float = 0.05
    beta_scale: float = 1.0
    estimate: Estimate = "ESTa"
    region: Region = "as_written"
    exclude_first: bool = False
    sampler: Sampler = "down-up"
    epsilon: float = 0.01
    inflation: float = 1.0
    two_stage: bool = False
    by_evaluations: bool = True
    penalty_width: float | None = None
    penalty_as_coded: bool = False
    recommends: Recommendation = "mean"
    n_features: int = 256

    def __post_init__(self) -> None:
        choices: dict[str, Any] = {
            "acquisition": Acquisition, "rule": Batch, "estimate": Estimate, "region": Region, "sampler": Sampler,
            "recommends": Recommendation,
        }  # fmt: skip
        for name, allowed in choices.items():
            if getattr(self, name) not in get_args(allowed):
                raise ValueError(f"{name} must be one of {', '.join(get_args(allowed))}, got {getattr(self, name)!r}.")
        check_wholes(self, batch=1, rounds=1, first=0, n_features=1)
        for name in ("delta", "epsilon"):
            value = getattr(self, name)
            if not (is_number(value) and 0 < value < 1):
                raise ValueError(f"{name} must lie in (0, 1), got {value!r}.")
        for name in ("beta_scale", "inflation"):
            value = getattr(self, name)
            if not (is_number(value) and 0 < value < np.inf):
                raise ValueError(f"{name} must be positive and finite, got {value!r}.")
        width = self.penalty_width
        if width is not None and not (is_number(width) and 0 < width < np.inf):
            raise ValueError(f"penalty_width must be positive, got {width!r}; None takes it from beta.")
        if not isinstance(self.model, GPModel):
            raise ValueError(f"model must be a GPModel, got {self.model!r}; write GPModel(...) or GPModel.frozen(...).")

    @classmethod
    def gp_bucb(cls, batch: int, rounds: int, **settings: Any) -> BatchGP:
        """Return GP-BUCB ([2]_): UCB with hallucinated rewards."""
        named: dict[str, Any] = {"label": "GP-BUCB", "rule": "hallucinate"}
        return cls(**named | settings, batch=batch, rounds=rounds)

    @classmethod
    def b_est(cls, batch: int, rounds: int, **settings: Any) -> BatchGP:
        """Return B-EST ([1]_, Algorithm 1): EST with hallucinated rewards."""
        named: dict[str, Any] = {"label": "B-EST", "acquisition": "est", "rule": "hallucinate"}
        return cls(**named | settings, batch=batch, rounds=rounds)

    @classmethod
    def dpp_max(cls, acquisition: Acquisition, batch: int, rounds: int, **settings: Any) -> BatchGP:
        """Return UCB-DPP-MAX or EST-DPP-MAX, which are UCB-PE and EST-PE ([1]_, Algorithm 2; [3]_)."""
        named: dict[str, Any] = {"label": f"{acquisition.upper()}-DPP-MAX", "rule": "dpp-max"}
        return cls(**named | settings, acquisition=acquisition, batch=batch, rounds=rounds)

    @classmethod
    def dpp_sample(cls, acquisition: Acquisition, batch: int, rounds: int, **settings: Any) -> BatchGP:
        """Return UCB-DPP-SAMPLE or EST-DPP-SAMPLE ([1]_, Algorithm 2)."""
        named: dict[str, Any] = {"label": f"{acquisition.upper()}-DPP-SAMPLE", "rule": "dpp-sample"}
        return cls(**named | settings, acquisition=acquisition, batch=batch, rounds=rounds)

    @classmethod
    def uniform_in_region(cls, acquisition: Acquisition, batch: int, rounds: int, **settings: Any) -> BatchGP:
        """Return the control without diversity: all but the first arm uniform in the relevance region."""
        named: dict[str, Any] = {"label": f"{acquisition.upper()}-UNIFORM", "rule": "uniform"}
        return cls(**named | settings, acquisition=acquisition, batch=batch, rounds=rounds)

    @classmethod
    def lp_ucb(cls, batch: int, rounds: int, **settings: Any) -> BatchGP:
        """Return UCB with local penalisation ([4]_), with GPyOpt's width 2."""
        named: dict[str, Any] = {"label": "LP-UCB", "rule": "local-penalty", "penalty_width": 2.0}
        return cls(**named | settings, batch=batch, rounds=rounds)

    @classmethod
    def sequential(cls, acquisition: Acquisition, rounds: int, **settings: Any) -> BatchGP:
        """Return sequential UCB or EST: one arm a round."""
        named: dict[str, Any] = {"label": f"sequential {acquisition.upper()}", "rule": "hallucinate"}
        return cls(**named | settings, acquisition=acquisition, batch=1, rounds=rounds)

    @classmethod
    def thompson(cls, batch: int, rounds: int, **settings: Any) -> BatchGP:
        """Return the control by Thompson: each arm maximises its own draw from the posterior."""
        named: dict[str, Any] = {"label": "Thompson", "rule": "thompson"}
        return cls(**named | settings, batch=batch, rounds=rounds)

    @classmethod
    def random(cls, batch: int, rounds: int, **settings: Any) -> BatchGP:
        """Return random arms; the posterior is for the recommendation alone."""
        named: dict[str, Any] = {"label": "random", "rule": "random"}
        return cls(**named | settings, batch=batch, rounds=rounds)

    def as_coded(self) -> BatchGP:
        """Return the policy with the named deviations of the codes that the authors say they built on.

        Contal's software: delta exp(-3), a smaller relevance region, t counts batches, no inflation, no first stage.
        GPyOpt: a width of 2, and the deviations of its penalty.
        """
        return replace(
            self,
            delta=float(np.exp(-3.0)),
            region="as_coded",
            by_evaluations=False,
            inflation=1.0,
            two_stage=False,
            penalty_width=2.0,
            penalty_as_coded=True,
        )

    @property
    def _rule(self) -> gp_choice.Rule:
        return gp_choice.Rule(
            family=_FAMILIES.get(self.rule, gp_choice.REGION),
            est=self.acquisition == "est",
            integral=self.estimate == "ESTn",
            delta=float(self.delta),
            beta_scale=float(self.beta_scale),
            inflation=float(self.inflation),
            by_evaluations=self.by_evaluations,
            two_stage=self.two_stage,
            as_coded_region=self.region == "as_coded",
            exclude_first=self.exclude_first,
            fill=_FILLS.get(self.rule, gp_batches.MAX),
            sampler=_SAMPLERS[self.sampler],
            epsilon=float(self.epsilon),
            lp_width=float(self.penalty_width or 0.0),
            lp_as_coded=self.penalty_as_coded,
            n_tried=500,
            n_features=int(self.n_features),
        )

    def start(self, arms: Arms, streams: Streams) -> BatchGPState:
        """Return the state before the first pull."""
        n, model = len(streams.replications), self.model
        n_scales = arms.n_features if model.ard else 1
        if not model.ard and np.size(model.lengthscale) > 1:
            raise ValueError(f"one length-scale for all features is wanted (ard is off), got {model.lengthscale}.")
        state = BatchGPState.start(
            arms, n, self.first + self.batch * self.rounds,
            lengthscale=model.lengthscale, signal=model.signal, noise=model.noise, constant=model.constant,
            offset=model.offset, scale=model.scale,
            log_parameters=np.empty((n, n_scales + 2)),
            fitted=np.zeros(n, dtype=np.int64),
            first_stage=np.full(n, self.two_stage),
            log=np.full((n, len(LOG)), np.nan),
            n_failed=np.zeros(n, dtype=np.int64),
            replications=streams.replications,
            first_key=streams.key("first arms"),
            batch_key=streams.key(f"batches of {self.label}"),
            tie_key=streams.key(f"ties of {self.label}"),
            fit_key=streams.key(f"fits of {self.label}"),
            priors=model.priors.table(n_scales),
        )  # fmt: skip
        scales = np.broadcast_to(as_lengthscales(model.lengthscale, arms.n_features), n_scales)
        state.log_parameters[:] = np.log(np.concatenate([[model.signal], scales, [model.noise]]))
        return state

    def ask(self, state: BatchGPState) -> Ask:
        """Return the next batch, after hallucinating its rewards.

        Raises
        ------
        ValueError
            If exact maximisation was asked of more than 400 arms, or of too many sets, or the batch does not fit into
            a state that another policy started.
        """
        n, n_arms = len(state.n_known), state.variances.shape[1]
        if self.finished(state).all():
            return Ask(np.zeros((n, 1), dtype=np.int64), np.zeros((n, 1), dtype=np.int64))
        turn = state.round + (self.first == 0)
        size, known, room = self.batch if turn else self.first, int(state.n_known.max()), state.rewards.shape[1]
        if known + size > room:
            raise ValueError(
                f"the state has room for {room} rewards, {known} known; a batch of {size} does not fit. Start with this"
                " policy."
            )
        if turn == 0:
            arms = np.empty((n, self.first), dtype=np.int64)
            _random_arms(state.first_key, state.replications, n_arms, arms)
            return Ask(arms, np.ones_like(arms))
        arms = np.empty((n, self.batch), dtype=np.int64)
        fault = gp_choice.choose_batches(
            self._rule, state.points, state.point_set, state.lengthscales, state.signal, state.constant, state.noise,
            state.rows, state.variances, state.pivots, state.conditioned, state.n_rows, state.n_known, state.rewards,
            state.offset, state.scale, state.means, state.batch_key, state.tie_key, state.replications, turn,
            state.first_stage, arms, state.log,
        )  # fmt: skip
        if fault:
            raise ValueError(
                f"{self.label}: a relevance region is too large for rule {self.rule!r}, or its kernel is not positive "
                "semi-definite; take 'dpp-max' or fewer arms."
            )
        return Ask(arms, np.ones_like(arms))

    def tell(self, state: BatchGPState, asked: Ask, totals: FloatArray) -> None:
        """Learn the rewards of a batch, then scale and hyper-parameters; NaN (failed) is counted, not learned."""
        state.learn(asked.arms, totals, asked.counts)
        state.n_failed += ((asked.counts > 0) & np.isnan(totals)).sum(axis=1)
        state.round += 1
        enough = state.n_known >= _FEWEST
        if self.model.standardise and enough.any():
            known = np.arange(state.rewards.shape[1]) < state.n_known[:, None]
            count = np.maximum(state.n_known, 1)
            mean = np.where(known, state.rewards, 0.0).sum(axis=1) / count
            spread = np.sqrt(np.where(known, (state.rewards - mean[:, None]) ** 2, 0.0).sum(axis=1) / count)
            usable = enough & (spread > 1e-12 * np.maximum(1.0, np.abs(mean)))
            state.offset = np.where(usable, mean, state.offset)
            state.scale = np.where(usable, spread, state.scale)
        due = np.flatnonzero(
            enough & (state.n_known >= self.model.growth * state.fitted) & (state.n_known > state.fitted)
        )
        if self.model.fit == "frozen" or len(due) == 0:
            return
        sampled = self.model.fit == "slice"
        sweeps = (self.model.burn_in, self.model.samples if sampled else 0, self.model.thinning)
        refit(
            state.log_parameters, state.points, state.point_set, state.conditioned, state.rewards, state.n_known,
            state.offset, state.scale, state.constant, state.priors, due, self.model.starts, sweeps, state.fit_key,
            state.replications, state.round,
        )  # fmt: skip
        parameters = np.exp(state.log_parameters[due])
        state.signal[due], state.noise[due], state.lengthscales[due] = (
            parameters[:, 0],
            parameters[:, -1],
            parameters[:, 1:-1],
        )
        state.fitted[due] = state.n_known[due]
        state.renew(due)

    def finished(self, state: BatchGPState) -> BoolArray:
        """Return which replications have had all batches."""
        return np.full(len(state.n_known), state.round >= self.rounds + (self.first > 0))

    def recommend(self, state: BatchGPState) -> IntArray:
        """Return the recommended arm, shape (R, 1)."""
        return recommendations(state)[self.recommends][:, None]
