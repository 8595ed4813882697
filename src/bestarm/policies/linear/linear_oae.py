"""Optimistic arm elimination for linear functions, where the optimistic model has a closed form, and its variants.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Equation 1,
   Theorem 4.1, Algorithms 1 to 3.
"""

from dataclasses import dataclass, field

import numpy as np

from bestarm.designs.diverse_batch import Kernel, diverse_batch
from bestarm.interface import FloatArray, IntArray
from bestarm.policies.batch_search import BatchState
from bestarm.policies.linear.linear_batches import log_det_batches, optimistic_batches, sequential_batches
from bestarm.policies.linear.linear_search import LinearSearch, LinearState
from bestarm.presets import preset
from bestarm.settings import check_settings


@dataclass(frozen=True)
class LinearOae(LinearSearch):
    r"""Vanilla OAE: the batch of which a plausible function promises most ([1]_, Equation 1, :math:`\gamma_t=0`).

    Raises ValueError for a setting out of its range.

    Parameters
    ----------
    starts : int
        Starts of the alternation, see `optimistic_batches`.
    """

    starts: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, starts=1)

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the most promising batch; the scores are the outputs of the function that promises it."""
        assert isinstance(state, LinearState)
        centre, widths = self.plausible(state)
        ties = self._draws(state, "ties")
        chosen, state.hope, models = optimistic_batches(
            state.features, state.feature_set, centre, widths, state.available, ties, size, self.starts
        )
        state.scores = self.outputs(state, models)
        return chosen


@dataclass(frozen=True)
class EllipsoidOae(LinearOae):
    r"""Vanilla OAE under misspecification: parameters with squared errors of at most :math:`\gamma_t=(t-1)b\omega^2`.

    The set :math:`\|X\theta-y\|^2+\lambda|\theta|^2\leq\gamma_t+\lambda` contains all those with :math:`|\theta|\leq1`,
    and for :math:`\gamma_t=0`, :math:`\lambda\to0` it is the ball of `LinearOae`. Raises ValueError for a negative
    error or a ridge that is not positive."""

    omega: float = 0.0  # the largest error of the best function
    ridge: float = 1e-6  # lambda

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, positive=("ridge",), omega=0)

    def plausible(self, state: LinearState) -> tuple[FloatArray, FloatArray]:
        r"""Return centre and :math:`M=cL^{-1}`, where :math:`LL^\top=X^\top X+\lambda I` and c is the slack's root."""
        d, room = state.estimate.shape[1], int(state.n_observed.max())
        known = np.arange(room) < state.n_observed[:, None]
        x = state.features[state.feature_set[:, None], state.arms[:, :room]] * known[:, :, None]
        y = np.where(known, state.rewards[:, :room], 0.0)
        gram = x.swapaxes(1, 2) @ x + self.ridge * np.eye(d)
        centre = np.linalg.solve(gram, x.swapaxes(1, 2) @ y[:, :, None])[:, :, 0]
        errors = ((x @ centre[:, :, None])[:, :, 0] - y) ** 2
        least = errors.sum(axis=1) + self.ridge * (centre**2).sum(axis=1)
        slack = np.maximum(state.n_observed * self.omega**2 + self.ridge - least, 0.0)
        return np.asarray(centre), np.sqrt(slack)[:, None, None] * np.linalg.inv(np.linalg.cholesky(gram))


@dataclass(frozen=True)
class LinearGreedy(LinearSearch):
    """The arms with the largest estimates: what is not known counts as 0."""

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the arms with the largest estimates."""
        assert isinstance(state, LinearState)
        state.scores = self.outputs(state, state.estimate)
        nothing, ties = np.zeros_like(state.basis), self._draws(state, "ties")
        chosen, _, _ = optimistic_batches(
            state.features, state.feature_set, state.estimate, nothing, state.available, ties, size, 1
        )
        return chosen


@dataclass(frozen=True)
class LinearSeq(LinearSearch):
    """Algorithm 3 with the middle of what is plausible as virtual label: no direction is promised twice in a batch."""

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the batch; the scores are the most that each arm may be worth."""
        assert isinstance(state, LinearState)
        centre, widths = self.plausible(state)
        state.scores = self.index(state)
        least = self.resolution * np.linalg.norm(widths, ord=2, axis=(1, 2))
        ties = self._draws(state, "ties")
        return sequential_batches(state.features, state.feature_set, centre, widths, least, state.available, ties, size)


@dataclass(frozen=True)
class LinearDiverse(LinearSearch):
    r"""Algorithm 2: the most that each arm may be worth, plus the log determinant of a kernel over the batch.

    Raises ValueError if the weight is not positive."""

    diversity: float = 1.0  # lambda_div
    kernel: Kernel = "direction"  # see `bestarm.designs.diverse_batch`

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, positive=("diversity",))

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the batch; the scores are the most that each arm may be worth."""
        assert isinstance(state, LinearState)
        state.scores = self.index(state)
        ties = self._draws(state, "ties")
        return diverse_batch(
            state.features, state.feature_set, state.scores, state.available, ties, size, self.diversity, self.kernel
        )


@dataclass(frozen=True)
class LinearLogDet(LinearSearch):
    r"""As `LinearDiverse`, with the log determinant of what is not yet known about the arms of the batch.

    Raises ValueError if one of them is not positive."""

    diversity: float = 1.0  # lambda_div
    noise: float = 0.01  # s, the scale of log det(I + s^-2 MB'BM')

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, positive=("diversity", "noise"))

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the batch; the scores are the most that each arm may be worth."""
        assert isinstance(state, LinearState)
        centre, widths = self.plausible(state)
        state.scores = self.index(state)
        ties = self._draws(state, "ties")
        return log_det_batches(
            state.features, state.feature_set, centre, widths, state.available, ties, size, self.diversity, self.noise
        )


@preset
class VanillaOae(LinearOae):
    """OAE with linear functions: the batch of which a plausible one promises most."""

    label: str = "OAE"
    standardise: bool = field(init=False, default=False)
    device: str = field(init=False, default="cpu")
