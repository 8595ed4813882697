"""Computations: rows that a function makes, without a search of a problem by a policy."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from bestarm.settings import check_whole
from bestarm_lab.datasets.registry import available, checksums
from bestarm_lab.experiments.changes import changed_computation
from bestarm_lab.experiments.definitions import code_digest
from bestarm_lab.experiments.keys import Part, describe, digest, qualified
from bestarm_lab.experiments.scale import Profile, Scale, at_profile, check_profiles


@dataclass(frozen=True)
class Computation:
    """Rows that are no plain search: a function makes them."""

    title: str  # in a figure's words
    # a function with its settings. It is called with those of the profile, ``seed`` and ``workers``, and returns a tidy
    # frame with a column ``replication``
    rows: partial[Any]
    profiles: Mapping[Profile, Mapping[str, Any]]  # settings of each profile, ``replications`` among them
    # registered files that the function reads; where nobody has them it makes rows with ``data = "stand-in"``
    data_files: Sequence[str] = ()
    # whether the rows are kept, whatever the code, until they are measured again on purpose: wall times, which belong
    # to the machine that measured them, and tables that are too costly for every rebuild
    measured: bool = False

    def __post_init__(self) -> None:
        check_profiles(self.title, self.profiles)
        name, accepted = self.rows.func.__name__, inspect.signature(self.rows.func).parameters
        free = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        for profile, settings in self.profiles.items():
            if (unknown := ", ".join(sorted(set(settings) - set(accepted)))) and not free:
                has = ", ".join(accepted)
                raise ValueError(f"{self.title}, {profile}: {name} has no setting {unknown}; it has: {has}.")
            check_whole(f"{self.title}, {profile}: replications", self.settings_at(profile).get("replications"), 1)

    changed = changed_computation

    def scale(self, profile: Profile) -> Scale:
        """Return the scale of a profile; ``paper`` is ``laptop`` where nothing else is said."""
        return Scale(int(self.settings_at(profile)["replications"]))

    def settings_at(self, profile: Profile) -> dict[str, Any]:
        """Return all settings of the function at a profile."""
        return {**self.rows.keywords, **at_profile(self.profiles, profile)}

    def same_scale(self, profile: Profile, other: Profile) -> bool:
        """Return whether two profiles that a computation distinguishes have the same settings."""
        return other in self.profiles and describe(self.settings_at(profile)) == describe(self.settings_at(other))

    def on_data(self) -> "Computation":
        """Return this computation; its function looks for the data."""
        return self

    def has_data(self) -> bool:
        """Return whether every file that its function reads can be had."""
        return available(*self.data_files)

    def parts(self, profile: Profile, seed: int, workers: int = 1) -> list[Part]:
        """Return the one part of a computation."""
        settings = self.settings_at(profile)
        made_of: list[Any] = [qualified(self.rows.func), describe(settings), seed]
        code = "measured" if self.measured else code_digest(self.rows.func, settings)
        if self.data_files:
            made_of.append(checksums(*self.data_files) if self.has_data() else "stand-in")
        n = int(settings["replications"])
        return [Part(digest(made_of), code, {}, n, n, partial(_compute_rows, self.rows.func, settings, seed, workers))]


def computed(
    title: str,
    runs: int,
    rows: Callable[..., pd.DataFrame],
    /,
    *,
    few: int = 2,
    smoke: Mapping[str, Any] | None = None,
    paper: Mapping[str, Any] | None = None,
    data_files: Sequence[str] = (),
    **settings: Any,
) -> Computation:
    """Return a computation of so many runs, at most ``few`` at the smoke scale; two scales may have own settings."""
    few_runs = {"replications": min(runs, few), **(smoke or {})}
    profiles: dict[Profile, Mapping[str, Any]] = {"smoke": few_runs, "laptop": {"replications": runs}}
    if paper is not None:
        profiles["paper"] = paper
    return Computation(title, partial(rows, **settings), profiles, data_files)


def _compute_rows(
    function: Callable[..., pd.DataFrame], settings: dict[str, Any], seed: int, workers: int, start: int, stop: int
) -> pd.DataFrame:
    rows = function(**settings, seed=seed, workers=workers)
    return rows if "data" in rows else rows.assign(data="synthetic")
