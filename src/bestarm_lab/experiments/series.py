"""One curve or box of a figure: what searches, where that is more than a policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from bestarm_lab.experiments.scale import Budgets, check_budgets, check_counts

Convention = Literal["as_written", "as_coded"]


@dataclass(frozen=True)
class Series:
    """One curve or box of a figure, where it needs more than a policy."""

    policy: Any  # what searches; a partial where a setting (the budget) is known only cell by cell
    coded: Any = None  # what stands in its place under the convention ``as_coded``, before `as_coded` is called
    # key of the policy's own random choices; by default the name of the series up to " | ", so that a series "A | one
    # change" differs from A in nothing else
    label: str | None = None
    # settings in which this series' problem differs from the experiment's
    problem: Mapping[str, Any] = field(default_factory=dict)
    budgets: Budgets | None = None  # one run for each budget, in place of the experiment's
    within: Mapping[str, float] = field(default_factory=dict)  # ``{"n_arms": 16}`` leaves out cells with more
    coded_within: Mapping[str, float] = field(default_factory=dict)  # the same for the convention ``as_coded`` alone
    conventions: Sequence[Convention] | None = None  # those of the experiment under which it runs; by default all
    # replications, coded_replications: runs of this series, where they are fewer; the second for the convention
    # ``as_coded`` alone
    replications: int | None = None
    coded_replications: int | None = None

    def __post_init__(self) -> None:
        check_counts(self, "replications", "coded_replications")
        check_budgets(self.budgets)


def setting_of_each(series: Mapping[str, Any], setting: str) -> dict[str, Any]:
    """Return what each series sets of its problem or else its policy; a ValueError names one that sets it not."""
    found: dict[str, Any] = {}
    for name, given in series.items():
        searched = given if isinstance(given, Series) else Series(given)
        policy = searched.policy
        settings = policy.keywords if isinstance(policy, partial) else vars(policy)
        known = {**settings, **searched.problem}
        if setting not in known:
            raise ValueError(f"{name} sets no {setting}; it sets: {', '.join(known)}.")
        found[name] = known[setting]
    return found
