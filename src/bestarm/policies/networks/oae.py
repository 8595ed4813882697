r"""Optimistic arm elimination with networks: a fit rewarded for large outputs, then the arms with the largest.

Greedy, MeanOpt, HingePNorm and MaxOpt differ in the objective and its strength alone; DetD spreads the batch.
Networks are fitted by the fused kernel; on a processor without fused multiply-add and on a GPU Torch fits them, several
times slower, and one line of the log says so.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Equations 2
   and 3, Algorithms 1 and 2.
"""

from dataclasses import dataclass, field

import numpy as np

from bestarm.designs.diverse_batch import Kernel, diverse_batch
from bestarm.interface import FloatArray, IntArray
from bestarm.models.fused_fit import fit_fused as fit_networks
from bestarm.models.fused_predict import predict_fused as predict
from bestarm.models.mlp_fit import FitData, Objective, Training, diverged
from bestarm.policies.batch_search import BatchSearch, BatchState, top_batch
from bestarm.presets import preset
from bestarm.settings import check_settings

MOST_MEMBERS = 2**8
NETWORKS_A_ROUND = 2**16


@dataclass(frozen=True)
class NetworkSearch(BatchSearch):
    """What searches with networks have in common.

    Parameters
    ----------
    hidden, steps, learning_rate, minibatch, pool_minibatch, bias
        As of `Training`.
    """

    hidden: tuple[int, ...] = (100, 10)
    steps: int = 5000
    learning_rate: float = 0.01
    minibatch: int = 10
    pool_minibatch: int | None = None
    bias: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch > MOST_MEMBERS:
            raise ValueError(f"batch must be at most {MOST_MEMBERS}: networks are named by place; got {self.batch}.")
        object.__setattr__(self, "hidden", tuple(self.hidden))
        self.training()

    def training(self, objective: Objective = "avg") -> Training:
        """Return how networks are fitted."""
        return Training(
            self.hidden,
            self.steps,
            self.learning_rate,
            self.minibatch,
            objective,
            self.pool_minibatch,
            self.bias,
            self.device,
        )

    def fit_and_predict(
        self,
        state: BatchState,
        rewards: FloatArray,
        optimism: FloatArray,
        objective: Objective = "avg",
        *,
        arms: IntArray | None = None,
        n_observed: IntArray | None = None,
        place: int = 0,
    ) -> FloatArray:
        """Fit n networks for each replication and return their outputs for all arms, shape (R, n, n_arms).

        ``state``: what is known, and which arms are left; ``rewards`` (ndarray, shape (R, n, n_known)): what each
        network is told; ``optimism`` (ndarray, shape (n,)): strength of each network's regulariser; ``objective``
        ({"avg", "sum", "hinge", "softmax"}): the regulariser; ``arms``, ``n_observed`` (ndarray of int64): what the
        rewards belong to, where that is not what was observed; ``place``: the number of the fit; it keys the draws."""
        n_rows, n, _ = rewards.shape
        row = np.repeat(np.arange(n_rows), n)
        n_pool = state.available.sum(axis=1)
        pool = np.argsort(~state.available, axis=1, kind="stable")[:, : n_pool.max()]
        data = FitData(
            state.inputs,
            state.feature_set,
            state.arms if arms is None else arms,
            state.n_observed if n_observed is None else n_observed,
            pool,
            n_pool,
            row,
            rewards.reshape(n_rows * n, -1),
        )
        items = state.round * NETWORKS_A_ROUND + place * MOST_MEMBERS + np.arange(n)
        networks = np.stack([state.replications[row], np.tile(items, n_rows)], axis=1)
        training = self.training(objective)
        parameters = fit_networks(
            training, data, np.tile(optimism, n_rows), state.streams.key(f"{self.label} networks"), networks
        )
        found = predict(training, data, parameters)
        state.diverged |= diverged(found).reshape(n_rows, n).any(axis=1)
        return found.reshape(n_rows, n, -1)


@dataclass(frozen=True)
class Oae(NetworkSearch):
    r"""Greedy, MeanOpt, HingePNorm, MaxOpt: one network, regularised towards optimism ([1]_, Equation 3).

    Raises ValueError for a negative strength, or a setting out of its range.

    Parameters
    ----------
    objective : {"avg", "hinge", "softmax", "sum"}
        MeanOpt, HingePNorm with p = 4, MaxOpt, and MeanOpt with a strength that grows with the arms left.
    optimism : float
        :math:`\lambda_{reg}`; 0 is Greedy.
    diversity : float, optional
        :math:`\lambda_{div}` of DetD; by default the batch is that of the largest outputs.
    kernel : {"direction", "affine", "rbf"}
        Of DetD, see `bestarm.designs.diverse_batch`.
    """

    objective: Objective = "avg"
    optimism: float = 0.0
    diversity: float | None = None
    kernel: Kernel = "direction"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, positive=("diversity",), optimism=0)

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the batch of a fresh optimistic fit."""
        fitted = self.fit_and_predict(state, state.rewards[:, None], np.array([self.optimism]), self.objective)
        state.scores = fitted[:, 0]
        ties = self._draws(state, "ties")
        if self.diversity is None:
            return top_batch(state.scores, state.available, ties, size)
        return diverse_batch(
            state.features, state.feature_set, state.scores, state.available, ties, size, self.diversity, self.kernel
        )


@preset
class Greedy(Oae):
    """Greedy: the batch of the largest outputs of one network."""

    label: str = "Greedy"
    objective: Objective = field(init=False, default="avg")
    optimism: float = field(init=False, default=0.0)
    pool_minibatch: int | None = field(init=False, default=None)
    diversity: float | None = field(init=False, default=None)
    kernel: Kernel = field(init=False, default="direction")


@preset
class MeanOpt(Oae):
    """MeanOpt: a network rewarded for a large mean over the arms left."""

    label: str = "MeanOpt"
    optimism: float = field()
    objective: Objective = field(init=False, default="avg")
    diversity: float | None = field(init=False, default=None)
    kernel: Kernel = field(init=False, default="direction")


@preset
class HingePNorm(MeanOpt):
    """HingePNorm: a network rewarded for the mean of max(0, f)^4 over the arms left."""

    label: str = "HingePNorm"
    objective: Objective = field(init=False, default="hinge")


@preset
class MaxOpt(MeanOpt):
    """MaxOpt: a network rewarded for a large soft maximum over the arms left."""

    label: str = "MaxOpt"
    objective: Objective = field(init=False, default="softmax")


@preset
class DetD(Oae):
    """DetD: MeanOpt with a batch that is spread out by a determinant."""

    label: str = "DetD"
    optimism: float = field()
    diversity: float | None = 1.0
    objective: Objective = field(init=False, default="avg")
