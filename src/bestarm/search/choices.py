"""The batch policies that a screen can use, by the names of the command line, with defaults meant for genes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from bestarm.models.gp_hyper import GammaPriors
from bestarm.models.smooth_gp import Family, SmoothGP
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.gp_state import GPModel
from bestarm.policies.model_batches import ModelBatches
from bestarm.search.any_size import PoolForest, PoolGaussian, PoolNeighbours

if TYPE_CHECKING:
    from bestarm.search.pool_policies import PoolPolicy

_NETWORKS: dict[str, Any] = {"hidden": (100, 10), "steps": 1000}
_OPTIMISTIC: dict[str, Any] = _NETWORKS | {"optimism": 0.01}
_PRIORS = GammaPriors(signal=(1.0, 1.0), lengthscale=(2.5, 2.5), noise=(1.0, 1.0))
_GAUSSIAN: dict[str, Any] = {"first": 0, "model": GPModel(lengthscale=1.0, noise=0.5, ard=False, priors=_PRIORS)}


def _linear(*, batch: int, rounds: int, omega: float = 1.0, ridge: float = 1.0, starts: int = 10) -> Any:
    """Return OAE with linear functions whose errors may be as large as the phenotypes' own spread."""
    from bestarm.policies.linear.linear_oae import EllipsoidOae

    return EllipsoidOae("linear OAE", batch, rounds, omega=omega, ridge=ridge, starts=starts)


def _model(family: Family, ard: bool, noise: float, steps: int) -> SmoothGP:
    """Return a Gaussian process; ``noise`` is the centre of the logarithm of its variance, whose prior is wide."""
    return SmoothGP(family=family, ard=ard, noise_prior=(noise, 2.0), steps=steps)


def _gaussian(
    *,
    batch: int,
    rounds: int,
    beta: float = 1.0,  # by the rule in docs/what_to_use.md
    family: Family = "matern52",
    ard: bool = True,
    noise: float = -8.0,
    steps: int = 50,
) -> PoolGaussian:
    return PoolGaussian("GP", batch, rounds, beta=beta, model=_model(family, ard, noise, steps))


def _hits(
    *,
    batch: int,
    rounds: int,
    share: float = 0.05,
    threshold: float | None = None,
    family: Family = "matern52",
    ard: bool = True,
    noise: float = -8.0,
    steps: int = 50,
) -> PoolGaussian:
    model = _model(family, ard, noise, steps)
    return PoolGaussian(
        "probability of a hit", batch, rounds, score_by="hits", share=share, threshold=threshold, model=model
    )


class _Named(NamedTuple):
    """A policy by its name: what makes it, as a text where it is imported when first used (networks: Torch)."""

    maker: str | Callable[..., Any]
    defaults: dict[str, Any]
    summary: str


_POLICIES = {
    "mean_opt": _Named("networks.oae:MeanOpt", _OPTIMISTIC, "a network rewarded for a large mean over the genes left"),
    "max_opt": _Named("networks.oae:MaxOpt", _OPTIMISTIC, "a network rewarded for a large maximum over the genes left"),
    "hinge": _Named("networks.oae:HingePNorm", _OPTIMISTIC, "a network rewarded for large positive values"),
    "greedy": _Named("networks.oae:Greedy", _NETWORKS, "the largest predictions of one network"),
    "det_d": _Named("networks.oae:DetD", _OPTIMISTIC, "mean_opt, with genes of a batch unlike each other"),
    "ensemble": _Named("networks.oae_ensemble:Ensemble", _NETWORKS, "the largest prediction of any of ten networks"),
    "noisy_ensemble": _Named(
        "networks.oae_ensemble:EnsembleNoiseY", _NETWORKS, "the same, each network told noisy phenotypes"
    ),
    "seq_b": _Named(
        "networks.oae_sequential:MeanOptSeqB",
        _OPTIMISTIC,
        "mean_opt gene after gene, with virtual phenotypes in between",
    ),
    "ensemble_seq_b": _Named(
        "networks.oae_sequential:PlainEnsembleSeqB", _NETWORKS, "ensembles gene after gene, with virtual phenotypes"
    ),
    "gp": _Named(_gaussian, {}, "upper bounds of a Gaussian process, with length-scales that are learned"),
    "hits": _Named(_hits, {}, "the largest probabilities of a hit by the same Gaussian process"),
    "forest": _Named(PoolForest, {"label": "forest"}, "upper bounds of a forest of extremely randomised trees"),
    "neighbours": _Named(PoolNeighbours, {"label": "neighbours"}, "the mean phenotype of the nearest genes measured"),
    "linear": _Named(_linear, {}, "the batch of which a plausible linear function promises most"),
    "dpp_sample": _Named(
        "gaussian.batch_gp:ucb_dpp_sample",
        _GAUSSIAN,
        "one gene by the upper bound of a Gaussian process, others diverse",
    ),
    "gp_bucb": _Named(
        "gaussian.batch_gp:gp_bucb", _GAUSSIAN, "upper bounds of a Gaussian process, with hallucinated phenotypes"
    ),
    "thompson": _Named("gaussian.batch_gp:thompson", _GAUSSIAN, "each gene maximises a draw from a Gaussian process"),
    "random": _Named("batch_search:RandomBatches", {}, "random genes, the baseline"),
}
DEFAULT = "gp"  # by the rule in docs/what_to_use.md
NAMES = tuple(_POLICIES)
SUMMARIES = {name: named.summary for name, named in _POLICIES.items()}


def _maker(name: str) -> Callable[..., Any]:
    if not isinstance(maker := _POLICIES[name].maker, str):
        return maker
    module, _, function = maker.partition(":")
    try:
        made: Callable[..., Any] = getattr(import_module(f"bestarm.policies.{module}"), function)
    except ImportError as error:  # of which one that is there and broken has no name
        if error.name and error.name.partition(".")[0] != "torch":
            raise
        why = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        raise ImportError(f"{name} needs Torch{why}: pip install 'bestarm[networks]'", name="torch") from None
    return made


@dataclass(frozen=True)
class Choice:
    """A policy by its name, with the settings of its constructor that are not the defaults, without batch and rounds.

    With ``scaled`` phenotypes are told in units of their spread so far; Gaussian processes do so themselves. An unknown
    name or setting, or a value out of range, is a ValueError with the list of what there is.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    scaled: bool = True
    repeats: ClassVar[bool] = False  # no candidate is asked for again

    def __post_init__(self) -> None:
        if self.name not in _POLICIES:
            near = get_close_matches(str(self.name).strip().lower(), NAMES, 1)
            meant = f"did you mean {near[0]}? There are" if near else "there are"
            raise ValueError(f"there is no policy {self.name!r}; {meant}: {', '.join(NAMES)}.")
        plain = {n: tuple(v.tolist()) if isinstance(v, np.ndarray) else v for n, v in self.settings.items()}
        plain = {n: v.item() if isinstance(v, np.generic) else v for n, v in plain.items()}
        object.__setattr__(self, "settings", plain)
        if not (self.settings or _POLICIES[self.name].defaults):
            return  # nothing to check, so that Torch is not imported for a refusal of something else
        make = _maker(self.name)
        allowed = [n for n in inspect.signature(make).parameters if n not in ("batch", "rounds", "label", "first")]
        if unknown := [n for n in self.settings if n not in allowed]:
            raise ValueError(f"{self.name} has no setting {unknown[0]!r}; it has: {', '.join(allowed) or 'none'}.")
        self.search(1, 1)

    def aimed_at(self, *, share: float | None = None, threshold: float | None = None) -> Choice:
        """Return a policy for hits with what one is, unless set: a share of candidates, or a least reward."""
        if self.name != "hits" or {"share", "threshold"} & set(self.settings):
            return self
        said = {name: value for name, value in {"share": share, "threshold": threshold}.items() if value is not None}
        return Choice(self.name, {**self.settings, **said}, self.scaled)

    def search(self, batch: int, rounds: int) -> PoolPolicy:
        settings = _POLICIES[self.name].defaults | dict(self.settings)
        try:
            policy = _maker(self.name)(batch=batch, rounds=rounds, **settings)
        except TypeError as error:
            raise ValueError(f"{self.name}: {error}.") from None
        if isinstance(policy, ModelBatches):
            return policy
        from bestarm.search.pool_policies import PoolGP, ScaledSearch  # import Torch where it is

        return PoolGP(policy) if isinstance(policy, BatchGP) else ScaledSearch(policy, self.scaled)

    def described(self) -> dict[str, Any]:
        """Return name, settings and scaling as JSON can hold them."""
        settings = {name: list(v) if isinstance(v, tuple) else v for name, v in sorted(self.settings.items())}
        return {"policy": self.name, "settings": settings, "scaled": self.scaled}

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Choice:
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in described["settings"].items()}
        return cls(described["policy"], settings, described["scaled"])


def checked_policy(policy: Any, settings: Mapping[str, Any]) -> Any:
    """Return a `Choice` of a policy by its name, or the policy of a constructor."""
    if policy is None:
        policy = DEFAULT
    if isinstance(policy, str):
        return Choice(policy, settings)
    if settings:
        raise ValueError(f"there is no setting {next(iter(settings))!r}; settings are for a policy by its name.")
    if isinstance(policy, Choice):
        return policy
    for method in ("start", "ask", "tell", "finished", "recommend"):
        if isinstance(policy, type) or not hasattr(policy, method):
            given = " ".join(repr(policy).split())[:60]
            raise ValueError(f"policy must have {method}, got {given}; make one by a constructor of bestarm.")
    return policy


def parsed_settings(texts: Sequence[str], named: bool) -> dict[str, Any]:
    """Return settings of a policy that was named, from texts such as ``optimism=0.1`` and ``hidden=100,10``."""
    if texts and not named:
        raise ValueError(f"--set {texts[0]} is for a policy that is named; add one, such as --policy hits.")
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier() and value):
            raise ValueError(f"a setting is written name=value, such as optimism=0.1, got {text!r}.")
        if name in found:
            raise ValueError(f"--set gives {name} twice; give it once.")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found
