"""Arms for a function of your own: settings of a box, tried in batches by any policy of this library."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from bestarm.interface import Arms, Ask, FloatArray, IntArray, Policy
from bestarm.problems.box import Design, Space, check_space, unit_points
from bestarm.settings import check_whole
from bestarm.streams import Streams

Failed = Literal["worst", "skip"]

_TRIES = 20
_LARGEST = 1e150  # a value above it in size has no finite square


class Evaluation(NamedTuple):
    """What a batch of trials gave.

    Attributes
    ----------
    totals : ndarray, shape (1, b)
        For ``tell``; NaN of a trial that failed.
    table : DataFrame
        One row for each trial: its arm, its settings by name, ``value`` and ``failure``, empty where there was none.
    """

    totals: FloatArray
    table: pd.DataFrame


@dataclass(frozen=True)
class Candidates:
    """Settings that may be tried: arms with names.

    Raises ValueError if the space is empty or no space, or a setting is missing or outside of its interval or choice.

    Parameters
    ----------
    space : mapping of str to Interval or Choice
        What can be set.
    settings : tuple of dict
        One for each arm, by name.

    Examples
    --------
    >>> from bestarm.problems.box import Choice, Interval
    >>> space = {"depth": Interval(1, 9, whole=True), "rate": Interval(1e-4, 1, log=True), "loss": Choice(("l1", "l2"))}
    >>> candidates = latin_hypercube(space, 200, seed=1)
    >>> candidates.arms.features.shape
    (200, 4)
    >>> sorted(candidates.settings[0])
    ['depth', 'loss', 'rate']
    """

    space: Space
    settings: tuple[dict[str, Any], ...]

    def __post_init__(self) -> None:
        check_space(self.space)
        for arm, settings in enumerate(self.settings):
            for name, about in self.space.items():
                if name not in settings:
                    remedy = "a setting needs every name of the space"
                    raise ValueError(f"arm {arm} has no {name!r}, got {settings}; {remedy}.")
                if not about.holds(settings[name]):
                    remedy = "change one of the two"
                    raise ValueError(f"arm {arm}: {name} must be of {about}, got {settings[name]!r}; {remedy}.")

    @property
    def arms(self) -> Arms:
        """The arms for a policy: numbers between 0 and 1, a column for each option of a choice."""
        return Arms(np.hstack([about.features([s[name] for s in self.settings]) for name, about in self.space.items()]))

    def named(self, arms: IntArray) -> list[dict[str, Any]]:
        """Return the settings of some arms."""
        return [self.settings[arm] for arm in np.ravel(arms)]

    def evaluate(self, objective: Callable[..., float], asked: Ask) -> Evaluation:
        """Try what a policy asked for.

        Raises ValueError if it is of more than one replication.

        Parameters
        ----------
        objective : callable
            Called with the settings by name; what it returns is maximised. An exception, or a value that is not
            finite or above 1e150 in size, marks the trial as failed.
        asked : Ask
            Of one replication.
        """
        if len(asked.arms) != 1:
            raise ValueError(f"a real objective is one replication, got a request for {len(asked.arms)}.")
        totals, rows = np.zeros(asked.arms.shape), []
        for place, (arm, count) in enumerate(zip(asked.arms[0], asked.counts[0], strict=True)):
            for _ in range(count):
                value, failure = _tried(objective, self.settings[arm])
                totals[0, place] += value
                rows.append({"arm": int(arm), **self.settings[arm], "value": value, "failure": failure})
        return Evaluation(totals, pd.DataFrame(rows, columns=["arm", *self.space, "value", "failure"]))


def _tried(objective: Callable[..., float], settings: dict[str, Any]) -> tuple[float, str]:
    """Return the value of one trial and why it failed, an empty text if it did not."""
    try:
        value = float(objective(**settings))
    except Exception as error:  # whatever goes wrong in one trial must not end the others
        return math.nan, f"{type(error).__name__}: {error}"
    if math.isfinite(value) and abs(value) > _LARGEST:
        return math.nan, f"the value was {value}, beyond {_LARGEST:g}: rescale"
    return (value, "") if math.isfinite(value) else (math.nan, f"the value was {value}")


def latin_hypercube(space: Space, n: int, *, seed: int = 0, design: Design = "latin") -> Candidates:
    """Return different settings that are spread evenly over a box.

    Raises ValueError if the space is empty or holds something else, or there are fewer than two different settings.

    Parameters
    ----------
    space : mapping of str to Interval or Choice
        What can be set.
    n : int
        How many candidates. Whole numbers and choices may have fewer; then all that were found are returned.
    seed : int
        Of the draw.
    design : {"latin", "sobol", "grid"}
        See `unit_points`.
    """
    check_space(space)
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for attempt in range(1 if design == "grid" else _TRIES):
        units = unit_points(n, len(space), design, seed + attempt * 1_000_003)
        for row in zip(*(about.values(units[:, j]) for j, about in enumerate(space.values())), strict=True):
            if len(found) < n:
                found.setdefault(tuple(map(repr, row)), dict(zip(space, row, strict=True)))
        if len(found) == n:
            break
    if len(found) < 2:
        raise ValueError("the space has fewer than two different settings, so there is nothing to search.")
    return Candidates(dict(space), tuple(found.values()))


_METHODS = ("start", "ask", "tell", "finished", "recommend")


class Best(NamedTuple):
    """The end of a search.

    Attributes
    ----------
    settings : dict
        Tried without a failure: what the policy recommends if it is such, or else those of the largest mean value.
    table : DataFrame
        All trials in order, with the number of their ``batch``, see `Evaluation`.
    """

    settings: dict[str, Any]
    table: pd.DataFrame


def maximise(
    objective: Callable[..., float],
    candidates: Candidates,
    policy: Policy[Any],
    *,
    seed: int = 0,
    max_batches: int = 1000,
    failed: Failed = "worst",
) -> Best:
    """Let a policy try settings of your function in batches, until it has finished.

    Raises ValueError for something else than candidates, a policy or these numbers, or if every trial failed.

    Parameters
    ----------
    objective : callable
        See `Candidates.evaluate`.
    candidates : Candidates
        What may be tried.
    policy : Policy
        Any whose arms are `Arms`.
    seed : int
        Of the policy's own draws.
    max_batches : int
        When to end a policy that would go on, at least 1.
    failed : {"worst", "skip"}
        A failed trial is told as the worst value so far, so that what fails is avoided (until a trial succeeds there is
        none), or teaches nothing, so that it may be asked for again.

    Examples
    --------
    >>> from bestarm.policies.linear.linear_oae import LinearOae
    >>> from bestarm.problems.box import Interval
    >>> candidates = latin_hypercube({"x": Interval(-1, 1)}, 50)
    >>> best = maximise(lambda x: 3 * x, candidates, LinearOae("OAE", batch=5, rounds=3))
    >>> best.settings["x"] > 0.9, len(best.table)
    (True, 15)
    """
    if not isinstance(candidates, Candidates):
        raise ValueError(f"candidates must be Candidates, got {candidates!r}; latin_hypercube(space, n) makes them.")
    if isinstance(policy, type) or not all(callable(getattr(policy, name, None)) for name in _METHODS):
        raise ValueError(f"policy must have {', '.join(_METHODS)}, got {policy!r}; ucb_dpp_sample makes one.")
    check_whole("max_batches", max_batches, 1)
    if failed not in get_args(Failed):
        raise ValueError(f"failed must be one of {', '.join(get_args(Failed))}, got {failed!r}.")
    state = policy.start(candidates.arms, Streams.first(1, seed=seed, instance="own function"))
    tables: list[pd.DataFrame] = []
    worst = math.inf
    for batch in range(1, max_batches + 1):
        asked = policy.ask(state)
        if policy.finished(state).all():
            break
        totals, table = candidates.evaluate(objective, asked)
        worst = min([worst, *table["value"].dropna()])
        if failed == "worst" and math.isfinite(worst):
            totals = np.where(np.isnan(totals), worst * asked.counts, totals)
        policy.tell(state, asked, totals)
        tables.append(table.assign(batch=batch))
    if not tables:
        raise ValueError(f"{policy.label} ended before its first trial, so nothing is recommended; give it a batch.")
    trials = pd.concat(tables, ignore_index=True)
    if trials["value"].isna().all():
        raise ValueError(f"every trial failed, the last with: {trials['failure'].iloc[-1]}.")
    return Best(candidates.named(_recommended(policy.recommend(state), trials))[0], trials)


def _recommended(arms: IntArray, trials: pd.DataFrame) -> IntArray:
    """Return the policy's first arm if it was tried and never failed, else such an arm of the largest mean value."""
    whole = trials.groupby("arm", sort=False)["value"].agg(lambda values: values.mean(skipna=False))
    if whole.isna().all():  # every arm failed at least once
        whole = trials.groupby("arm", sort=False)["value"].mean()
    good, arm = whole.dropna(), int(np.ravel(arms)[0])
    return np.array([arm if arm in good.index else good.idxmax()], dtype=np.int64)
