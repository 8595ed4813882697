"""Every algorithm by its name: constructors that show all of their settings, with default and meaning, in ``help``.

What makes an algorithm what it is called cannot be set here: there is no MaxOpt with the objective of MeanOpt. The
classes in `bestarm.policies` are for mixtures of parts.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from bestarm.models.mlp_fit import Training
from bestarm.policies.batch_gp import BatchGP
from bestarm.policies.batch_search import RandomBatch
from bestarm.policies.budgeted import Budgeted
from bestarm.policies.gifa import Gifa
from bestarm.policies.gp_tree import GpTree
from bestarm.policies.gpoo import Gpoo
from bestarm.policies.grid_search import GridSearch
from bestarm.policies.gse import Gse
from bestarm.policies.linear_oae import LinearOae
from bestarm.policies.oae import Oae
from bestarm.policies.oae_ensemble import EnsembleSearch
from bestarm.policies.oae_sequential import EnsembleSeqB, SeqB
from bestarm.policies.stooo import Stooo

T = TypeVar("T")
Maker = Callable[..., T]

_DOCUMENTED_IN: dict[type, tuple[type, ...]] = {Oae: (Training,), EnsembleSearch: (Training,)}


def _descriptions(cls: type) -> dict[str, tuple[str, str]]:
    """Return kind and meaning of each setting that the docstring of a class describes itself."""
    text = inspect.cleandoc(cls.__doc__ or "")
    found = re.search(r"Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", text, re.DOTALL)
    known: dict[str, tuple[str, str]] = {}
    for entry in re.split(r"\n(?=\S)", found[1].strip() if found else ""):
        head, _, meaning = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        meaning = textwrap.dedent(meaning).strip()
        if meaning and not meaning.startswith(("As of", "See ")):
            known |= {name.strip(): (kind, meaning) for name in names.split(",")}
    return known


def _meaning(made: Sequence[type], name: str) -> tuple[str, str]:
    """Return kind and meaning of a setting from the first class that describes it."""
    for cls in made:
        for source in (
            *cls.__mro__,
            *(c for k, v in _DOCUMENTED_IN.items() if issubclass(cls, k) for c in v),
            Training,
        ):
            if name in (known := _descriptions(source)):
                return known[name]
    raise TypeError(f"{made[0].__name__} does not describe its setting {name}.")


def _constructor(
    name: str,
    summary: str,
    made: type[T],
    required: Sequence[str],
    *,
    label: str,
    fixed: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    parts: Sequence[type] = (),
    make: Callable[[dict[str, Any]], T] | None = None,
) -> Maker[T]:
    """Return a function that makes a policy, with a full signature and docstring.

    Parameters
    ----------
    name, summary : str
        Of the function.
    made : type
        What it returns.
    required : sequence of str
        Settings without a default, in order; the others are keywords.
    label : str
        Default of the label.
    fixed : mapping, optional
        Settings that make the algorithm; they are no parameters.
    defaults : mapping, optional
        Defaults other than the class's.
    parts : sequence of type, optional
        Classes whose fields are settings, if not that of ``made``.
    make : callable, optional
        From all settings to the policy, if that is not ``made(**settings)``.
    """
    classes = tuple(parts) or (made,)
    fixed, defaults = dict(fixed or {}), dict(defaults or {})
    known: dict[str, Field[Any]] = {}
    for cls in classes:
        known |= {f.name: f for f in fields(cls) if f.init and f.name not in known}
    optional = [n for n in known if n not in (*required, *fixed, "label")]
    parameters, lines = [], []
    for setting in (*required, *optional, "label"):
        default = label if setting == "label" else defaults.get(setting, _default(known[setting]))
        if setting in required:
            default = inspect.Parameter.empty
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if setting in required else inspect.Parameter.KEYWORD_ONLY
        annotation = known[setting].type
        parameters.append(inspect.Parameter(setting, kind, default=default, annotation=annotation))
        words, meaning = _meaning(classes, setting)
        shown = "" if setting in required else f", default {default!r}"
        lines.append(f"{setting} : {words or annotation}{shown}\n" + textwrap.indent(meaning, "    "))
    signature = inspect.Signature(parameters, return_annotation=made.__name__)

    def construct(*arguments: Any, **settings: Any) -> T:
        if unknown := [n for n in settings if n not in signature.parameters]:
            why = f" (it is always {fixed[unknown[0]]!r} there)" if unknown[0] in fixed else ""
            raise TypeError(f"{name} has no setting {unknown[0]}{why}; it has: {', '.join(signature.parameters)}.")
        try:
            bound = signature.bind(*arguments, **settings)
        except TypeError as error:
            raise TypeError(f"{name}: {error}; it needs {', '.join(required)}.") from None
        bound.apply_defaults()
        given = fixed | bound.arguments
        return made(**given) if make is None else make(given)

    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = (
        f"{summary}\n\nParameters\n----------\n" + "\n".join(lines) + f"\n\nReturns\n-------\n{made.__name__}\n\n"
        "Raises\n------\nTypeError, ValueError\n    For a setting that is not there or out of its range.\n"
    )
    construct.__signature__ = signature  # type: ignore[attr-defined]
    return construct


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else inspect.Parameter.empty


_TABLE_1: dict[str, Any] = {"index": "paired", "by_gap_index": False, "challenged_by_mth": False}
_CLASSICAL: dict[str, Any] = {"by_gap_index": False, "challenged_by_mth": False, "initialise": True}

lucb = _constructor(
    "lucb", "LUCB: the m best arms with fixed confidence, without features.", Gifa, ("n_best",), label="LUCB",
    fixed=_CLASSICAL, defaults={"index": "classical", "threshold": "lucb1"},
)  # fmt: skip
ugape = _constructor(
    "ugape", "UGapE: the m best arms with fixed confidence, without features.", Gifa, ("n_best",), label="UGapE",
    fixed=_CLASSICAL | {"by_gap_index": True}, defaults={"index": "classical", "stop": "ugape", "threshold": "lucb1"},
)  # fmt: skip
m_lingape = _constructor(
    "m_lingape", "m-LinGapE: the m best arms of a linear bandit with fixed confidence.", Gifa, ("n_best",),
    label="m-LinGapE", fixed=_TABLE_1, defaults={"selection": "greedy", "threshold": "eq2"},
)  # fmt: skip
lingifa = _constructor(
    "lingifa", "LinGIFA: the m best arms of a linear bandit with fixed confidence.", Gifa, ("n_best",),
    label="LinGIFA", fixed=_TABLE_1 | {"by_gap_index": True, "challenged_by_mth": True},
    defaults={"stop": "ugape", "threshold": "eq2", "initialise": False},
)  # fmt: skip


def _budgeted(settings: dict[str, Any]) -> Budgeted:
    own = {f.name: settings.pop(f.name) for f in fields(Budgeted) if f.name in settings}
    return Budgeted(Gifa(**settings), **own)


_LINGAPE = _TABLE_1 | {"n_best": 1, "policy": None}


def _with_budget(name: str, summary: str, label: str, selection: str) -> Maker[Budgeted]:
    return _constructor(
        name, summary, Budgeted, ("budget",), label=label, fixed=_LINGAPE | {"selection": selection},
        parts=(Budgeted, Gifa), make=lambda given: _budgeted({k: v for k, v in given.items() if k != "policy"}),
        defaults={"radius": "determinant", "regulariser": 1.0, "threshold": "eq2"},
    )  # fmt: skip


lingape = _with_budget(
    "lingape", "LinGapE with a budget: the best arm of a linear bandit, optimised pulls.", "LinGapE", "optimised"
)
lingape_greedy = _with_budget(
    "lingape_greedy",
    "LinGapE with a budget: the best arm of a linear bandit, greedy pulls.",
    "LinGapE-Greedy",
    "greedy",
)

gse_lin = _constructor(
    "gse_lin", "GSE-Lin: the best arm with a fixed budget, by elimination with least squares.", Gse, ("budget",),
    label="GSE-Lin", fixed={"model": "linear"},
)  # fmt: skip
gse_log = _constructor(
    "gse_log", "GSE-Log: the best arm with a fixed budget, by elimination, for rewards 0 and 1.", Gse, ("budget",),
    label="GSE-Log", fixed={"model": "logistic"},
)  # fmt: skip

gpoo = _constructor(
    "gpoo", "GPOO: the best region of a box, from averages over cells, with a Gaussian process.", Gpoo, ("budget",),
    label="GPOO",
)  # fmt: skip
stooo = _constructor(
    "stooo", "StoOO: the best region of a box, from rewards at the centres of cells.", Stooo, ("budget",),
    label="StoOO", fixed={"rule": "munos"},
)  # fmt: skip
ave_stooo = _constructor(
    "ave_stooo", "AVE-StoOO: the best region of a box, from averages over cells.", Stooo, ("budget",),
    label="AVE-StoOO", fixed={"rule": "average"},
)  # fmt: skip
gp_tree = _constructor(
    "gp_tree", "GPTree: the best region of a box, from rewards of cells, with a Gaussian process.", GpTree,
    ("budget",), label="GPTree",
)  # fmt: skip
grid_search = _constructor(
    "grid_search", "Search the equal cells of one depth: evenly, at random, or by upper bounds.", GridSearch,
    ("budget",), label="grid",
)  # fmt: skip

_BATCHES = ("batch", "rounds")
_PLAIN = {"diversity": None, "kernel": "direction"}
greedy = _constructor(
    "greedy", "Greedy: the batch of the largest outputs of one network.", Oae, _BATCHES, label="Greedy",
    fixed=_PLAIN | {"objective": "avg", "optimism": 0.0},
)  # fmt: skip
mean_opt = _constructor(
    "mean_opt", "MeanOpt: a network rewarded for a large mean over the arms left.", Oae, (*_BATCHES, "optimism"),
    label="MeanOpt", fixed=_PLAIN | {"objective": "avg"},
)  # fmt: skip
hinge_p_norm = _constructor(
    "hinge_p_norm", "HingePNorm: a network rewarded for the mean of max(0, f)^4 over the arms left.", Oae,
    (*_BATCHES, "optimism"), label="HingePNorm", fixed=_PLAIN | {"objective": "hinge"},
)  # fmt: skip
max_opt = _constructor(
    "max_opt", "MaxOpt: a network rewarded for a large soft maximum over the arms left.", Oae, (*_BATCHES, "optimism"),
    label="MaxOpt", fixed=_PLAIN | {"objective": "softmax"},
)  # fmt: skip
det_d = _constructor(
    "det_d", "DetD: MeanOpt with a batch that is spread out by a determinant.", Oae, (*_BATCHES, "optimism"),
    label="DetD", fixed={"objective": "avg"}, defaults={"diversity": 1.0},
)  # fmt: skip
ensemble = _constructor(
    "ensemble", "Ensemble: the largest outputs of any of several networks.", EnsembleSearch, _BATCHES,
    label="Ensemble", fixed={"label_noise": 0.0},
)  # fmt: skip
ensemble_noise_y = _constructor(
    "ensemble_noise_y", "EnsembleNoiseY: the largest outputs of several networks, told noisy labels.", EnsembleSearch,
    _BATCHES, label="EnsembleNoiseY", defaults={"label_noise": 1.0},
)  # fmt: skip
seq_b = _constructor(
    "seq_b", "SeqB: MeanOpt arm after arm, with virtual labels in between.", SeqB, (*_BATCHES, "optimism"),
    label="SeqB", fixed=_PLAIN | {"objective": "avg"},
)  # fmt: skip
ensemble_seq_b = _constructor(
    "ensemble_seq_b", "Ensemble-SeqB: an ensemble arm after arm, with virtual labels in between.", EnsembleSeqB,
    _BATCHES, label="Ensemble-SeqB", fixed={"label_noise": 0.0},
)  # fmt: skip
ensemble_seq_b_noise_y = _constructor(
    "ensemble_seq_b_noise_y", "Ensemble-SeqB-NoiseY: the same, told noisy labels.", EnsembleSeqB, _BATCHES,
    label="Ensemble-SeqB-NoiseY", defaults={"label_noise": 1.0},
)  # fmt: skip
linear_oae = _constructor(
    "linear_oae", "OAE with linear functions: the batch of which a plausible one promises most.", LinearOae, _BATCHES,
    label="OAE",
)  # fmt: skip
random_batches = _constructor(
    "random_batches", "Random batches without replacement, the baseline.", RandomBatch, _BATCHES, label="RandomBatch"
)


def _gp(name: str, summary: str, label: str, defaults: Mapping[str, Any] | None = None, **fixed: Any) -> Maker[BatchGP]:
    return _constructor(name, summary, BatchGP, _BATCHES, label=label, fixed=fixed, defaults=defaults)


gp_bucb = _gp(
    "gp_bucb", "GP-BUCB: upper confidence bounds with hallucinated rewards.", "GP-BUCB",
    acquisition="ucb", rule="hallucinate",
)  # fmt: skip
b_est = _gp(
    "b_est", "B-EST: an estimate of the maximum with hallucinated rewards.", "B-EST",
    acquisition="est", rule="hallucinate",
)  # fmt: skip
ucb_dpp_max = _gp("ucb_dpp_max", "UCB-DPP-MAX, which is UCB-PE.", "UCB-DPP-MAX", acquisition="ucb", rule="dpp-max")
est_dpp_max = _gp("est_dpp_max", "EST-DPP-MAX, which is EST-PE.", "EST-DPP-MAX", acquisition="est", rule="dpp-max")
ucb_dpp_sample = _gp(
    "ucb_dpp_sample", "UCB-DPP-SAMPLE: batches sampled from a determinantal point process.", "UCB-DPP-SAMPLE",
    acquisition="ucb", rule="dpp-sample",
)  # fmt: skip
est_dpp_sample = _gp(
    "est_dpp_sample", "EST-DPP-SAMPLE: batches sampled from a determinantal point process.", "EST-DPP-SAMPLE",
    acquisition="est", rule="dpp-sample",
)  # fmt: skip
lp_ucb = _gp(
    "lp_ucb", "LP-UCB: upper confidence bounds with local penalties.", "LP-UCB", {"penalty_width": 2.0},
    acquisition="ucb", rule="local-penalty",
)  # fmt: skip
thompson = _gp("thompson", "Thompson: each arm maximises its own draw from the posterior.", "Thompson", rule="thompson")

NAMES = (
    "lucb", "ugape", "m_lingape", "lingifa", "lingape", "lingape_greedy", "gse_lin", "gse_log", "gpoo", "stooo",
    "ave_stooo", "gp_tree", "grid_search", "greedy", "mean_opt", "hinge_p_norm", "max_opt", "det_d", "ensemble",
    "ensemble_noise_y", "seq_b", "ensemble_seq_b", "ensemble_seq_b_noise_y", "linear_oae", "random_batches", "gp_bucb",
    "b_est", "ucb_dpp_max", "est_dpp_max", "ucb_dpp_sample", "est_dpp_sample", "lp_ucb", "thompson",
)  # fmt: skip
