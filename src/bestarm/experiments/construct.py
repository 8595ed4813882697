"""From what a ledger writes to problems, policies and series of them."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from bestarm.interface import Policy, Problem

Convention = Literal["as_written", "as_coded"]


@dataclass(frozen=True)
class Series:
    """One curve or box: a policy under one convention.

    Attributes
    ----------
    label : str
        Name in the figure.
    convention : {"as_written", "as_coded"}
        Whose algorithm it is: the paper's, or its code's.
    policy : Policy
        What searches.
    problem, problem_spec : Problem and dict, optional
        What is searched and how the ledger writes it, where that is not the experiment's own.
    budget : int, optional
        The budget that the policy was given, where a curve is made of one run for each budget.
    cell : dict
        The settings of the problem that the experiment varies, and their values here.
    instance : str, optional
        Name of the instance, which keys the noise, where it is not that of the experiment's problem.
    n_replications : int, optional
        Replications, where they are fewer than the experiment's.
    """

    label: str
    convention: Convention
    policy: Policy[Any]
    problem: Problem | None = None
    problem_spec: dict[str, Any] | None = None
    budget: int | None = None
    cell: dict[str, Any] = field(default_factory=dict)
    instance: str | None = None
    n_replications: int | None = None

    @property
    def problem_deviates(self) -> bool:
        """Whether the problem itself has named deviations of the authors' code."""
        return self.convention == "as_coded" and hasattr(self.problem, "as_coded")


def construct(spec: dict[str, Any], room: str) -> Any:
    """Call the function that ``make: module.function`` names in a room of the package, with the other settings."""
    settings = dict(spec)
    module_name, _, function_name = str(settings.pop("make", "")).partition(".")
    function = _find(room, module_name, function_name)
    accepted = accepted_settings(spec, room)
    if not any(p.kind is p.VAR_KEYWORD for p in accepted.values()):
        unknown = sorted(set(settings) - set(accepted))
        if unknown:
            raise ValueError(
                f"{room}.{module_name}.{function_name} has no setting {', '.join(unknown)}; "
                f"it has: {', '.join(accepted)}."
            )
    try:
        return function(**settings)
    except TypeError as error:
        raise ValueError(f"{room}.{module_name}.{function_name}: {error}; settings were {settings}.") from error


def accepted_settings(spec: Mapping[str, Any], room: str) -> Mapping[str, inspect.Parameter]:
    """Return the settings of the function that ``make: module.function`` names."""
    module_name, _, function_name = str(spec.get("make", "")).partition(".")
    return inspect.signature(_find(room, module_name, function_name)).parameters


def _find(room: str, module_name: str, function_name: str) -> Callable[..., Any]:
    try:
        module = importlib.import_module(f"bestarm.{room}.{module_name}")
    except ModuleNotFoundError as error:
        raise ValueError(f"unknown module {module_name!r} in {room}: {error}.") from error
    public = {
        name: value
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    }
    if function_name not in public:
        raise ValueError(
            f"unknown name {function_name!r} in {room}.{module_name}; it has: {', '.join(sorted(public))}."
        )
    return public[function_name]


@lru_cache(maxsize=64)
def _problem(spec: str, convention: Convention) -> Problem:
    problem = construct(json.loads(spec), "problems")
    deviates = convention == "as_coded" and hasattr(problem, "as_coded")
    return problem.as_coded() if deviates else problem


def make_series(
    label: str,
    convention: Convention,
    settings: Mapping[str, Any],
    problem_spec: Mapping[str, Any],
    scale: Mapping[str, Any],
    cell: Mapping[str, Any] | None = None,
    draws: str = "",
) -> list[Series]:
    """Return the series that one line of a ledger describes, in one cell: one, or one for each budget.

    Parameters
    ----------
    label, convention : str
        See `Series`.
    settings : mapping
        ``make`` and the policy's settings. ``problem`` holds settings in which this series' problem differs from the
        experiment's; ``budgets: [first, last]`` asks for one run for each budget, ``budgets: {at: [...]}`` for some,
        ``budgets: {per_arm: [...]}`` for multiples of the problem's ``n_arms``; ``within: {n_arms: 16}`` leaves out
        cells with more; ``replications`` are this series', where they are fewer;
        ``as_coded`` holds settings that replace others under that convention.
    problem_spec : mapping
        The experiment's problem.
    scale : mapping
        The profile; its ``budgets`` replace those of the settings, its ``fewer: {n_arms: {64: 200}}`` are the
        replications of cells with at least so much of a setting; its ``settings`` replace those of every policy that
        has them, so that what costs time (steps, rounds) can be cut.
    cell : mapping, optional
        Settings of the problem in this cell of the experiment's ``vary``.
    draws : str
        Added to the name of the instance: other noise for a tuning run.

    Raises
    ------
    ValueError
        For an unknown name or setting, or budgets per arm of a problem without ``n_arms``.
    """
    cell = dict(cell or {})
    settings = {"label": label} | dict(settings)
    settings |= {k: v for k, v in scale.get("settings", {}).items() if k in accepted_settings(settings, "policies")}
    published = settings.pop("as_coded", {})
    if convention == "as_coded":
        settings |= published
    within = settings.pop("within", {})
    unknown = sorted(set(within) - {*problem_spec, *cell})
    if unknown:
        raise ValueError(f"within: the problem has no setting {', '.join(unknown)}; it has: {', '.join(problem_spec)}.")
    if any({**problem_spec, **cell}[name] > most for name, most in within.items()):
        return []
    most_runs = [settings.pop("replications")] if "replications" in settings else []
    own = settings.pop("problem", {})
    spec = {**problem_spec, **cell, **own}
    budgets = settings.pop("budgets", None)
    if budgets is not None:
        budgets = _budgets(scale.get("budgets", budgets), spec)
    instance = None
    if cell or draws:
        base = _problem(json.dumps({**problem_spec, **cell}, sort_keys=True), "as_written")
        instance = f"{base.label} {draws}".strip()
    fewer = most_runs + [
        n for name, steps in scale.get("fewer", {}).items() for at, n in steps.items() if cell.get(name, 0) >= at
    ]
    problem = _problem(json.dumps(spec, sort_keys=True), convention)
    found = []
    for budget in budgets or [None]:
        policy = construct(settings if budget is None else settings | {"budget": int(budget)}, "policies")
        policy = policy if convention == "as_written" else policy.as_coded()
        found.append(
            Series(label, convention, policy, problem, spec, budget, cell, instance, min(fewer) if fewer else None)
        )
    return found


def _budgets(asked: Any, spec: Mapping[str, Any]) -> Sequence[int]:
    if not isinstance(asked, Mapping):
        return range(asked[0], asked[1] + 1)
    if "per_arm" not in asked:
        return list(asked["at"])
    if "n_arms" not in spec:
        raise ValueError(f"budgets per arm need a problem with n_arms; its settings are {', '.join(spec)}.")
    return [int(ratio * spec["n_arms"]) for ratio in asked["per_arm"]]
