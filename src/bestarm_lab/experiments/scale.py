"""Scales of profiles: replications, budgets, and settings that are cut where time is short."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from bestarm.settings import check_whole

Profile = Literal["smoke", "laptop", "paper"]
T = TypeVar("T")


@dataclass(frozen=True)
class PerArm:
    """Budgets as multiples of the problem's ``n_arms``."""

    ratios: tuple[float, ...]


Budgets = Sequence[int] | PerArm


@dataclass(frozen=True)
class Scale:
    """How much of an experiment a profile runs; what is left out is as the experiment says."""

    replications: int  # runs of every series
    budgets: Budgets | None = None  # budgets, vary, max_pulls: in place of the experiment's
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    # settings of every policy that has them (steps, rounds), so that what costs time can be cut
    settings: Mapping[str, Any] = field(default_factory=dict)
    # settings of the problem, such as for how many runs it has candidates
    problem: Mapping[str, Any] = field(default_factory=dict)
    max_pulls: int | None = None
    # ``{"n_arms": {64: 200}}``: at most so many replications in cells with at least so much of a setting
    fewer: Mapping[str, Mapping[float, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_whole("replications", self.replications, 1)
        check_counts(self, "max_pulls")
        check_budgets(self.budgets)
        for setting, steps in self.fewer.items():
            for at, n in steps.items():
                check_whole(f"fewer, {setting} of at least {at}: replications", n, 1)


def check_counts(record: Any, *names: str) -> None:
    """Refuse named settings that are no positive whole numbers; None is allowed where it is the default."""
    for name in names:
        if getattr(record, name) is not None:
            check_whole(name, getattr(record, name), 1)


def check_budgets(budgets: Budgets | None) -> None:
    """Refuse budgets that are not positive, and an empty list of them."""
    if isinstance(budgets, PerArm):
        if not budgets.ratios or min(budgets.ratios) <= 0:
            raise ValueError(f"budgets per arm must be positive, got {budgets.ratios}.")
    elif budgets is not None:
        if len(budgets) == 0:
            raise ValueError("budgets must name at least one budget, got none; leave them out for a policy without.")
        for budget in budgets:
            check_whole("each budget", budget, 1)


def check_profiles(title: str, profiles: Mapping[Profile, Any]) -> None:
    """Refuse profiles that nothing knows, and an experiment without the two that every one needs."""
    if unknown := sorted(set(profiles) - set(get_args(Profile))):
        raise ValueError(f"{title}: a profile is {', '.join(get_args(Profile))}; got {', '.join(unknown)}.")
    if missing := [p for p in ("smoke", "laptop") if p not in profiles]:
        raise ValueError(f"{title}: the profile {' and '.join(missing)} is missing.")


def at_profile(profiles: Mapping[Profile, T], profile: Profile) -> T:
    """Return what belongs to a known profile; ``paper`` is ``laptop`` where nothing else is said."""
    if profile not in get_args(Profile):
        raise ValueError(f"a profile is {', '.join(get_args(Profile))}; got {profile!r}.")
    return profiles[profile] if profile in profiles else profiles["laptop"]
