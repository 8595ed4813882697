"""A study as its package holds it: experiments in Python, claims and figures in YAML, checks and values by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pandas as pd
import yaml

from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.claims_file import check_names, check_parents, read_ledger
from bestarm_lab.claims.records import Check, Claim
from bestarm_lab.claims.robustness import OpenChoice
from bestarm_lab.experiments.changes import settings_with_values
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import PerArm
from bestarm_lab.figures.printed import read_printed
from bestarm_lab.figures.styles import Style, register_styles
from bestarm_lab.paper import Paper, read_paper
from bestarm_lab.paths import ROOT, check_project
from bestarm_lab.study_packages import files_of, has_file, package_of, read_file, sections
from bestarm_lab.yaml_keys import YamlKeys, refuse_twice, refuse_unknown


@dataclass(frozen=True)
class Study:
    """One paper's study."""

    name: str  # that of its entry point in the group ``bestarm.studies``, which names its package
    # ``EXPERIMENTS`` of its module ``experiments`` and of those of its sections
    experiments: Mapping[str, Experiment | Computation]
    claims: Mapping[str, Claim]  # those of its ``claims.yaml`` and of its sections'
    paper: Paper  # its ``paper.yaml``
    # checks, values: ``CHECKS`` and ``VALUES`` of its modules ``checks``: exact decisions, values that claims compare
    checks: Mapping[str, Check]
    values: Mapping[str, Value]
    # ``STYLES`` of its module ``styles``, if it has one: colour, marker and line style of its algorithms
    styles: Mapping[str, Style] = field(default_factory=dict)
    # its ``plan.yaml``, if it has one: of an experiment whose claims were decided more than once, with how many runs
    plan: Mapping[str, list[int]] = field(default_factory=dict)

    def experiment(self, name: str) -> Experiment | Computation:
        """Return an experiment by its name; an unknown one is a ValueError with all that there are."""
        if name not in self.experiments:
            raise ValueError(f"unknown experiment {name!r} of {self.name}; it has: {', '.join(self.experiments)}.")
        return self.experiments[name]


@cache
def load_study(name: str) -> Study:
    """Return a study by its name.

    Raises ValueError for an unknown name, if a profile cuts a setting that no policy of the study has, or if
    ``claims.yaml``, ``paper.yaml`` or ``printed.yaml`` names what there is not.
    """
    experiments = _gathered(name, "experiments", "EXPERIMENTS")
    _check_settings(name, experiments)
    checks, values = (_gathered(name, "checks", variable) for variable in ("CHECKS", "VALUES"))
    claims: dict[str, Claim] = {}
    groups: dict[str, Any] = {}
    grids = {key: grid_of(experiment) for key, experiment in experiments.items()}
    for notebook, file in files_of(name, "claims.yaml"):
        place = f"{name}/{file}"
        found, own = read_ledger(read_file(name, file), checks, values, place, groups, notebook, grids)
        refuse_twice(place, "claim", found, claims)
        claims |= found
        groups = groups if notebook else own
    check_parents(claims, f"{name}/claims.yaml")
    check_names(claims, experiments, f"{name}/claims.yaml")
    paper = read_paper(read_file(name, "paper.yaml"), f"{name}/paper.yaml")
    plan = _read_plan(name, experiments)
    styles = load_styles(name)
    series = {label for e in experiments.values() if isinstance(e, Experiment) for label in e.series} | set(styles)
    for rows in load_printed(name).values():
        refuse_unknown(f"{name}/printed.yaml", "series", rows["series"], series)
    return Study(name, experiments, claims, paper, checks, values, styles, plan)


def grid_of(experiment: Experiment | Computation) -> dict[str, Sequence[Any]]:
    """Return the values of every setting that an experiment varies: of its problem, and ``budget`` or ``per_arm``."""
    if isinstance(experiment, Computation):
        return {}
    given = experiment.budgets
    budgets = {"per_arm": given.ratios} if isinstance(given, PerArm) else {} if given is None else {"budget": given}
    return {**experiment.vary, **budgets}


def _gathered(name: str, module: str, variable: str) -> dict[str, Any]:
    """Return what the modules of one name define, of the study itself and then of its sections in order."""
    package = package_of(name)
    gathered: dict[str, Any] = {}
    for place in (package, *(f"{package}.{folder}" for folder in sections(name).values())):
        if find_spec(place) is None or find_spec(f"{place}.{module}") is None:
            continue
        found = getattr(import_module(f"{place}.{module}"), variable, {})
        refuse_twice(f"{place}.{module}", variable, found, gathered)
        gathered |= found
    return gathered


def _read_plan(name: str, experiments: Mapping[str, Experiment | Computation]) -> dict[str, list[int]]:
    """Return of each experiment with several looks at its claims how many runs there were."""
    if not has_file(name, "plan.yaml"):
        return {}
    given = YamlKeys(f"{name}/plan.yaml", read_file(name, "plan.yaml"))
    plan: dict[str, list[int]] = given.take("looks", dict)
    given.done()
    refuse_unknown(f"{name}/plan.yaml, looks", "experiment", plan, experiments)
    for experiment, runs in plan.items():
        if not isinstance(runs, list) or len(runs) < 2 or sorted(set(runs)) != runs:
            place = f"{name}/plan.yaml, looks, {experiment}"
            raise ValueError(f"{place}: expected growing numbers of runs, such as [25, 100]; got {runs!r}.")
    return plan


def open_choices(name: str) -> tuple[OpenChoice, ...]:
    """Return ``CHOICES`` of a study's module ``robustness``, if it has one: what its paper leaves open."""
    module = f"{package_of(name)}.robustness"
    return tuple(import_module(module).CHOICES) if find_spec(module) else ()


@cache
def load_styles(name: str) -> Mapping[str, Style]:
    """Return the styles of a study's algorithms, and have figures know them; the study itself is not loaded."""
    package = package_of(name)
    styles: Mapping[str, Style] = import_module(f"{package}.styles").STYLES if find_spec(f"{package}.styles") else {}
    register_styles(styles)
    return styles


@cache
def load_printed(name: str) -> Mapping[str, pd.DataFrame]:
    """Return the values that a study's paper prints, by figure; the study itself is not loaded."""
    if not has_file(name, "printed.yaml"):
        return {}
    shown = read_paper(read_file(name, "paper.yaml"), f"{name}/paper.yaml").figures.values()
    figures = [f"{figure.notebook}/{figure.file}" for figure in shown]
    return read_printed(read_file(name, "printed.yaml"), f"{name}/printed.yaml", figures)


def _check_settings(name: str, experiments: Mapping[str, Experiment | Computation]) -> None:
    """Refuse settings that no policy of the study has; experiments may share profiles."""
    searches = {key: e for key, e in experiments.items() if isinstance(e, Experiment)}
    policies = [getattr(series, "policy", series) for e in searches.values() for series in e.series.values()]
    known = {setting for policy in policies for setting in settings_with_values(policy)}
    for key, e in searches.items():
        if unknown := sorted(set(e.settings).union(*(scale.settings for scale in e.profiles.values())) - known):
            raise ValueError(f"{name}, {key}: no policy has a setting {', '.join(unknown)}.")


@cache
def project_seed() -> int:
    """Return the seed in ``params.yaml``; a ValueError where there is no project."""
    check_project("a study")
    return int(yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["seed"])
