"""A study as its package holds it: experiments in Python, claims and figures in YAML, checks and values by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import pandas as pd
import yaml

from bestarm.plugins import entry_points
from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.claim import Check, Claim
from bestarm_lab.claims.ledger import read_ledger
from bestarm_lab.claims.names import check_names
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment, settings_of
from bestarm_lab.figures.looks import Look, know_looks
from bestarm_lab.figures.printed import read_printed
from bestarm_lab.given import Given, read_yaml, refuse_unknown
from bestarm_lab.paper import Paper, read_paper
from bestarm_lab.paths import ROOT


@dataclass(frozen=True)
class Study:
    """One paper's study.

    Attributes
    ----------
    name : str
        That of its entry point in the group ``bestarm.studies``, which names its package.
    experiments : mapping of str to Experiment or Computation
        ``EXPERIMENTS`` of its module ``experiments``.
    claims : mapping of str to Claim
        Its ``claims.yaml``.
    paper : Paper
        Its ``paper.yaml``.
    checks, values : mapping of str to Check and Value
        ``CHECKS`` and ``VALUES`` of its module ``checks``: exact decisions, and values that claims compare.
    looks : mapping of str to Look
        ``LOOKS`` of its module ``looks``, if it has one: colour, marker and line style of its algorithms.
    printed : mapping of str to DataFrame
        Its ``printed.yaml``, if it has one: by figure, the values that the paper prints.
    plan : mapping of str to list of int
        Its ``plan.yaml``, if it has one: of an experiment whose claims were decided more than once, with how many runs.
    """

    name: str
    experiments: Mapping[str, Experiment | Computation]
    claims: Mapping[str, Claim]
    paper: Paper
    checks: Mapping[str, Check]
    values: Mapping[str, Value]
    looks: Mapping[str, Look] = field(default_factory=dict)
    printed: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    plan: Mapping[str, list[int]] = field(default_factory=dict)

    def experiment(self, name: str) -> Experiment | Computation:
        """Return an experiment by its name.

        Raises
        ------
        ValueError
            For an unknown name, with the list of what there is.
        """
        if name not in self.experiments:
            raise ValueError(f"unknown experiment {name!r} of {self.name}; it has: {', '.join(self.experiments)}.")
        return self.experiments[name]


def study_names() -> list[str]:
    """Return the names of the studies of every installed distribution, in alphabetical order."""
    return sorted(entry_points("bestarm.studies"))


@cache
def load_study(name: str) -> Study:
    """Return a study by its name.

    Raises
    ------
    ValueError
        For an unknown name, if a profile cuts a setting that no policy of the study has, or if ``claims.yaml``,
        ``paper.yaml`` or ``printed.yaml`` names what there is not.
    """
    if name not in study_names():
        raise ValueError(f"unknown study {name!r}; there are: {', '.join(study_names())}.")
    package = entry_points("bestarm.studies")[name].value
    experiments = import_module(f"{package}.experiments").EXPERIMENTS
    _check_settings(name, experiments)
    checks = import_module(f"{package}.checks")
    claims = read_ledger(_written(name, "claims.yaml"), checks.CHECKS, checks.VALUES, f"{name}/claims.yaml")
    check_names(claims, experiments, f"{name}/claims.yaml")
    paper = read_paper(_written(name, "paper.yaml"), f"{name}/paper.yaml")
    plan = _read_plan(name, experiments)
    looks, printed = load_looks(name), load_printed(name)
    series = {label for e in experiments.values() if isinstance(e, Experiment) for label in e.series} | set(looks)
    for rows in printed.values():
        refuse_unknown(f"{name}/printed.yaml", "series", rows["series"], series)
    return Study(name, experiments, claims, paper, checks.CHECKS, checks.VALUES, looks, printed, plan)


def _read_plan(name: str, experiments: Mapping[str, Experiment | Computation]) -> dict[str, list[int]]:
    """Return of each experiment with several looks at its claims how many runs there were."""
    if not _has(name, "plan.yaml"):
        return {}
    given = Given(f"{name}/plan.yaml", _written(name, "plan.yaml"))
    plan: dict[str, list[int]] = given.take("looks", dict)
    given.done()
    refuse_unknown(f"{name}/plan.yaml, looks", "experiment", plan, experiments)
    for experiment, runs in plan.items():
        if not isinstance(runs, list) or len(runs) < 2 or sorted(set(runs)) != runs:
            place = f"{name}/plan.yaml, looks, {experiment}"
            raise ValueError(f"{place}: expected growing numbers of runs, such as [25, 100]; got {runs!r}.")
    return plan


def further_tables(name: str) -> tuple[Callable[[], None], ...]:
    """Return what writes the tables of a study beyond its verdicts, such as verdicts read in other ways."""
    package = entry_points("bestarm.studies")[name].value
    found = find_spec(f"{package}.further_tables")
    return tuple(import_module(f"{package}.further_tables").WRITE) if found else ()


@cache
def load_looks(name: str) -> Mapping[str, Look]:
    """Return how the algorithms of a study look, and have figures know it; the study itself is not loaded."""
    package = entry_points("bestarm.studies")[name].value
    looks: Mapping[str, Look] = import_module(f"{package}.looks").LOOKS if find_spec(f"{package}.looks") else {}
    know_looks(looks)
    return looks


@cache
def load_printed(name: str) -> Mapping[str, pd.DataFrame]:
    """Return the values that a study's paper prints, by figure; the study itself is not loaded."""
    if not _has(name, "printed.yaml"):
        return {}
    shown = read_paper(_written(name, "paper.yaml"), f"{name}/paper.yaml").figures.values()
    figures = [f"{figure.notebook}/{figure.file}" for figure in shown]
    return read_printed(_written(name, "printed.yaml"), f"{name}/printed.yaml", figures)


def _has(name: str, file: str) -> bool:
    """Return whether a study has one of the YAML files that it may have."""
    return files(entry_points("bestarm.studies")[name].value).joinpath(file).is_file()


def _written(name: str, file: str) -> Any:
    """Return what one of a study's YAML files says."""
    text = files(entry_points("bestarm.studies")[name].value).joinpath(file).read_text(encoding="utf-8")
    return read_yaml(text, f"{name}/{file}")


@cache
def claim_ids(name: str) -> list[str]:
    """Return the names of a study's claims, without loading the study."""
    return list(_written(name, "claims.yaml")["claims"])


def _check_settings(name: str, experiments: Mapping[str, Experiment | Computation]) -> None:
    """Refuse settings that no policy of the study has; experiments may share profiles."""
    searches = {key: e for key, e in experiments.items() if isinstance(e, Experiment)}
    known = {
        setting
        for e in searches.values()
        for series in e.series.values()
        for setting in settings_of(getattr(series, "policy", series))
    }
    for key, e in searches.items():
        asked = set(e.settings).union(*(scale.settings for scale in e.profiles.values()))
        if unknown := sorted(asked - known):
            raise ValueError(f"{name}, {key}: no policy has a setting {', '.join(unknown)}.")


@cache
def project_seed() -> int:
    """Return the seed in ``params.yaml``."""
    return int(yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["seed"])
