r"""A batch chosen arm after arm: each choice is followed by a virtual label between optimism and pessimism.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Algorithm 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bestarm.interface import FloatArray, IntArray
from bestarm.policies.batch_search import BatchState, top_batch
from bestarm.policies.oae import NetworkSearch, Oae
from bestarm.policies.oae_ensemble import EnsembleSearch

# state with virtual labels, place in the batch, whether a virtual label is needed → optimistic and pessimistic outputs
Prediction = Callable[[BatchState, int, bool], tuple[FloatArray, FloatArray]]


def sequential_batch(
    state: BatchState, size: int, predict: Prediction, optimism_weight: float, draws: FloatArray
) -> IntArray:
    """Return a batch by Algorithm 3 of [1]_; virtual labels are forgotten at its end.

    Parameters
    ----------
    state : BatchState
        What is known; ``scores`` becomes the optimistic outputs at the first place, for the arms chosen those at their
        own place, and NaN if any output of any place was.
    size : int
        Arms of the batch.
    predict : callable
        Fits to a state and returns optimistic and pessimistic outputs, shape (R, n_arms).
    optimism_weight : float
        Alpha: the virtual label is alpha times the optimistic plus (1 - alpha) times the pessimistic output.
    draws : ndarray, shape (R, n_arms)
        Random draws that break ties.
    """
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

    Parameters
    ----------
    label, batch, rounds, standardise, device, hidden, steps, learning_rate, minibatch, pool_minibatch, bias
        As of `NetworkSearch`.
    optimism_weight : float
        Alpha of the virtual label.

    Raises
    ------
    ValueError
        If alpha is not in [0, 1].
    """

    optimism_weight: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.optimism_weight <= 1.0:
            raise ValueError(f"optimism_weight must be between 0 and 1, got {self.optimism_weight}.")


@dataclass(frozen=True)
class SeqB(Sequential, Oae):
    """MeanOpt arm after arm: two networks a place, regularised towards optimism and towards pessimism.

    Parameters
    ----------
    label, batch, rounds, standardise, device, hidden, steps, learning_rate, minibatch, pool_minibatch, bias
        As of `NetworkSearch`.
    objective, optimism
        As of `Oae`.
    optimism_weight : float
        Alpha of the virtual label.
    """

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
    """Ensemble-SeqB and Ensemble-SeqB-NoiseY: one ensemble a place, its maximum optimistic, its minimum pessimistic.

    Parameters
    ----------
    label, batch, rounds, standardise, device, hidden, steps, learning_rate, minibatch, pool_minibatch, bias
        As of `NetworkSearch`.
    members, label_noise
        As of `EnsembleSearch`.
    optimism_weight : float
        Alpha of the virtual label.
    """

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return a sequential batch."""

        def predict(virtual: BatchState, place: int, labelled: bool) -> tuple[FloatArray, FloatArray]:
            fitted = self.ensemble(virtual, virtual.arms, virtual.rewards, virtual.n_observed, place)
            return fitted.max(axis=1), fitted.min(axis=1)

        return sequential_batch(state, size, predict, self.optimism_weight, self._draws(state, "ties"))


def seq_b(
    batch: int,
    rounds: int,
    optimism: float,
    *,
    standardise: bool = False,
    device: str = "cpu",
    hidden: tuple[int, ...] = (100, 10),
    steps: int = 5000,
    learning_rate: float = 0.01,
    minibatch: int = 10,
    pool_minibatch: int | None = None,
    bias: float = 0.0,
    optimism_weight: float = 0.5,
    label: str = "SeqB",
) -> SeqB:
    r"""SeqB: MeanOpt arm after arm, with virtual labels in between.

    Parameters
    ----------
    batch : int
        b, arms in a batch; the last batch is whatever is left.
    rounds : int
        N, number of batches.
    optimism : float
        :math:`\lambda_{reg}`, weight of the optimism.
    standardise : bool, default False
        Whether models see features with mean 0 and standard deviation 1 over the arms.
    device : str, default 'cpu'
        ``cpu`` or ``cuda``; changes rounding, nothing else.
    hidden : tuple of int, default (100, 10)
        Units of each hidden layer; none of them is the linear class.
    steps : int, default 5000
        Steps of Adam for each fit.
    learning_rate : float, default 0.01
        Step size.
    minibatch : int, default 10
        Observations in each step.
    pool_minibatch : int, default None
        Arms of the pool in each step; by default 10, and 256 for the soft maximum.
    bias : float, default 0.0
        Initial biases, see `bestarm.models.mlp_batch`.
    optimism_weight : float, default 0.5
        Alpha of the virtual label: 1 takes the optimistic one, 0 the pessimistic one.
    label : str, default 'SeqB'
        Name in results; keys the random choices.
    """
    return SeqB(objective="avg", diversity=None, kernel="direction", **locals())


def ensemble_seq_b(
    batch: int,
    rounds: int,
    *,
    standardise: bool = False,
    device: str = "cpu",
    hidden: tuple[int, ...] = (100, 10),
    steps: int = 5000,
    learning_rate: float = 0.01,
    minibatch: int = 10,
    bias: float = 0.0,
    members: int = 10,
    optimism_weight: float = 0.5,
    label: str = "Ensemble-SeqB",
) -> EnsembleSeqB:
    """Ensemble-SeqB: an ensemble arm after arm, with virtual labels in between.

    Parameters
    ----------
    batch : int
        b, arms in a batch; the last batch is whatever is left.
    rounds : int
        N, number of batches.
    standardise : bool, default False
        Whether models see features with mean 0 and standard deviation 1 over the arms.
    device : str, default 'cpu'
        ``cpu`` or ``cuda``; changes rounding, nothing else.
    hidden : tuple of int, default (100, 10)
        Units of each hidden layer; none of them is the linear class.
    steps : int, default 5000
        Steps of Adam for each fit.
    learning_rate : float, default 0.01
        Step size.
    minibatch : int, default 10
        Observations in each step.
    bias : float, default 0.0
        Initial biases, see `bestarm.models.mlp_batch`.
    members : int, default 10
        M, networks of the ensemble.
    optimism_weight : float, default 0.5
        Alpha of the virtual label: 1 takes the optimistic one, 0 the pessimistic one.
    label : str, default 'Ensemble-SeqB'
        Name in results; keys the random choices.
    """
    return EnsembleSeqB(label_noise=0.0, **locals())


def ensemble_seq_b_noise_y(
    batch: int,
    rounds: int,
    *,
    standardise: bool = False,
    device: str = "cpu",
    hidden: tuple[int, ...] = (100, 10),
    steps: int = 5000,
    learning_rate: float = 0.01,
    minibatch: int = 10,
    bias: float = 0.0,
    members: int = 10,
    label_noise: float = 1.0,
    optimism_weight: float = 0.5,
    label: str = "Ensemble-SeqB-NoiseY",
) -> EnsembleSeqB:
    """Ensemble-SeqB-NoiseY: an ensemble told noisy labels, arm after arm.

    Parameters
    ----------
    batch : int
        b, arms in a batch; the last batch is whatever is left.
    rounds : int
        N, number of batches.
    standardise : bool, default False
        Whether models see features with mean 0 and standard deviation 1 over the arms.
    device : str, default 'cpu'
        ``cpu`` or ``cuda``; changes rounding, nothing else.
    hidden : tuple of int, default (100, 10)
        Units of each hidden layer; none of them is the linear class.
    steps : int, default 5000
        Steps of Adam for each fit.
    learning_rate : float, default 0.01
        Step size.
    minibatch : int, default 10
        Observations in each step.
    bias : float, default 0.0
        Initial biases, see `bestarm.models.mlp_batch`.
    members : int, default 10
        M, networks of the ensemble.
    label_noise : float, default 1.0
        Standard deviation of the noise on the labels, drawn anew for each member and round.
    optimism_weight : float, default 0.5
        Alpha of the virtual label: 1 takes the optimistic one, 0 the pessimistic one.
    label : str, default 'Ensemble-SeqB-NoiseY'
        Name in results; keys the random choices.
    """
    return EnsembleSeqB(**locals())
