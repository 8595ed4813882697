"""Experiments changed from outside: other series, runs, budgets, instances or settings, by name.

A changed parameter of a notebook is known by its name: ``replications``, ``budgets``, ``pulls_per_arm`` (budgets as
multiples of the number of arms), a setting of the problem, of the policies, or of the function of a computation. It
changes an experiment only where that has the published value, so that one with a noise of its own keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from functools import partial
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, get_type_hints

from bestarm.settings import is_number
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
    for name, one in given.items():
        if not all(isinstance(policy, partial) or hasattr(policy, "ask") for policy in policies_of(one)):
            raise ValueError(f"{experiment.title}: the series {name!r} is {one!r}; give a policy.")
    for name, values in {**vary, "budgets": getattr(budgets, "ratios", () if budgets is None else budgets)}.items():
        _refuse_no_list(experiment.title, name, values)
    known = settings_with_values(experiment.problem)
    _refuse(experiment.title, "its problem has no setting", {**vary, **problem}, known)
    hints = get_type_hints(experiment.problem.func) if isinstance(experiment.problem, partial) else {}
    for name, value in (*problem.items(), *((name, v) for name, values in vary.items() for v in values)):
        if hints.get(name) in (int, float) and not is_number(value):
            raise ValueError(f"{experiment.title}: {name} must be a number, got {value!r}.")
    if twice := sorted(set(problem) & {*experiment.vary, *vary}):
        raise ValueError(f"{experiment.title} varies {', '.join(twice)}; name its values in vary, not in problem.")
    accepted = {n for one in given.values() for policy in policies_of(one) for n in settings_with_values(policy)}
    _refuse(experiment.title, "no policy has a setting", settings, accepted)
    if "budget" in settings and experiment.budgets is not None:
        raise ValueError(f"{experiment.title} has budgets; name them in budgets, not in settings.")
    unlimited = experiment.budgets is None and not any(getattr(one, "budgets", None) for one in given.values())
    if budgets is not None and unlimited:
        raise ValueError(
            f"{experiment.title} has one run for all budgets; where its policies have a budget, it is in settings."
        )
    made = {name: _scaled(with_new_settings(one, settings), replications, budgets) for name, one in given.items()}
    scales = {}
    for profile, scale in experiment.profiles.items():
        kept = {name: values for name, values in scale.vary.items() if name not in vary}
        cuts = {name: value for name, value in scale.settings.items() if name not in settings}
        scale = replace(scale, vary=kept, settings=cuts, budgets=scale.budgets if budgets is None else None)
        scales[profile] = scale if replications is None else replace(scale, replications=replications, fewer={})
    return replace(
        experiment,
        problem=with_new_settings(experiment.problem, problem),
        stand_in=None if experiment.stand_in is None else with_new_settings(experiment.stand_in, problem),
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
    parameters = [p for p in signature(made.func).parameters.values() if p.kind is not p.VAR_KEYWORD]
    found = {p.name: ABSENT if p.default is Parameter.empty else p.default for p in parameters}
    return found | dict(zip(found, made.args, strict=False)) | made.keywords


def policies_of(series: Any) -> list[Any]:
    """Return the policies of a series: as written and, where another one stands in its place as coded, that one."""
    if not hasattr(series, "policy"):
        return [series]
    return [policy for policy in (series.policy, series.coded) if policy is not None]


def with_new_settings(series: Any, settings: Mapping[str, Any], was: Any = None) -> Any:
    """Return a series, a policy or a problem's constructor with those settings replaced that it has.

    With ``was`` they are replaced only where a setting has that value; of a series those of its policies are replaced.
    The same object is returned where nothing is replaced, so that what is as it was keeps its key.
    """
    if hasattr(series, "policy"):
        policy = with_new_settings(series.policy, settings, was)
        coded = None if series.coded is None else with_new_settings(series.coded, settings, was)
        alike = policy is series.policy and coded is series.coded
        return series if alike else replace(series, policy=policy, coded=coded)
    has = settings_with_values(series)
    new = {k: v for k, v in settings.items() if k in has and not same(has[k], v) and _was(has[k], was)}
    if not new:
        return series
    return partial(series, **new) if isinstance(series, partial) else replace(series, **new)


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


def _refuse_no_list(title: str, name: str, values: Any) -> None:
    """Refuse values of a setting that are no list, or name one twice, which would count its runs twice."""
    if isinstance(values, str) or not isinstance(values, Iterable) or any(isinstance(v, list | dict) for v in values):
        raise ValueError(f"{title}: {name} must be a list of values, such as [8, 16], got {values!r}.")
    known = list(values)
    if twice := [value for place, value in enumerate(known) if value in known[:place]]:
        raise ValueError(f"{title}: {name} has {twice[0]!r} twice; name each value once.")


def _refuse(title: str, words: str, given: Iterable[str], known: Iterable[str]) -> None:
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"{title}: {words} {', '.join(unknown)}; there are: {', '.join(sorted(known))}.")


def with_parameters(
    experiment: Experiment | Computation, changed: Mapping[str, Any], published: Mapping[str, Any]
) -> Experiment | Computation:
    """Return an experiment with the changed parameters of a notebook, the same object where none concerns it."""
    make = _with_parameter if hasattr(experiment, "series") else _computation_with_parameter
    for name, value in changed.items():
        if value is None and published.get(name) is None:
            continue  # each experiment keeps its own value
        experiment = make(experiment, name, value, published.get(name))  # type: ignore[arg-type]
    return experiment


def _with_parameter(experiment: Experiment, name: str, value: Any, was: Any) -> Experiment:
    scales = experiment.profiles.values()
    if name == "replications":
        if not any(_was(scale.replications, was) for scale in scales):
            return experiment
        fewer = settings_with_values(experiment.problem).get("replications", value)
        more = {} if value <= fewer else {"replications": value}  # a problem may be made for so many runs
        return experiment.changed(replications=value, problem=more)
    if name in ("budgets", "pulls_per_arm"):
        per_arm = isinstance(experiment.budgets, PerArm)
        if experiment.budgets is None or per_arm != (name == "pulls_per_arm"):
            return experiment
        now = experiment.budgets.ratios if isinstance(experiment.budgets, PerArm) else experiment.budgets
        given = PerArm(tuple(value)) if per_arm else tuple(value)
        return experiment.changed(budgets=given) if _was(now, was) else experiment
    if name in experiment.vary:
        values = [experiment.vary[name], *(scale.vary[name] for scale in scales if name in scale.vary)]
        return experiment.changed(vary={name: value}) if any(_was(v, was) for v in values) else experiment
    known = settings_with_values(experiment.problem)
    if name in known and _was(known[name], was):
        experiment = experiment.changed(problem={name: value})
    cuts = [held[name] for held in (experiment.settings, *(s.settings for s in scales)) if name in held]
    if any(_was(cut, was) for cut in cuts):
        policies = [policy for one in experiment.series.values() for policy in policies_of(one)]
        has = any(name in settings_with_values(policy) for policy in policies)  # one without networks has no steps
        return experiment.changed(settings={name: value}) if has else experiment
    series = {key: with_new_settings(one, {name: value}, was) for key, one in experiment.series.items()}
    alike = all(one is experiment.series[key] for key, one in series.items())
    return experiment if alike else experiment.changed(series=series)


def _computation_with_parameter(computation: Computation, name: str, value: Any, was: Any) -> Computation:
    known = settings_with_values(computation.rows)
    values = [known[name]] if name in known else []
    values += [settings[name] for settings in computation.profiles.values() if name in settings]
    if values:
        change: Any = {name: value} if name == "replications" else {"settings": {name: value}}
        return computation.changed(**change) if any(_was(v, was) for v in values) else computation
    new = {key: _within(held, name, value, was) for key, held in computation.rows.keywords.items()}
    new = {key: held for key, held in new.items() if held is not computation.rows.keywords[key]}
    return computation.changed(settings=new) if new else computation


def _within(held: Any, name: str, value: Any, was: Any) -> Any:
    """Return a problem, a policy, or several of them, with one setting changed; the same object if none has it."""
    if isinstance(held, partial) or (is_dataclass(held) and not isinstance(held, type)):
        return with_new_settings(held, {name: value}, was)
    if isinstance(held, Mapping):
        found: Any = {key: _within(one, name, value, was) for key, one in held.items()}
        return held if all(found[key] is one for key, one in held.items()) else found
    if type(held) in (list, tuple):
        parts = [_within(one, name, value, was) for one in held]
        return held if all(a is b for a, b in zip(parts, held, strict=True)) else type(held)(parts)
    return held


def _was(now: Any, was: Any) -> bool:
    return was is None or same(now, was)
