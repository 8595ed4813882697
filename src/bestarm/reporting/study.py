"""A study as its package holds it: experiments in Python, claims and figures in YAML, checks and values by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pkgutil import iter_modules
from typing import Any

import yaml

import bestarm_studies
from bestarm.experiments.computation import Computation
from bestarm.experiments.experiment import Experiment, settings_of
from bestarm.paths import ROOT
from bestarm.reporting.claim_cells import Value
from bestarm.reporting.claims import with_groups


@dataclass(frozen=True)
class Study:
    """One paper's study.

    Attributes
    ----------
    name : str
        Its package, ``bestarm_studies.<name>``.
    experiments : mapping of str to Experiment or Computation
        ``EXPERIMENTS`` of its module ``experiments``.
    claims, paper : dict
        Its ``claims.yaml`` and ``paper.yaml``.
    checks, values : mapping of str to function
        ``CHECKS`` and ``VALUES`` of its module ``checks``: exact decisions, and values that claims compare.
    """

    name: str
    experiments: Mapping[str, Experiment | Computation]
    claims: dict[str, Any]
    paper: dict[str, Any]
    checks: Mapping[str, Callable[..., Any]]
    values: Mapping[str, Value]

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
    """Return the names of all studies that have experiments, in alphabetical order."""
    packages = (m.name for m in iter_modules(bestarm_studies.__path__) if m.ispkg)
    return sorted(name for name in packages if files(f"bestarm_studies.{name}").joinpath("experiments.py").is_file())


@cache
def load_study(name: str) -> Study:
    """Return a study by its name.

    Raises
    ------
    ValueError
        For an unknown name, or if a profile cuts a setting that no policy of the study has.
    """
    if name not in study_names():
        raise ValueError(f"unknown study {name!r}; there are: {', '.join(study_names())}.")
    package = f"bestarm_studies.{name}"
    experiments = import_module(f"{package}.experiments").EXPERIMENTS
    _check_settings(name, experiments)
    checks = import_module(f"{package}.checks")
    texts = {
        part: yaml.safe_load(files(package).joinpath(f"{part}.yaml").read_text(encoding="utf-8"))
        for part in ("claims", "paper")
    }
    return Study(name, experiments, with_groups(texts["claims"]), texts["paper"], checks.CHECKS, checks.VALUES)


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
