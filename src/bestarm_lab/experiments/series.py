"""One curve or box of a figure: what searches, where that is more than a policy, and searches with one thing changed.

The series "A | B" is the algorithm A with the one change B. Its random choices are those of A, so that the two differ
in nothing else. Names are made and read back here alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from bestarm_lab.experiments.scale import Budgets, check_budgets, check_counts

Convention = Literal["as_written", "as_coded"]
SEPARATOR = " | "
Settings = Mapping[str, Any]


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
    # replications, coded_replications: runs of this series, where they are fewer; the second for ``as_coded`` alone
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
        known = {**(policy.keywords if isinstance(policy, partial) else vars(policy)), **searched.problem}
        if setting not in known:
            raise ValueError(f"{name} sets no {setting}; it sets: {', '.join(known)}.")
        found[name] = known[setting]
    return found


def name_of_change(algorithm: str, change: str) -> str:
    """Return the name of an algorithm's series with one change."""
    return f"{algorithm}{SEPARATOR}{change}"


def algorithm_and_change(series: str) -> tuple[str, str]:
    """Return the algorithm of a series and its change, which is empty of the algorithm itself."""
    algorithm, _, change = series.partition(SEPARATOR)
    return algorithm, change


def changed(searched: Any, policy: Settings | None = None, problem: Settings | None = None) -> Any:
    """Return a policy, a partial of its constructor or a `Series` with other settings of the policy or the problem."""
    if isinstance(searched, Series):
        coded = None if searched.coded is None else changed(searched.coded, policy)
        on = {**searched.problem, **(problem or {})}
        return replace(searched, policy=changed(searched.policy, policy), coded=coded, problem=on)
    if problem:
        return changed(Series(searched), policy, problem)
    settings = policy or {}
    return partial(searched, **settings) if isinstance(searched, partial) else replace(searched, **settings)


def one_change(
    algorithm: str,
    searched: Any,
    policy: Mapping[str, Settings] | None = None,
    problem: Mapping[str, Settings] | None = None,
    *,
    itself: bool = True,
) -> dict[str, Any]:
    """Return an algorithm and, for each change, the series that differs from it in this change alone.

    ``policy`` and ``problem`` have by the words of each change the settings that it sets. The algorithm comes first,
    unchanged (``itself``); then series in the order of the changes, those of the problem last.
    """
    found = {algorithm: searched} if itself else {}
    found |= {name_of_change(algorithm, words): changed(searched, to) for words, to in (policy or {}).items()}
    found |= {name_of_change(algorithm, words): changed(searched, problem=to) for words, to in (problem or {}).items()}
    return found
