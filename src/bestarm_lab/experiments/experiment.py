"""Experiments as a study writes them in Python: a problem, the policies that search it, and a scale for each profile.

The module ``experiments`` of a study builds `Experiment` objects from functions and dataclasses. Nothing is constructed
before rows are asked for; then every series becomes parts, one for each cell and budget, each with the key under which
its rows are stored. Rows that are no plain search are made by `bestarm_lab.experiments.computation`.
"""

import inspect
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, get_args

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.simulate import MAX_PULLS, simulate
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import DataUnavailable, checksums
from bestarm_lab.experiments.changes import changed_experiment, settings_with_values
from bestarm_lab.experiments.definitions import code_digest
from bestarm_lab.experiments.keys import Part, data_files, describe, digest, qualified
from bestarm_lab.experiments.scale import (
    Budgets,
    PerArm,
    Profile,
    Scale,
    at_profile,
    check_budgets,
    check_counts,
    check_profiles,
)
from bestarm_lab.experiments.series import Convention, Series, algorithm_and_change

Metric = Callable[[Any, Any], FloatArray]


@dataclass(frozen=True)
class Cell:
    """One series in one cell, at one budget."""

    series: str
    convention: Convention
    policy: Any
    problem: partial[Any]
    base: partial[Any]
    where: dict[str, Any]
    budget: int | None
    replications: int
    max_pulls: int

    def build(self) -> Any:
        """Return the problem that is searched, with the deviations of the authors' code if it has any."""
        return _build(self.problem, self.convention)


@dataclass(frozen=True)
class Experiment:
    """Searches of a problem by policies."""

    title: str  # in a figure's words
    problem: partial[Any]  # the problem's constructor with its settings
    series: Mapping[str, Any]  # in the order of the figure
    profiles: Mapping[Profile, Scale]  # ``smoke``, ``laptop`` and, where it differs from ``laptop``, ``paper``
    metrics: Sequence[Metric] = ()  # from (problem, recommended) to one value a replication, see `bestarm_lab.metrics`
    # {"as_written", "as_coded"}: whose algorithms: the paper's text, the authors' code
    conventions: Sequence[Convention] = ("as_written",)
    stand_in: partial[Any] | None = None  # the problem where nobody has the data
    # a cell for every combination of these settings of the problem; rows have a column for each
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    budgets: Budgets | None = None  # one run for each budget; rows have a column ``budget``
    settings: Mapping[str, Any] = field(default_factory=dict)  # settings of every policy that has them
    every: int | None = None  # record each replication every so many rounds as well; rows have a column ``budget``
    # from (policy, problem) to an observer, see `bestarm.observe`; rows have its ``columns``. It may end runs, and adds
    # then by ``closed`` the rows that stand for what was not searched
    observe: Any = None
    block: int = 250  # block, max_pulls: runs in one block; where a run is cut
    max_pulls: int = MAX_PULLS
    draws: str = ""  # added to the name of the instance: other noise, for tuning

    def __post_init__(self) -> None:
        check_profiles(self.title, self.profiles)
        if unknown := ", ".join(sorted(set(self.conventions) - set(get_args(Convention)))):
            raise ValueError(f"{self.title}: a convention is {' or '.join(get_args(Convention))}, got {unknown}.")
        if not self.series:
            raise ValueError(f"{self.title}: an experiment needs at least one series.")
        check_counts(self, "block", "max_pulls", "every")
        check_budgets(self.budgets)
        if empty := [name for name, values in self.vary.items() if len(values) == 0]:
            raise ValueError(f"{self.title}: vary gives no value for {', '.join(empty)}; leave it out or name some.")

    changed = changed_experiment
    measured: ClassVar[bool] = False  # rows of searches are never kept whatever the code, as those of a computation may

    def scale(self, profile: Profile) -> Scale:
        """Return the scale of a profile; ``paper`` is ``laptop`` where nothing else is said."""
        return at_profile(self.profiles, profile)

    def same_scale(self, profile: Profile, other: Profile) -> bool:
        """Return whether two profiles that an experiment distinguishes run the same searches equally often."""
        if other not in self.profiles:
            return False
        names = ("series", "convention", "policy", "problem", "where", "budget", "replications", "max_pulls")
        of_each = [[describe([getattr(c, name) for name in names]) for c in self.cells(p)] for p in (profile, other)]
        return of_each[0] == of_each[1]

    def on_data(self) -> "Experiment":
        """Return this experiment on its data or, where nobody has them (DataUnavailable), its stand-in."""
        if self.stand_in is None:
            self.first_problem()
            return self
        return self if self.has_data() else replace(self, problem=self.stand_in, stand_in=None)

    def has_data(self) -> bool:
        """Return whether its problem can be made here: not where it is on real data that nobody has."""
        try:
            self.first_problem()
        except DataUnavailable:
            return False
        return True

    def first_problem(self) -> Any:
        """Return the problem of its first cell, as written."""
        first = {name: values[0] for name, values in self.vary.items()}
        return _build(with_settings(self.problem, first), "as_written")

    def parts(self, profile: Profile, seed: int, workers: int = 1) -> list[Part]:
        """Return what has to be stored for one profile, in the order of the rows."""
        return [_part(self, cell, seed) for cell in self.cells(profile)]

    def cells(self, profile: Profile) -> list[Cell]:
        """Return every series in every cell, with every budget."""
        scale = self.scale(profile)
        varied = {name: scale.vary.get(name, values) for name, values in self.vary.items()}
        settings = [dict(zip(varied, values, strict=True)) for values in itertools.product(*varied.values())]
        return [
            cell
            for convention in self.conventions
            for (name, series), where in itertools.product(self.series.items(), settings)
            for cell in self._cells(name, series, convention, where, scale)
        ]

    def _cells(
        self, name: str, given: Any, convention: Convention, where: dict[str, Any], scale: Scale
    ) -> Iterator[Cell]:
        series = given if isinstance(given, Series) else Series(given)
        base = with_settings(self.problem, where)
        coded = convention == "as_coded"
        if series.conventions is not None and convention not in series.conventions:
            return
        within = {**series.within, **series.coded_within} if coded else series.within
        if unknown := ", ".join(sorted(set(within) - set(base.keywords))):
            has = ", ".join(base.keywords)
            raise ValueError(f"{self.title}, {name}: within names {unknown}; the problem has: {has}.")
        if any(base.keywords[setting] > most for setting, most in within.items()):
            return
        problem = with_settings(base, {**scale.problem, **series.problem})
        made = series.coded if coded and series.coded is not None else series.policy
        label = series.label or algorithm_and_change(name)[0]
        cuts = {k: v for k, v in {**self.settings, **scale.settings}.items() if k in settings_of(made)}
        budgets = series.budgets if series.budgets is not None else self.budgets
        if budgets is not None and scale.budgets is not None:
            budgets = scale.budgets
        runs = [scale.replications, *filter(None, [series.replications, series.coded_replications if coded else None])]
        runs += [n for setting, steps in scale.fewer.items() for at, n in steps.items() if where.get(setting, 0) >= at]
        for budget in [None] if budgets is None else _budgets(budgets, problem):
            own = {"label": label, **cuts} | ({} if budget is None else {"budget": budget})
            policy = made(**own) if isinstance(made, partial) else replace(made, **own)
            yield Cell(
                series=name,
                convention=convention,
                policy=policy.as_coded() if coded else policy,
                problem=problem,
                base=base,
                where=where,
                budget=budget,
                replications=min(runs),
                max_pulls=scale.max_pulls or self.max_pulls,
            )

    def measured_columns(self) -> list[str]:
        """Return the columns of its metrics and of its observer."""
        observed = () if self.observe is None else getattr(self.observe, "func", self.observe).columns
        return [*(metric.__name__ for metric in self.metrics), *observed]

    def instance(self, cell: Cell) -> str:
        """Return the name of the instance, which keys the noise: series compared in a cell share it."""
        return f"{_build(cell.base, 'as_written').label} {self.draws}".strip()


def with_settings(problem: partial[Any], settings: Mapping[str, Any]) -> partial[Any]:
    """Return a problem's constructor with some settings replaced; a ValueError names one that it has not."""
    accepted = inspect.signature(problem.func).parameters
    if unknown := sorted(set(settings) - set(accepted)):
        raise ValueError(f"{problem.func.__name__} has no setting {', '.join(unknown)}; it has: {', '.join(accepted)}.")
    return partial(problem.func, *problem.args, **{**problem.keywords, **settings})


def settings_of(policy: Any) -> set[str]:
    """Return the names of the settings of a policy, or of the constructor in a partial."""
    return set(settings_with_values(policy))


def _budgets(budgets: Budgets, problem: partial[Any]) -> list[int]:
    if not isinstance(budgets, PerArm):
        return [int(b) for b in budgets]
    if "n_arms" not in problem.keywords:
        raise ValueError(f"budgets per arm need a setting n_arms; the problem has: {', '.join(problem.keywords)}.")
    return [int(ratio * problem.keywords["n_arms"]) for ratio in budgets.ratios]


def _build(problem: partial[Any], convention: Convention) -> Any:
    text = json.dumps([qualified(problem.func), describe(problem.keywords)], sort_keys=True)
    return _built(_Constructor(text, problem), convention)


@dataclass(frozen=True)
class _Constructor:
    """A problem's constructor, equal to another with the same settings, for the cache of built problems."""

    text: str
    problem: partial[Any] = field(compare=False)


@lru_cache(maxsize=64)
def _built(constructor: _Constructor, convention: Convention) -> Any:
    problem = constructor.problem()
    return problem.as_coded() if convention == "as_coded" and hasattr(problem, "as_coded") else problem


def _part(experiment: Experiment, cell: Cell, seed: int) -> Part:
    problem = cell.build()
    data = getattr(problem, "data", "synthetic")
    instance = experiment.instance(cell)
    every = experiment.every if cell.budget is None else None
    deviates = cell.convention == "as_coded" and hasattr(problem, "as_coded")
    specification = {
        "problem": [qualified(cell.problem.func), describe(cell.problem.keywords), deviates],
        "instance": instance,
        "data": checksums(*data_files(cell.problem, data)),
        "policy": describe(cell.policy),
        "metrics": [m.__name__ for m in experiment.metrics],
        "every": every,
        "max_pulls": cell.max_pulls,
        "block": experiment.block,
        "seed": seed,
        "observer": describe(experiment.observe),
    }
    columns: dict[str, Any] = {"convention": cell.convention, "series": cell.series, **cell.where}
    if cell.budget is not None:
        columns["budget"] = cell.budget
    return Part(
        settings=digest(specification),
        code=code_digest(simulate, Streams, cell.problem, cell.policy, experiment.metrics, experiment.observe),
        columns=columns | {"data": data},
        replications=cell.replications,
        block=experiment.block,
        compute=partial(_search, experiment, cell, instance, every, seed),
        wanted=("replication", "round", "pulls", "stopped", *experiment.measured_columns()),
    )


def _search(
    experiment: Experiment, cell: Cell, instance: str, every: int | None, seed: int, start: int, stop: int
) -> pd.DataFrame:
    replications = np.arange(start, stop, dtype=np.int64)
    problem, policy = cell.build().take(replications), cell.policy
    if experiment.observe is not None:
        policy = experiment.observe(policy, problem)
    streams, metrics = Streams(seed, instance, replications), {m.__name__: m for m in experiment.metrics}
    rows = simulate(policy, problem, streams, metrics=metrics, max_pulls=cell.max_pulls, every=every)
    if experiment.observe is not None:
        found = policy.findings(replications)
        rows = rows.merge(found, "left", [c for c in ("replication", "round") if c in found], validate="one_to_one")
        if hasattr(policy, "closed"):  # the observer ends runs, and knows how their rows go on
            rows = policy.closed(rows)
    if experiment.every is not None and cell.budget is None:
        rows.insert(0, "budget", rows["pulls"])
    return rows
