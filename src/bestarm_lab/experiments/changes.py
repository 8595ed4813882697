"""Experiments changed from outside: other series, runs, budgets, instances or settings, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from bestarm_lab.experiments.keys import describe
from bestarm_lab.experiments.scale import Budgets, PerArm

if TYPE_CHECKING:
    from bestarm_lab.experiments.computation import Computation
    from bestarm_lab.experiments.experiment import Experiment

ABSENT = object()


def changed_experiment(
    experiment: Experiment,
    *,
    series: Mapping[str, Any] | None = None,
    replications: int | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    budgets: Budgets | None = None,
    problem: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Experiment:
    """Return this experiment with some of its parts replaced; what is not named stays as it is.

    Rows whose key a change leaves alone are not simulated again: those of fewer runs, or beside a new series.
    ``replications`` are for every series in every cell, at every profile; ``vary`` adds or replaces values of settings
    of the problem; ``budgets`` are in place of the experiment's, and of those that a series has of its own;
    ``problem`` has settings of the problem, and of its stand-in where that has them; ``settings`` those of every policy
    that has them. Raises ValueError for a setting that neither has, with the list of what there is.
    """
    given = dict(experiment.series if series is None else series)
    vary, problem, settings = dict(vary or {}), dict(problem or {}), dict(settings or {})
    known = settings_with_values(experiment.problem)
    _refuse(experiment.title, "its problem has no setting", {**vary, **problem}, known)
    if twice := sorted(set(problem) & {*experiment.vary, *vary}):
        raise ValueError(f"{experiment.title} varies {', '.join(twice)}; name its values in vary, not in problem.")
    accepted = {n for one in given.values() for policy in policies_of(one) for n in settings_with_values(policy)}
    _refuse(experiment.title, "no policy has a setting", settings, accepted)
    if (
        budgets is not None
        and experiment.budgets is None
        and not any(getattr(one, "budgets", None) for one in given.values())
    ):
        raise ValueError(
            f"{experiment.title} has one run for all budgets; where its policies have a budget, it is in settings."
        )
    made = {name: with_settings_of_policy(one, settings) for name, one in given.items()}
    made = {name: _scaled(one, replications, budgets) for name, one in made.items()}
    scales = {}
    for profile, scale in experiment.profiles.items():
        kept = {name: values for name, values in scale.vary.items() if name not in vary}
        cuts = {name: value for name, value in scale.settings.items() if name not in settings}
        scale = replace(scale, vary=kept, settings=cuts, budgets=scale.budgets if budgets is None else None)
        scales[profile] = scale if replications is None else replace(scale, replications=replications, fewer={})
    stand_in = experiment.stand_in
    if stand_in is not None:
        stand_in = with_problem_settings(
            stand_in, {k: v for k, v in problem.items() if k in settings_with_values(stand_in)}
        )
    return replace(
        experiment,
        problem=with_problem_settings(experiment.problem, problem),
        stand_in=stand_in,
        series=made,
        profiles=scales,
        vary={**experiment.vary, **vary},
        budgets=experiment.budgets if budgets is None or experiment.budgets is None else budgets,
        settings={name: value for name, value in experiment.settings.items() if name not in settings},
    )


def changed_computation(
    computation: Computation, *, replications: int | None = None, settings: Mapping[str, Any] | None = None
) -> Computation:
    """Return this computation with other replications, or other settings of its function, at every profile."""
    given = dict(settings or {}) | ({} if replications is None else {"replications": replications})
    _refuse(computation.title, "its function has no setting", given, settings_with_values(computation.rows))
    profiles = {p: {k: v for k, v in s.items() if k not in given} for p, s in computation.profiles.items()}
    if replications is not None:
        profiles = {p: {**s, "replications": replications} for p, s in profiles.items()}
    fixed = {name: value for name, value in given.items() if name != "replications"}
    return replace(computation, rows=partial(computation.rows, **fixed), profiles=profiles)


def settings_with_values(made: Any) -> dict[str, Any]:
    """Return the settings of a policy, or of the constructor in a partial, with their values or ``ABSENT``."""
    if not isinstance(made, partial):
        return {name: getattr(made, name) for name in signature(type(made)).parameters}
    parameters = signature(made.func).parameters.values()
    found = {
        p.name: ABSENT if p.default is Parameter.empty else p.default for p in parameters if p.kind is not p.VAR_KEYWORD
    }
    return found | dict(zip(found, made.args, strict=False)) | made.keywords


def policies_of(series: Any) -> list[Any]:
    """Return the policies of a series: as written and, where another one stands in its place as coded, that one."""
    if not hasattr(series, "policy"):
        return [series]
    return [policy for policy in (series.policy, series.coded) if policy is not None]


def with_settings_of_policy(series: Any, settings: Mapping[str, Any], was: Any = None) -> Any:
    """Return a series whose policies have some settings replaced, with ``was`` only where a setting has that value.

    The same object is returned where nothing is replaced, so that what is as it was keeps its key.
    """
    if hasattr(series, "policy"):
        policy = with_settings_of_policy(series.policy, settings, was)
        coded = None if series.coded is None else with_settings_of_policy(series.coded, settings, was)
        alike = policy is series.policy and coded is series.coded
        return series if alike else replace(series, policy=policy, coded=coded)
    has = settings_with_values(series)
    new = {name: value for name, value in settings.items() if name in has and not same(has[name], value)}
    new = {name: value for name, value in new.items() if was is None or same(has[name], was)}
    if not new:
        return series
    return partial(series, **new) if isinstance(series, partial) else replace(series, **new)


def with_problem_settings(problem: partial[Any], settings: Mapping[str, Any]) -> partial[Any]:
    """Return a problem's constructor with the settings replaced that have other values; others leave its key alone."""
    has = settings_with_values(problem)
    new = {name: value for name, value in settings.items() if not same(has[name], value)}
    return partial(problem, **new) if new else problem


def same(old: Any, new: Any) -> bool:
    """Return whether two values of a setting are equal in what they describe; a list is equal to a tuple or range."""
    if isinstance(old, PerArm) or isinstance(new, PerArm):
        return type(old) is type(new) and tuple(old.ratios) == tuple(new.ratios)
    return old is not ABSENT and bool(describe(old) == describe(new))


def _scaled(series: Any, replications: int | None, budgets: Budgets | None) -> Any:
    if not hasattr(series, "policy"):
        return series
    if replications is not None:
        series = replace(series, replications=None, coded_replications=None)
    return series if budgets is None or series.budgets is None else replace(series, budgets=budgets)


def _refuse(title: str, words: str, given: Iterable[str], known: Iterable[str]) -> None:
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"{title}: {words} {', '.join(unknown)}; there are: {', '.join(sorted(known))}.")
