"""Searches with one thing changed: the series "A | B" is the algorithm A with the one change B.

Its random choices are those of A, so that the two differ in nothing else. Names are made and read back here alone.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bestarm_lab.experiments.series import Series

SEPARATOR = " | "

Settings = Mapping[str, Any]


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
    return found | {
        name_of_change(algorithm, words): changed(searched, problem=to) for words, to in (problem or {}).items()
    }
