"""Changed parameters of a notebook, applied to each of its experiments.

A parameter is known by its name: ``replications``, ``budgets``, ``pulls_per_arm`` (budgets as multiples of the
number of arms), a setting of the problem, of the policies, or of the function of a computation. It changes an
experiment only where that has the published value, so that an experiment which makes a point of another noise keeps it.
"""

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import partial
from typing import Any

from bestarm_lab.experiments.changes import policies_of, same, settings_with_values, with_settings_of_policy
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import PerArm


def with_parameters(
    experiment: Experiment | Computation, changed: Mapping[str, Any], published: Mapping[str, Any]
) -> Experiment | Computation:
    """Return an experiment with the changed parameters of a notebook, the same object where none concerns it."""
    make = _computation if isinstance(experiment, Computation) else _experiment
    for name, value in changed.items():
        if value is None and published.get(name) is None:
            continue  # each experiment keeps its own value
        experiment = make(experiment, name, value, published.get(name))  # type: ignore[arg-type]
    return experiment


def _experiment(experiment: Experiment, name: str, value: Any, was: Any) -> Experiment:
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
        has = any(
            name in settings_with_values(policy) for policy in policies
        )  # searches without networks have no steps
        return experiment.changed(settings={name: value}) if has else experiment
    series = {key: with_settings_of_policy(one, {name: value}, was) for key, one in experiment.series.items()}
    alike = all(one is experiment.series[key] for key, one in series.items())
    return experiment if alike else experiment.changed(series=series)


def _computation(computation: Computation, name: str, value: Any, was: Any) -> Computation:
    known = settings_with_values(computation.rows)
    values = [known[name]] if name in known else []
    values += [settings[name] for settings in computation.profiles.values() if name in settings]
    if values:
        if not any(_was(v, was) for v in values):
            return computation
        if name == "replications":
            return computation.changed(replications=value)
        return computation.changed(settings={name: value})
    new = {key: _within(held, name, value, was) for key, held in computation.rows.keywords.items()}
    new = {key: held for key, held in new.items() if held is not computation.rows.keywords[key]}
    return computation.changed(settings=new) if new else computation


def _within(held: Any, name: str, value: Any, was: Any) -> Any:
    """Return a problem, a policy, or several of them, with one setting changed; the same object if none has it."""
    if isinstance(held, partial) or (is_dataclass(held) and not isinstance(held, type)):
        return with_settings_of_policy(held, {name: value}, was)
    if isinstance(held, Mapping):
        found: Any = {key: _within(one, name, value, was) for key, one in held.items()}
        return held if all(found[key] is one for key, one in held.items()) else found
    if type(held) in (list, tuple):
        parts = [_within(one, name, value, was) for one in held]
        return held if all(a is b for a, b in zip(parts, held, strict=True)) else type(held)(parts)
    return held


def _was(now: Any, was: Any) -> bool:
    return was is None or same(now, was)
