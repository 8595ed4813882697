r"""Acquisitions, samplers and rules that a batched Gaussian process search is made of.

Each part is a frozen record with the settings that matter to it and no others; `BatchGP` of `batch_gp` is
made of them, such as ``KDpp(UpperBound(beta_scale=0.2), DownUp(0.01))``.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Algorithms 1 and 2.
.. [2] Desautels, Krause, Burdick. "Parallelizing Exploration-Exploitation Tradeoffs in Gaussian Process Bandit
   Optimization". JMLR 2014.
.. [3] Contal, Buffoni, Robicquet, Vayatis. "Parallel Gaussian Process Optimization with Upper Confidence Bound and Pure
   Exploration". ECML 2013.
.. [4] Wang, Zhou, Jegelka. "Optimization as Estimation with Gaussian Processes in Bandit Settings". AISTATS 2016.
.. [5] Gonzalez, Dai, Hennig, Lawrence. "Batch Bayesian Optimization via Local Penalization". AISTATS 2016.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from bestarm.policies.gaussian import gp_batches, gp_choice
from bestarm.settings import check_settings, is_number

Estimate = Literal["ESTa", "ESTn"]
Region = Literal["as_written", "as_coded"]


def check_part(name: str, value: Any, kinds: Any) -> None:
    """Refuse what is none of the records of a union, with the name, the value and the records that there are."""
    if not isinstance(value, get_args(kinds)):
        words = [kind.__name__ for kind in get_args(kinds)]
        raise ValueError(
            f"{name} must be {', '.join(words[:-1])} or {words[-1]}, got {value!r}; write {name}={words[0]}()."
        )


@dataclass(frozen=True)
class UpperBound:
    r"""The largest upper confidence bound: mean plus :math:`\beta_t^{1/2}` standard deviations ([1]_, Theorem 2.1).

    Parameters
    ----------
    delta : float
        :math:`\delta` of :math:`\beta_t=2\log(|X|t^2\pi^2/(6\delta))`, in (0, 1).
    beta_scale : float
        Factor of :math:`\beta_t`; one fifth is customary.
    """

    delta: float = 0.05
    beta_scale: float = 1.0

    def __post_init__(self) -> None:
        check_settings(self, positive=("beta_scale",), shares=("delta",))

    def as_coded(self) -> "UpperBound":
        """Return the bound of Contal's software: delta exp(-3)."""
        return replace(self, delta=float(np.exp(-3.0)))

    def on(self, rule: gp_choice.Rule) -> gp_choice.Rule:
        """Return a compiled rule with this acquisition."""
        return rule._replace(est=False, delta=float(self.delta), beta_scale=float(self.beta_scale))


@dataclass(frozen=True)
class EstimatedMaximum:
    """The least distance from an estimate of the maximum, in standard deviations ([4]_): EST.

    Parameters
    ----------
    estimate : {"ESTa", "ESTn"}
        Maximum by the approximate form, as the paper ran it, or by numerical integration. The width of the approximate
        form has no bound: it reached 8e7 deviations where its tail vanishes in rounding.
    """

    estimate: Estimate = "ESTa"

    def __post_init__(self) -> None:
        check_settings(self)

    def as_coded(self) -> "EstimatedMaximum":
        """Return this acquisition, for which no code is known."""
        return self

    def on(self, rule: gp_choice.Rule) -> gp_choice.Rule:
        """Return a compiled rule with this acquisition."""
        return rule._replace(est=True, integral=self.estimate == "ESTn")


Acquisition = UpperBound | EstimatedMaximum


@dataclass(frozen=True)
class DownUp:
    """A k-DPP by a chain that drops an arm and draws one in its place, with provably few steps.

    Parameters
    ----------
    epsilon : float
        Distance of the chain from the k-DPP in total variation, in (0, 1).
    """

    epsilon: float = 0.01

    def __post_init__(self) -> None:
        check_settings(self, shares=("epsilon",))


@dataclass(frozen=True)
class Exchange:
    """A k-DPP by the paper's chain, which proposes to exchange an arm of the batch for another.

    Parameters
    ----------
    epsilon : float
        Distance of the chain from the k-DPP in total variation, in (0, 1).
    """

    epsilon: float = 0.01

    def __post_init__(self) -> None:
        check_settings(self, shares=("epsilon",))


@dataclass(frozen=True)
class Eigen:
    """A k-DPP drawn exactly by eigenvectors of its kernel, for small regions."""


@dataclass(frozen=True)
class GreedyMap:
    """The arms that enlarge the determinant most, one after the other, which is pure exploration ([3]_).

    Parameters
    ----------
    repeats : bool
        Whether an arm may be taken twice, as pure exploration may; a set has it once.
    """

    repeats: bool = False

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class ExactMap:
    """The set of arms with the largest determinant, by branch and bound; for regions of at most 400 arms."""


@dataclass(frozen=True)
class Uniform:
    """Uniform arms of the region without repeats: the control without diversity."""


Sampler = DownUp | Exchange | Eigen
RegionSampler = Sampler | GreedyMap | ExactMap | Uniform

# What fills a batch, and by which chain.
_COMPILED: dict[type, tuple[int, int]] = {
    DownUp: (gp_batches.SAMPLE, gp_batches.DOWN_UP),
    Exchange: (gp_batches.SAMPLE, gp_batches.EXCHANGE),
    Eigen: (gp_batches.SAMPLE, gp_batches.EIGEN),
    GreedyMap: (gp_batches.MAX, gp_batches.DOWN_UP),
    ExactMap: (gp_batches.EXACT, gp_batches.DOWN_UP),
    Uniform: (gp_batches.UNIFORM, gp_batches.DOWN_UP),
}


@dataclass(frozen=True)
class Hallucinate:
    """Arm after arm by an acquisition, whose deviations know the arms before ([2]_; [1]_, Algorithm 1).

    Parameters
    ----------
    acquisition : UpperBound or EstimatedMaximum
        GP-BUCB or B-EST.
    inflation : float
        C', factor of the width.
    two_stage : bool
        Whether batches of largest variance come first, at most five, until B - 1 more arms can tell no more than 1/2
        of information by the greedy bound.
    by_evaluations : bool
        Whether t of `UpperBound` counts evaluations, as in the text, or batches, as in Contal's software.
    """

    acquisition: Acquisition = UpperBound()
    inflation: float = 1.0
    two_stage: bool = False
    by_evaluations: bool = True

    def __post_init__(self) -> None:
        check_settings(self, positive=("inflation",))
        check_part("acquisition", self.acquisition, Acquisition)
        if not (self.by_evaluations or isinstance(self.acquisition, UpperBound)):
            raise ValueError(
                f"by_evaluations is about t of UpperBound, got {self.by_evaluations!r} with EstimatedMaximum; leave it."
            )

    def as_coded(self) -> "Hallucinate":
        """Return the rule of Contal's software: t counts batches, no inflation, no first stage."""
        return Hallucinate(self.acquisition.as_coded(), by_evaluations=not isinstance(self.acquisition, UpperBound))

    def compiled(self) -> gp_choice.Rule:
        """Return the rule as compiled code takes it."""
        rule = gp_choice.Rule(
            gp_choice.HALLUCINATE, inflation=float(self.inflation), by_evaluations=bool(self.by_evaluations)
        )
        return self.acquisition.on(rule)


@dataclass(frozen=True)
class KDpp:
    r"""The first arm by an acquisition, the others from the relevance region by a k-DPP or a rival ([1]_, Algorithm 2).

    Parameters
    ----------
    acquisition : UpperBound or EstimatedMaximum
        Of the first arm and of the region.
    sampler : DownUp, Exchange, Eigen, GreedyMap, ExactMap or Uniform
        How the other arms are chosen.
    region : {"as_written", "as_coded"}
        Arms with mean plus :math:`2\beta_{t+1}^{1/2}` deviations at least the largest lower bound, or, as in Contal's
        software, :math:`\beta_t^{1/2}` deviations. EST takes its present width for the next one.
    exclude_first : bool
        Whether the others leave out the first arm.
    """

    acquisition: Acquisition = UpperBound()
    sampler: RegionSampler = DownUp()
    region: Region = "as_written"
    exclude_first: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        check_part("acquisition", self.acquisition, Acquisition)
        check_part("sampler", self.sampler, RegionSampler)

    def as_coded(self) -> "KDpp":
        """Return the rule with the relevance region of Contal's software."""
        return replace(self, acquisition=self.acquisition.as_coded(), region="as_coded")

    def compiled(self) -> gp_choice.Rule:
        """Return the rule as compiled code takes it."""
        fill, chain = _COMPILED[type(self.sampler)]
        if isinstance(self.sampler, GreedyMap) and self.sampler.repeats:
            fill = gp_batches.EXPLORE
        rule = gp_choice.Rule(
            gp_choice.REGION,
            as_coded_region=self.region == "as_coded",
            exclude_first=bool(self.exclude_first),
            fill=fill,
            sampler=chain,
        )
        if isinstance(self.sampler, DownUp | Exchange):
            rule = rule._replace(epsilon=float(self.sampler.epsilon))
        return self.acquisition.on(rule)


@dataclass(frozen=True)
class Penalty:
    """Upper bounds that are penalised around the arms of the batch, by a Lipschitz constant ([5]_).

    Parameters
    ----------
    penalty_width : float or UpperBound
        Standard deviations in the bound; GPyOpt has 2.
    penalty_as_coded : bool
        *Deviation*: the noise counts in the deviations, and their square root scales the penalty (GPyOpt).
    """

    penalty_width: float | UpperBound = 2.0
    penalty_as_coded: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        width, rule = self.penalty_width, "penalty_width must be positive and finite"
        if not isinstance(width, UpperBound) and (
            isinstance(width, bool) or not (is_number(width) and 0 < width < np.inf)
        ):
            raise ValueError(f"{rule}, got {width!r}; UpperBound() takes it from beta.")

    def as_coded(self) -> "Penalty":
        """Return the rule of GPyOpt: a width of 2, and the deviations of its penalty."""
        return Penalty(2.0, penalty_as_coded=True)

    def compiled(self) -> gp_choice.Rule:
        """Return the rule as compiled code takes it."""
        rule = gp_choice.Rule(gp_choice.PENALISE, lp_as_coded=bool(self.penalty_as_coded))
        if isinstance(self.penalty_width, UpperBound):
            return self.penalty_width.on(rule)
        return rule._replace(lp_width=float(self.penalty_width))


@dataclass(frozen=True)
class Draws:
    """The maximiser of a draw from the posterior for each arm of the batch: Thompson.

    Parameters
    ----------
    n_features : int
        Random Fourier features of a draw.
    """

    n_features: int = 256

    def __post_init__(self) -> None:
        check_settings(self, n_features=1)

    def as_coded(self) -> "Draws":
        """Return this rule, which has no other form."""
        return self

    def compiled(self) -> gp_choice.Rule:
        """Return the rule as compiled code takes it."""
        return gp_choice.Rule(gp_choice.THOMPSON, n_features=int(self.n_features))


@dataclass(frozen=True)
class Anywhere:
    """Uniform arms, with repeats: the control without a model."""

    def as_coded(self) -> "Anywhere":
        """Return this rule, which has no other form."""
        return self

    def compiled(self) -> gp_choice.Rule:
        """Return the rule as compiled code takes it."""
        return gp_choice.Rule(gp_choice.RANDOM)


BatchRule = Hallucinate | KDpp | Penalty | Draws | Anywhere
