"""A modern rival of the paper's searches: BoTorch's noisy expected improvement of a whole batch.

BoTorch (Balandat and others, NeurIPS 2020) is no dependency of this project; only a search that is started needs it.
qLogNEI: Ament and others, NeurIPS 2023.
"""

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.streams import Streams, uniform


@dataclass
class PeerState:
    """The state of a search by BoTorch; ``round`` counts batches told, the initial arms included.
    ``features`` (n_sets, n_arms, d) are candidates, one set for all replications or one for each, ``point_set`` says
    which. ``arms`` and ``rewards`` (R, room) are what was observed, the first ``n_known`` of each replication;
    ``n_failed`` evaluations gave no number. ``parameters`` (R, d + 2) are the model's after its last fit, in BoTorch's
    own order and scale; ``means`` (R, n_arms) those of the posterior in units of the reward, 0 before the first one."""

    features: FloatArray = field(metadata={"shared": True})
    point_set: IntArray
    arms: IntArray
    rewards: FloatArray
    n_known: IntArray
    n_failed: IntArray
    parameters: FloatArray
    means: FloatArray
    replications: IntArray
    first_key: np.uint64
    batch_key: np.uint64
    round: int = 0


@dataclass(frozen=True)
class QLogNEI:
    """Batches of largest log noisy expected improvement, chosen greedily among finitely many arms.
    The model is a `SingleTaskGP` with all its defaults, fitted anew after every batch: standardised rewards, a
    squared-exponential kernel with one length-scale a feature and a prior that grows with their number, and the noise
    learned. Each arm of a batch maximises the acquisition over all arms given those chosen before it, and no arm is
    twice in a batch, BoTorch's default. One replication is searched after the other. The ``first`` arms are those of
    `bestarm.policies.gaussian.batch_gp.BatchGP` in the same replication. Features should lie in [0, 1]."""

    label: str
    batch: int
    rounds: int
    first: int = 1

    def __post_init__(self) -> None:
        for name in ("batch", "rounds", "first"):
            value = getattr(self, name)
            if value != int(value) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value}.")

    def start(self, arms: Arms, streams: Streams) -> PeerState:
        """Return the state before the first pull."""
        if self.batch > arms.n_arms:
            raise ValueError(
                f"batch must be at most the number of arms, {arms.n_arms}, because none is twice in a batch, got "
                f"{self.batch}."
            )
        _installed("botorch")
        n, room = len(streams.replications), self.first + self.batch * self.rounds
        features, point_set = arms.feature_sets(n)
        return PeerState(
            features=features,
            point_set=point_set,
            arms=np.zeros((n, room), dtype=np.int64),
            rewards=np.zeros((n, room)),
            n_known=np.zeros(n, dtype=np.int64),
            n_failed=np.zeros(n, dtype=np.int64),
            parameters=np.zeros((n, arms.n_features + 2)),
            means=np.zeros((n, arms.n_arms)),
            replications=streams.replications,
            first_key=streams.key("first arms"),
            batch_key=streams.key(f"batches of {self.label}"),
        )

    def ask(self, state: PeerState) -> Ask:
        """Return the next batch; random arms where nothing is known."""
        n, n_arms = len(state.n_known), state.means.shape[1]
        if self.finished(state).all():
            return Ask(np.zeros((n, 1), dtype=np.int64), np.zeros((n, 1), dtype=np.int64))
        size, key = (self.first, state.first_key) if state.round == 0 else (self.batch, state.batch_key)
        arms = np.empty((n, size), dtype=np.int64)
        for r, replication in enumerate(state.replications):
            if state.n_known[r] > 0:
                arms[r] = self._choose(state, r)
            else:
                arms[r] = [int(uniform(key, replication, state.round, j) * n_arms) for j in range(size)]
        return Ask(arms, np.ones_like(arms))

    def tell(self, state: PeerState, asked: Ask, totals: FloatArray) -> None:
        """Learn the rewards of a batch and fit the models; NaN (failed) is counted, not learned."""
        if np.isinf(totals[asked.counts > 0]).any():
            raise ValueError("rewards must be numbers, or NaN for an evaluation that failed; got an infinite one.")
        state.round += 1
        for r in range(len(totals)):
            pulled = asked.counts[r] > 0
            known = pulled & ~np.isnan(totals[r])
            state.n_failed[r] += (pulled & ~known).sum()
            if not known.any():
                continue
            place = slice(int(state.n_known[r]), int(state.n_known[r] + known.sum()))
            state.arms[r, place] = asked.arms[r, known]
            state.rewards[r, place] = totals[r, known] / asked.counts[r, known]
            state.n_known[r] = place.stop
            with _reproducible(self._draw(state, r)):
                model = _model(state, r)
                mlls = _installed("gpytorch.mlls")
                _installed("botorch.fit").fit_gpytorch_mll(mlls.ExactMarginalLogLikelihood(model.likelihood, model))
                with torch.no_grad():
                    state.parameters[r] = torch.nn.utils.parameters_to_vector(model.parameters()).numpy()
                    posterior = model.posterior(torch.from_numpy(state.features[state.point_set[r]]))
                    state.means[r] = posterior.mean[:, 0].numpy()

    def finished(self, state: PeerState) -> BoolArray:
        """Return which replications have had all batches."""
        return np.full(len(state.n_known), state.round > self.rounds)

    def recommend(self, state: PeerState) -> IntArray:
        """Return the arm with the largest posterior mean, shape (R, 1)."""
        return state.means.argmax(axis=1)[:, None]

    def _draw(self, state: PeerState, r: int) -> int:
        """Return the seed of a replication's Monte-Carlo samples in this round."""
        return int(uniform(state.batch_key, state.replications[r], state.round, 0) * 2**31)

    def _choose(self, state: PeerState, r: int) -> IntArray:
        """Return a batch of one replication."""
        points = torch.from_numpy(state.features[state.point_set[r]])
        with _reproducible(self._draw(state, r)):
            model = _model(state, r)
            torch.nn.utils.vector_to_parameters(torch.from_numpy(state.parameters[r]), model.parameters())
            seen = points[torch.from_numpy(state.arms[r, : state.n_known[r]])]
            acquisition = _installed("botorch.acquisition.logei").qLogNoisyExpectedImprovement(model.eval(), seen)
            chosen, _ = _installed("botorch.optim").optimize_acqf_discrete(
                acquisition, self.batch, points, return_acq_values=False
            )
        same = (points[None] == chosen[:, None]).all(dim=-1)
        return np.asarray(same.int().argmax(dim=1).numpy(), dtype=np.int64)


def _installed(module: str) -> Any:
    """Return a module of BoTorch or GPyTorch."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is deprecated in Torch
            return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{module} is not installed: qLogNEI is BoTorch's, which this project does not depend on; "
            "pip install botorch."
        ) from error


def _model(state: PeerState, r: int) -> Any:
    """Return BoTorch's model of one replication before its fit."""
    n = int(state.n_known[r])
    seen = torch.from_numpy(state.features[state.point_set[r]][state.arms[r, :n]])
    return _installed("botorch.models").SingleTaskGP(seen, torch.from_numpy(state.rewards[r, :n, None]))


@contextmanager
def _reproducible(seed: int) -> Iterator[None]:
    """Let BoTorch draw from a seed of its own, and keep its remarks on jitter and scaling to itself."""
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        yield
