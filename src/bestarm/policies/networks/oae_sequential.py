r"""A batch chosen arm after arm: each choice is followed by a virtual label between optimism and pessimism.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Algorithm 3.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from bestarm.designs.diverse_batch import Kernel
from bestarm.interface import FloatArray, IntArray
from bestarm.models.mlp_fit import Objective
from bestarm.policies.batch_search import BatchState, top_batch
from bestarm.policies.networks.oae import NetworkSearch, Oae
from bestarm.policies.networks.oae_ensemble import EnsembleSearch
from bestarm.presets import preset

# state with virtual labels, place in the batch, whether a virtual label is needed → optimistic and pessimistic outputs
Prediction = Callable[[BatchState, int, bool], tuple[FloatArray, FloatArray]]


def sequential_batch(
    state: BatchState, size: int, predict: Prediction, optimism_weight: float, draws: FloatArray
) -> IntArray:
    """Return a batch by Algorithm 3 of [1]_; virtual labels are forgotten at its end.

    ``state``: what is known; ``scores`` becomes the optimistic outputs at the first place, for the arms chosen those at
    their own place, and NaN if any output of any place was; ``size``: arms of the batch; ``predict``: fits to a state
    and returns optimistic and pessimistic outputs, shape (R, n_arms); ``optimism_weight``: alpha: the virtual label is
    alpha times the optimistic plus (1 - alpha) times the pessimistic output; ``draws``, (R, n_arms), break ties."""
    rows = np.arange(len(state.best))
    room = np.zeros((len(rows), size))
    virtual = replace(
        state,
        arms=np.concatenate([state.arms, room.astype(np.int64)], axis=1),
        rewards=np.concatenate([state.rewards, room], axis=1),
        n_observed=state.n_observed.copy(),
        available=state.available.copy(),
    )
    chosen = np.empty((len(rows), size), dtype=np.int64)
    broken = np.zeros(len(rows), dtype=np.bool_)
    for place in range(size):
        labelled = place < size - 1  # no label is needed after the last arm
        optimistic, pessimistic = predict(virtual, place, labelled)
        if place == 0:
            state.scores = optimistic.copy()
        arm = top_batch(optimistic, virtual.available, draws, 1)[:, 0]
        chosen[:, place] = arm
        state.scores[rows, arm] = optimistic[rows, arm]
        broken |= np.isnan(optimistic).any(axis=1) | (labelled & np.isnan(pessimistic).any(axis=1))
        if labelled:
            label = optimism_weight * optimistic[rows, arm] + (1.0 - optimism_weight) * pessimistic[rows, arm]
            virtual.arms[rows, virtual.n_observed], virtual.rewards[rows, virtual.n_observed] = arm, label
            virtual.n_observed += 1
            virtual.available[rows, arm] = False
    state.scores[broken] = np.nan
    return chosen


@dataclass(frozen=True)
class Sequential(NetworkSearch):
    """What searches that choose a batch arm after arm have in common.

    Raises ValueError if alpha is not in [0, 1].

    Parameters
    ----------
    optimism_weight : float
        Alpha of the virtual label: 1 takes the optimistic one, 0 the pessimistic one.
    """

    optimism_weight: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.optimism_weight <= 1.0:
            raise ValueError(f"optimism_weight must be between 0 and 1, got {self.optimism_weight}.")


@dataclass(frozen=True)
class SeqB(Sequential, Oae):
    """MeanOpt arm after arm: two networks a place, regularised towards optimism and towards pessimism."""

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return a sequential batch."""

        def predict(virtual: BatchState, place: int, labelled: bool) -> tuple[FloatArray, FloatArray]:
            signs = np.array([1.0, -1.0])[: 1 + labelled]
            rewards = np.repeat(virtual.rewards[:, None], len(signs), axis=1)
            fitted = self.fit_and_predict(virtual, rewards, self.optimism * signs, self.objective, place=place)
            return fitted[:, 0], fitted[:, -1]

        return sequential_batch(state, size, predict, self.optimism_weight, self._draws(state, "ties"))


@dataclass(frozen=True)
class EnsembleSeqB(Sequential, EnsembleSearch):
    """Ensemble-SeqB and Ensemble-SeqB-NoiseY: one ensemble a place, its maximum optimistic, its minimum pessimistic."""

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return a sequential batch."""

        def predict(virtual: BatchState, place: int, labelled: bool) -> tuple[FloatArray, FloatArray]:
            fitted = self.ensemble(virtual, virtual.arms, virtual.rewards, virtual.n_observed, place)
            return fitted.max(axis=1), fitted.min(axis=1)

        return sequential_batch(state, size, predict, self.optimism_weight, self._draws(state, "ties"))


@preset
class MeanOptSeqB(SeqB):
    """SeqB: MeanOpt arm after arm, with virtual labels in between."""

    label: str = "SeqB"
    optimism: float = field()
    objective: Objective = field(init=False, default="avg")
    diversity: float | None = field(init=False, default=None)
    kernel: Kernel = field(init=False, default="direction")


@preset
class PlainEnsembleSeqB(EnsembleSeqB):
    """Ensemble-SeqB: an ensemble arm after arm, with virtual labels in between."""

    label: str = "Ensemble-SeqB"
    label_noise: float = field(init=False, default=0.0)
    pool_minibatch: int | None = field(init=False, default=None)


@preset
class EnsembleSeqBNoiseY(EnsembleSeqB):
    """Ensemble-SeqB-NoiseY: an ensemble told noisy labels, arm after arm."""

    label: str = "Ensemble-SeqB-NoiseY"
    label_noise: float = 1.0
    pool_minibatch: int | None = field(init=False, default=None)
