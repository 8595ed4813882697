r"""The state of batched Gaussian process searches, and the settings of their model."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

import numpy as np

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.models.finite_gp import FiniteGP
from bestarm.models.gp_hyper import GammaPriors
from bestarm.settings import check_whole, is_number

Fit = Literal["frozen", "map", "slice"]
Recommendation = Literal["mean", "observed mean", "observed reward"]

LOG = ("width", "maximum", "region", "repeats", "log_det", "informative", "lipschitz")


@dataclass(frozen=True)
class GPModel:
    r"""A Gaussian process with a squared-exponential kernel, and how its hyper-parameters are found.

    Raises ValueError for an unknown way of fitting or a number out of range.

    Parameters
    ----------
    lengthscale : float or tuple of floats
        :math:`\ell_d`, one for all features or one for each; where fitting starts.
    signal, noise : float
        :math:`\gamma^2` and the noise variance, in squared units of the scaled reward.
    constant : float
        Prior variance of an unknown mean, which is integrated out; 0 is a mean of zero, as the paper says.
    offset, scale : float
        The model is of (reward - offset) / scale.
    standardise : bool
        Replace offset and scale by mean and standard deviation of the rewards, from five rewards on.
    fit : {"frozen", "map", "slice"}
        Hyper-parameters stay, are the most probable ones, or the mean of the logarithms of slice samples.
    growth : float
        At least 1; hyper-parameters are learned again when there are so many times more rewards. 1 is every batch.
    starts : int
        Starts of the search for the most probable ones: the present ones, the priors' means, then random ones.
    priors : GammaPriors
        Priors, for standardised rewards.
    ard : bool
        One length-scale for each feature.
    burn_in, samples, thinning : int
        Sweeps of slice sampling: before the first sample of each fit, samples, sweeps a sample.
    """

    lengthscale: float | tuple[float, ...] = 0.5
    signal: float = 1.0
    noise: float = 0.01
    constant: float = 0.0
    offset: float = 0.0
    scale: float = 1.0
    standardise: bool = True
    fit: Fit = "map"
    growth: float = 1.25
    starts: int = 2
    priors: GammaPriors = field(default_factory=GammaPriors)
    ard: bool = True
    burn_in: int = 10
    samples: int = 10
    thinning: int = 3

    def __post_init__(self) -> None:
        if self.fit not in get_args(Fit):
            raise ValueError(f"fit must be one of {', '.join(get_args(Fit))}, got {self.fit!r}.")
        if not (is_number(self.growth) and self.growth >= 1):
            raise ValueError(f"growth must be at least 1 (a fit after every batch), got {self.growth!r}.")
        for name, least in (("starts", 1), ("samples", 1), ("thinning", 1), ("burn_in", 0)):
            check_whole(name, getattr(self, name), least)
        if not (is_number(self.offset) and np.isfinite(self.offset)):
            raise ValueError(f"offset must be finite, got {self.offset!r}; 0 models rewards as they are.")
        if not isinstance(self.priors, GammaPriors):
            raise ValueError(f"priors must be GammaPriors, got {self.priors!r}; GammaPriors() are the usual ones.")

    def __repr__(self) -> str:
        """Return what was set; as a default in a signature all of it would hide the others."""
        usual = {f.name: f.default for f in fields(self)} | {"priors": GammaPriors()}
        given = {name: getattr(self, name) for name in usual}
        return f"GPModel({', '.join(f'{k}={v!r}' for k, v in given.items() if v != usual[k])})"

    @classmethod
    def frozen(cls, lengthscale: float | tuple[float, ...], signal: float, noise: float, **others: Any) -> "GPModel":
        """Return a model whose hyper-parameters, offset and scale stay as they are given."""
        settings: dict[str, Any] = {"standardise": False, "fit": "frozen"}
        return cls(lengthscale, signal, noise, **settings | others)


@dataclass
class BatchGPState(FiniteGP):
    """The state of a batched search; the posterior is that of `FiniteGP`."""

    log_parameters: FloatArray  # logarithms of signal, length-scales and noise, (R, p)
    fitted: IntArray  # rewards at the last fit of hyper-parameters, (R,)
    first_stage: BoolArray  # whether the variance-greedy stage of GP-BUCB goes on, (R,)
    # of the last batch what `LOG` names: confidence width, estimated maximum, arms of the region, repeats that filled
    # the batch, log determinant of the DPP kernel of all but the first arm, how many of these M chose on average, and
    # the Lipschitz constant; NaN where a rule has none, (R, 7)
    log: FloatArray
    n_failed: IntArray  # evaluations that failed, (R,)
    replications: IntArray
    first_key: np.uint64
    batch_key: np.uint64
    tie_key: np.uint64
    fit_key: np.uint64
    priors: FloatArray = field(metadata={"shared": True})
    round: int = 0  # batches asked for and told, the initial arms included


def recommendations(state: BatchGPState) -> dict[Recommendation, IntArray]:
    """Return three recommendations, each of shape (R,): arm 0 where nothing has been observed."""
    means, rows = state.means, np.arange(len(state.n_known))
    known = np.arange(state.rewards.shape[1]) < state.n_known[:, None]
    seen = np.where(known, means[rows[:, None], state.conditioned], -np.inf)
    rewards = np.where(known, state.rewards, -np.inf)
    none = state.n_known == 0
    by_mean = state.conditioned[rows, seen.argmax(axis=1)]
    by_reward = state.conditioned[rows, rewards.argmax(axis=1)]
    return {
        "mean": means.argmax(axis=1),
        "observed mean": np.where(none, 0, by_mean),
        "observed reward": np.where(none, 0, by_reward),
    }
