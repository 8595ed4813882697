"""Experiments as the ledgers in ``papers/`` define them: a problem, series of policies, a scale per profile."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import yaml

from bestarm import metrics
from bestarm.experiments.construct import Convention, Series, accepted_settings, construct, make_series
from bestarm.paths import PAPERS, ROOT

Profile = Literal["smoke", "laptop", "paper"]


@cache
def ledger(paper: str) -> dict[str, Any]:
    """Return ``papers/<paper>.yaml``."""
    path = PAPERS / f"{paper}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in PAPERS.glob("*.yaml")))
        raise ValueError(f"unknown paper {paper!r}; papers/ has: {known}.")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@cache
def project_seed() -> int:
    """Return the seed in ``params.yaml``."""
    return int(yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["seed"])


@dataclass(frozen=True)
class Experiment:
    """One experiment at the scale of one profile.

    Attributes
    ----------
    paper, name : str
        Where it is defined: ``papers/<paper>.yaml``, ``experiments.<name>``.
    profile : {"smoke", "laptop", "paper"}
        Scale.
    n_replications, block_size : int
        Replications in all, and in one block (a unit of work, of storage and of loss).
    max_pulls : int
        Where a replication is cut.
    metrics : tuple of str
        Names in `bestarm.metrics`.
    problem : Problem
        What is searched; the first cell of an experiment that varies its settings.
    problem_spec : dict
        The problem as the ledger writes it.
    series : tuple of Series
        What searches.
    data : {"real", "synthetic", "stand-in"}
        What the rewards are.
    every : int, optional
        Record each replication every so many rounds as well.
    varied : tuple of str
        Settings of the problem that differ from cell to cell; rows have a column for each.
    watch : str, optional
        An observer of every policy, ``module.Class`` of ``bestarm.policies``; rows have a column for each finding.
    """

    paper: str
    name: str
    profile: Profile
    n_replications: int
    block_size: int
    max_pulls: int
    metrics: tuple[str, ...]
    problem: Any
    problem_spec: dict[str, Any]
    series: tuple[Series, ...]
    data: str
    every: int | None = None
    varied: tuple[str, ...] = ()
    watch: str | None = None


def _check_settings(paper: str, name: str, settings: Mapping[str, Any]) -> None:
    """Refuse settings of a profile that no policy of the paper has; experiments may share profiles."""
    if not settings:
        return
    specs = {s["make"]: s for e in ledger(paper)["experiments"].values() for s in e.get("series", {}).values()}
    known = {key for spec in specs.values() for key in accepted_settings(spec, "policies")}
    if unknown := sorted(set(settings) - known):
        raise ValueError(
            f"experiment {name}: no policy has a setting {', '.join(unknown)}; they have: {', '.join(sorted(known))}."
        )


def load_experiment(paper: str, name: str, profile: Profile, *, stand_in: bool = False) -> Experiment:
    """Build an experiment from its ledger.

    Parameters
    ----------
    paper, name : str
        Ledger and key under ``experiments``.
    profile : {"smoke", "laptop", "paper"}
        Scale.
    stand_in : bool
        Use the ledger's stand-in for a problem on real data.

    Raises
    ------
    ValueError
        For an unknown paper, experiment, profile, policy, problem, metric or setting: before anything runs.
    """
    experiments = ledger(paper)["experiments"]
    if name not in experiments:
        raise ValueError(f"unknown experiment {name!r} of {paper}; it has: {', '.join(experiments)}.")
    if profile not in get_args(Profile):
        raise ValueError(f"profile must be one of {', '.join(get_args(Profile))}, got {profile!r}.")
    spec = experiments[name]
    if "rows" in spec:
        raise ValueError(
            f"experiment {name!r} of {paper} has no policies; its rows are made by {spec['rows']['make']}."
        )
    if stand_in and "stand_in" not in spec:
        raise ValueError(f"experiment {name} has no stand-in: its problem is a simulation.")
    if profile not in spec["profiles"]:
        raise ValueError(f"experiment {name} has no profile {profile!r}; it has: {', '.join(spec['profiles'])}.")
    known_metrics = [key for key, _ in inspect.getmembers(metrics, inspect.isfunction)]
    for metric in spec["metrics"]:
        if metric not in known_metrics:
            raise ValueError(f"unknown metric {metric!r}; bestarm.metrics has: {', '.join(known_metrics)}.")
    problem_spec = spec["stand_in"] if stand_in else spec["problem"]
    scale = dict(spec["profiles"][profile])
    scale["settings"] = spec.get("settings", {}) | scale.get("settings", {})
    _check_settings(paper, name, scale["settings"])
    first = {name: values[0] for name, values in spec.get("vary", {}).items()}
    problem = construct(problem_spec | first, "problems")
    series: list[Series] = []
    varied = {name: scale.get("vary", {}).get(name, values) for name, values in spec.get("vary", {}).items()}
    cells = [dict(zip(varied, values, strict=True)) for values in itertools.product(*varied.values())]
    for convention in spec["conventions"]:
        if convention not in get_args(Convention):
            raise ValueError(f"convention must be one of {', '.join(get_args(Convention))}, got {convention!r}.")
        for (label, settings), cell in itertools.product(spec["series"].items(), cells):
            whole = spec.get("every_series", {}) | settings
            series += make_series(label, convention, whole, problem_spec, scale, cell, spec.get("draws", ""))
    return Experiment(
        paper=paper,
        name=name,
        profile=profile,
        n_replications=int(scale["replications"]),
        block_size=int(spec.get("block", 250)),
        max_pulls=int(scale.get("max_pulls", spec.get("max_pulls", 10_000_000))),
        metrics=tuple(spec["metrics"]),
        problem=problem,
        problem_spec=problem_spec,
        series=tuple(series),
        data=getattr(problem, "data", "synthetic"),
        every=spec.get("every"),
        varied=tuple(varied),
        watch=spec.get("watch"),
    )
