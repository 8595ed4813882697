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

from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.models.finite_gp import as_lengthscales
from bestarm.models.gp_hyper import refit
from bestarm.policies.gaussian import gp_choice
from bestarm.policies.gaussian.batch_rules import (
    Acquisition,
    BatchRule,
    DownUp,
    Draws,
    Estimate,
    EstimatedMaximum,
    GreedyMap,
    Hallucinate,
    KDpp,
    Penalty,
    Region,
    Sampler,
    UpperBound,
    check_part,
)
from bestarm.policies.gaussian.gp_state import LOG, BatchGPState, GPModel, Recommendation, recommendations
from bestarm.settings import check_settings
from bestarm.streams import Streams, uniform

_FEWEST = 5  # rewards for which an offset, a scale and hyper-parameters can be learned
_LEARNED, _CHAIN = GPModel(), DownUp()  # defaults of the functions below


@njit(cache=True)
def _random_arms(key: np.uint64, replications: IntArray, n_arms: int, arms: IntArray) -> None:
    for r in range(len(arms)):
        for j in range(arms.shape[1]):
            arms[r, j] = int(uniform(key, replications[r], 0, j) * n_arms)


@dataclass(frozen=True)
class BatchGP:
    r"""Batches chosen by a Gaussian process among finitely many arms ([1]_); the functions below make the named ones.

    The first arms are random and common to all policies of a replication; then ``rounds`` batches follow. An evaluation
    that fails (NaN) is counted and teaches nothing, so that a rule without randomness may ask for the same arm again;
    where the arm is the cause, tell a poor reward, as `bestarm.problems.candidates.maximise` does. Arms may repeat.
    Raises ValueError for an unknown name or a number out of range.

    Parameters
    ----------
    label : str
        Name in the figures; keys the policy's own draws.
    batch : int
        B, arms of a batch.
    rounds : int
        T, batches.
    rule : Hallucinate, KDpp, Penalty, Draws or Anywhere
        How a batch is filled, a record of `bestarm.policies.gaussian.batch_rules` with its acquisition and its sampler.
    model : GPModel
        The Gaussian process.
    first : int
        Random arms before the first batch.
    recommends : {"mean", "observed mean", "observed reward"}
        The arm with the largest posterior mean, the same among those observed, or that of the largest reward.
    """

    label: str
    batch: int
    rounds: int
    rule: BatchRule = KDpp()
    model: GPModel = GPModel()
    first: int = 1
    recommends: Recommendation = "mean"

    def __post_init__(self) -> None:
        check_settings(self, batch=1, rounds=1, first=0)
        check_part("rule", self.rule, BatchRule)
        if not isinstance(self.model, GPModel):
            raise ValueError(f"model must be a GPModel, got {self.model!r}; write GPModel(...) or GPModel.frozen(...).")

    @property
    def acquisition(self) -> Acquisition | None:
        """What the arms are chosen by; None where they are drawn, or the width of a penalised bound is fixed."""
        if isinstance(self.rule, Hallucinate | KDpp):
            return self.rule.acquisition
        if isinstance(self.rule, Penalty) and isinstance(self.rule.penalty_width, UpperBound):
            return self.rule.penalty_width
        return None

    def as_coded(self) -> "BatchGP":
        """Return the policy with the named deviations of the codes that the authors say they built on.

        Contal's software: delta exp(-3), a smaller relevance region, t counts batches, no inflation, no first stage.
        GPyOpt: a width of 2, and the deviations of its penalty.
        """
        return replace(self, rule=self.rule.as_coded())

    def start(self, arms: Arms, streams: Streams) -> BatchGPState:
        """Return the state before the first pull."""
        n, model = len(streams.replications), self.model
        n_scales = arms.n_features if model.ard else 1
        if not model.ard and np.size(model.lengthscale) > 1:
            raise ValueError(f"one length-scale for all features is wanted (ard is off), got {model.lengthscale}.")
        state = BatchGPState.start(
            arms,
            n,
            self.first + self.batch * self.rounds,
            lengthscale=model.lengthscale,
            signal=model.signal,
            noise=model.noise,
            constant=model.constant,
            offset=model.offset,
            scale=model.scale,
            log_parameters=np.empty((n, n_scales + 2)),
            fitted=np.zeros(n, dtype=np.int64),
            first_stage=np.full(n, isinstance(self.rule, Hallucinate) and self.rule.two_stage),
            log=np.full((n, len(LOG)), np.nan),
            n_failed=np.zeros(n, dtype=np.int64),
            replications=streams.replications,
            first_key=streams.key("first arms"),
            batch_key=streams.key(f"batches of {self.label}"),
            tie_key=streams.key(f"ties of {self.label}"),
            fit_key=streams.key(f"fits of {self.label}"),
            priors=model.priors.table(n_scales),
        )
        scales = np.broadcast_to(as_lengthscales(model.lengthscale, arms.n_features), n_scales)
        state.log_parameters[:] = np.log(np.concatenate([[model.signal], scales, [model.noise]]))
        return state

    def ask(self, state: BatchGPState) -> Ask:
        """Return the next batch, after hallucinating its rewards.

        Raises ValueError if exact maximisation was asked of more than 400 arms, or of too many sets, or the batch does
        not fit into a state that another policy started."""
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
        posteriors = gp_choice.Posteriors(
            state.points, state.point_set, state.lengthscales, state.signal, state.constant, state.noise, state.rows,
            state.variances, state.pivots, state.conditioned, state.n_rows, state.n_known, state.rewards, state.offset,
            state.scale, state.means,
        )  # fmt: skip
        random = gp_choice.Randomness(state.batch_key, state.tie_key, state.replications, turn)
        fault = gp_choice.choose_batches(self.rule.compiled(), posteriors, random, state.first_stage, arms, state.log)
        if fault:
            raise ValueError(
                f"{self.label}: a relevance region is too large for {self.rule}, or its kernel is not positive "
                "semi-definite; take GreedyMap() or fewer arms."
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


def gp_bucb(
    batch: int,
    rounds: int,
    *,
    delta: float = 0.05,
    beta_scale: float = 1.0,
    inflation: float = 1.0,
    two_stage: bool = False,
    by_evaluations: bool = True,
    model: GPModel = _LEARNED,
    first: int = 1,
    recommends: Recommendation = "mean",
    label: str = "GP-BUCB",
) -> BatchGP:
    """Return GP-BUCB (Desautels et al. 2014): upper confidence bounds with hallucinated rewards.

    Settings as of `Hallucinate`, `UpperBound` and `BatchGP`.
    """
    rule = Hallucinate(UpperBound(delta, beta_scale), inflation, two_stage, by_evaluations)
    return BatchGP(label, batch, rounds, rule, model, first, recommends)


def b_est(
    batch: int,
    rounds: int,
    *,
    estimate: Estimate = "ESTn",
    inflation: float = 1.0,
    two_stage: bool = False,
    model: GPModel = _LEARNED,
    first: int = 1,
    recommends: Recommendation = "mean",
    label: str = "B-EST",
) -> BatchGP:
    """Return B-EST (Kathuria et al. 2016, Algorithm 1): an estimate of the maximum with hallucinated rewards.

    Settings as of `Hallucinate`, `EstimatedMaximum` and `BatchGP`.
    """
    rule = Hallucinate(EstimatedMaximum(estimate), inflation, two_stage)
    return BatchGP(label, batch, rounds, rule, model, first, recommends)


def ucb_dpp_max(
    batch: int,
    rounds: int,
    *,
    delta: float = 0.05,
    beta_scale: float = 1.0,
    region: Region = "as_written",
    exclude_first: bool = False,
    model: GPModel = _LEARNED,
    first: int = 1,
    recommends: Recommendation = "mean",
    label: str = "UCB-DPP-MAX",
) -> BatchGP:
    """Return UCB-DPP-MAX (Kathuria et al. 2016, Algorithm 2), which is UCB-PE: others enlarge a determinant most.

    Settings as of `KDpp`, `UpperBound` and `BatchGP`.
    """
    rule = KDpp(UpperBound(delta, beta_scale), GreedyMap(), region, exclude_first)
    return BatchGP(label, batch, rounds, rule, model, first, recommends)


def est_dpp_max(
    batch: int,
    rounds: int,
    *,
    estimate: Estimate = "ESTn",
    region: Region = "as_written",
    exclude_first: bool = False,
    model: GPModel = _LEARNED,
    first: int = 1,
    recommends: Recommendation = "mean",
    label: str = "EST-DPP-MAX",
) -> BatchGP:
    """Return EST-DPP-MAX (Kathuria et al. 2016, Algorithm 2), which is EST-PE: others enlarge a determinant most.

    Settings as of `KDpp`, `EstimatedMaximum` and `BatchGP`.
    """
    rule = KDpp(EstimatedMaximum(estimate), GreedyMap(), region, exclude_first)
    return BatchGP(label, batch, rounds, rule, model, first, recommends)


def ucb_dpp_sample(
    batch: int,
    rounds: int,
    *,
    delta: float = 0.05,
    beta_scale: float = 1.0,
    sampler: Sampler = _CHAIN,
    region: Region = "as_written",
    exclude_first: bool = False,
    model: GPModel = _LEARNED,
    first: int = 1,
    recommends: Recommendation = "mean",
    label: str = "UCB-DPP-SAMPLE",
) -> BatchGP:
    """Return UCB-DPP-SAMPLE (Kathuria et al. 2016, Algorithm 2): others are a sample of a k-DPP.

    Settings as of `KDpp`, `UpperBound` and `BatchGP`.
    """
    check_part("sampler", sampler, Sampler)
    rule = KDpp(UpperBound(delta, beta_scale), sampler, region, exclude_first)
    return BatchGP(label, batch, rounds, rule, model, first, recommends)


def est_dpp_sample(
    batch: int,
    rounds: int,
    *,
    estimate: Estimate = "ESTn",
    sampler: Sampler = _CHAIN,
    region: Region = "as_written",
    exclude_first: bool = False,
    model: GPModel = _LEARNED,
    first: int = 1,
    recommends: Recommendation = "mean",
    label: str = "EST-DPP-SAMPLE",
) -> BatchGP:
    """Return EST-DPP-SAMPLE (Kathuria et al. 2016, Algorithm 2): others are a sample of a k-DPP.

    Settings as of `KDpp`, `EstimatedMaximum` and `BatchGP`.
    """
    check_part("sampler", sampler, Sampler)
    rule = KDpp(EstimatedMaximum(estimate), sampler, region, exclude_first)
    return BatchGP(label, batch, rounds, rule, model, first, recommends)


def lp_ucb(
    batch: int,
    rounds: int,
    *,
    penalty_width: float | UpperBound = 2.0,
    penalty_as_coded: bool = False,
    model: GPModel = _LEARNED,
    first: int = 1,
    recommends: Recommendation = "mean",
    label: str = "LP-UCB",
) -> BatchGP:
    """Return LP-UCB (Gonzalez et al. 2016): upper bounds, penalised around the arms of the batch.

    Settings as of `Penalty` and `BatchGP`.
    """
    return BatchGP(label, batch, rounds, Penalty(penalty_width, penalty_as_coded), model, first, recommends)


def thompson(
    batch: int,
    rounds: int,
    *,
    n_features: int = 256,
    model: GPModel = _LEARNED,
    first: int = 1,
    recommends: Recommendation = "mean",
    label: str = "Thompson",
) -> BatchGP:
    """Return Thompson: each arm maximises its own draw from the posterior.

    Settings as of `Draws` and `BatchGP`.
    """
    return BatchGP(label, batch, rounds, Draws(n_features), model, first, recommends)
