"""Arms for a function of your own: settings spread over a box, tried in batches by any policy of this library."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from scipy.stats import qmc

from bestarm.interface import Arms, Ask, FloatArray, IntArray, Policy
from bestarm.streams import Streams

Design = Literal["latin", "sobol", "grid"]
Failed = Literal["worst", "skip"]

_TRIES = 20
_LARGEST = 1e150  # a value above it in size has no finite square


def _is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool | np.bool_)


@dataclass(frozen=True)
class Interval:
    """A number between two bounds.

    Parameters
    ----------
    low, high : float
        Bounds, both included.
    log : bool
        Spread evenly on a logarithmic scale.
    whole : bool
        Whole numbers only.

    Raises
    ------
    ValueError
        If the bounds are no numbers, reversed, equal, not finite or too far apart, not whole for whole numbers, or not
        positive on a log scale.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.low, Real) and isinstance(self.high, Real)):
            raise ValueError(
                f"bounds must be numbers, got {self.low!r} and {self.high!r}; a Choice has values by name."
            )
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(f"bounds must be finite, got {self.low} and {self.high}.")
        if self.low >= self.high:
            raise ValueError(f"the lower bound must be below the upper one, got {self.low} and {self.high}.")
        if self.log and self.low <= 0:
            raise ValueError(f"bounds on a log scale must be positive, got {self.low} and {self.high}.")
        if self.whole and (self.low != int(self.low) or self.high != int(self.high)):
            raise ValueError(f"bounds of whole numbers must be whole, got {self.low} and {self.high}.")
        if not math.isfinite(float(self.high) / float(self.low) if self.log else float(self.high) - float(self.low)):
            way = "ratio" if self.log else "difference"
            raise ValueError(
                f"the {way} of the bounds must be finite, got {self.low} and {self.high}; bring them closer."
            )

    def holds(self, value: Any) -> bool:
        """Return whether a value is a number between the bounds, and whole where it must be."""
        return (
            isinstance(value, Real)
            and float(self.low) <= float(value) <= float(self.high)
            and (not self.whole or float(value).is_integer())
        )

    def values(self, unit: FloatArray) -> list[Any]:
        """Return the values of places in [0, 1]; whole numbers are rounded from half a step beyond the bounds."""
        low, high = (self.low - 0.5, self.high + 0.5) if self.whole else (self.low, self.high)
        found = low * (high / low) ** unit if self.log else low + unit * (high - low)
        if self.whole:
            return [int(v) for v in np.clip(np.rint(found), self.low, self.high)]
        return [float(v) for v in np.clip(found, self.low, self.high)]

    def features(self, values: Sequence[Any]) -> FloatArray:
        """Return the places of values in [0, 1], shape (n, 1)."""
        found, low, high = np.asarray(values, dtype=np.float64), self.low, self.high
        if self.log:
            found, low, high = np.log(found), np.log(low), np.log(high)
        return ((found - low) / (high - low))[:, None]


@dataclass(frozen=True)
class Choice:
    """One of a few values without an order.

    Parameters
    ----------
    options : tuple
        At least two different values.

    Raises
    ------
    ValueError
        If there are fewer than two values, or two are equal, or a text stands in the place of the values.
    """

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        if isinstance(self.options, str | bytes) or not isinstance(self.options, Sequence):
            raise ValueError(f"options must be a tuple of values, got {self.options!r}; write Choice((first, second)).")
        if len(self.options) < 2 or any(a == b for i, a in enumerate(self.options) for b in self.options[:i]):
            raise ValueError(f"a choice needs at least two different options, got {self.options}.")

    def holds(self, value: Any) -> bool:
        """Return whether a value is one of the options."""
        return value in self.options

    def values(self, unit: FloatArray) -> list[Any]:
        """Return the options of places in [0, 1]; each has an equally long stretch."""
        places = np.minimum((unit * len(self.options)).astype(np.int64), len(self.options) - 1)
        return [self.options[place] for place in places]

    def features(self, values: Sequence[Any]) -> FloatArray:
        """Return a column for each option, such that two options are at distance 1, shape (n, n_options)."""
        places = [self.options.index(value) for value in values]
        return np.eye(len(self.options))[places] / math.sqrt(2.0)


Space = Mapping[str, Interval | Choice]


def unit_points(n: int, n_dimensions: int, design: Design, seed: int) -> FloatArray:
    """Return points of the unit cube.

    Parameters
    ----------
    n, n_dimensions : int
        How many, and in how many dimensions; a grid needs a whole root.
    design : {"latin", "sobol", "grid"}
        A Latin hypercube, a scrambled Sobol sequence, or the centres of equal cells.
    seed : int
        Of the draw; a grid is no draw.

    Raises
    ------
    ValueError
        For an unknown design, fewer than two points, or a number of points that no grid has.
    """
    if not _is_whole(n):
        raise ValueError(f"n must be a whole number of at least 2, got {n!r}; give such an int.")
    if n < 2 or n_dimensions < 1:
        raise ValueError(f"at least 2 points in 1 dimension are needed, got {n} in {n_dimensions}.")
    if design == "latin":
        return np.asarray(qmc.LatinHypercube(n_dimensions, rng=seed).random(n))
    if design == "sobol":
        drawn = qmc.Sobol(n_dimensions, scramble=True, rng=seed).random_base2(math.ceil(math.log2(n)))
        return np.ascontiguousarray(drawn[:n])
    if design != "grid":
        raise ValueError(f"design must be latin, sobol or grid, got {design!r}.")
    side = round(n ** (1 / n_dimensions))
    if side**n_dimensions != n:
        raise ValueError(f"a grid in {n_dimensions} dimensions has a whole number to that power, got {n} points.")
    ticks = (np.arange(side) + 0.5) / side
    return np.stack(np.meshgrid(*[ticks] * n_dimensions, indexing="ij"), axis=-1).reshape(n, n_dimensions)


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


def _check_space(space: Any) -> None:
    """Refuse what is no mapping of names to intervals and choices."""
    if not isinstance(space, Mapping):
        raise ValueError(f"the space must be a dict of names to Interval or Choice, got {space!r}.")
    if not space:
        raise ValueError("the space is empty; name at least one setting.")
    for name, about in space.items():
        if not isinstance(about, Interval | Choice):
            raise ValueError(f"{name} must be an Interval or a Choice, got {about!r}.")


@dataclass(frozen=True)
class Candidates:
    """Settings that may be tried: arms with names.

    Parameters
    ----------
    space : mapping of str to Interval or Choice
        What can be set.
    settings : tuple of dict
        One for each arm, by name.

    Raises
    ------
    ValueError
        If the space is empty or holds something else, or a setting is missing or outside of its interval or choice.

    Examples
    --------
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
        _check_space(self.space)
        for arm, settings in enumerate(self.settings):
            for name, about in self.space.items():
                if name not in settings:
                    raise ValueError(
                        f"arm {arm} has no {name!r}, got {settings}; a setting needs every name of the space."
                    )
                if not about.holds(settings[name]):
                    raise ValueError(
                        f"arm {arm}: {name} must be of {about}, got {settings[name]!r}; change one of the two."
                    )

    @property
    def arms(self) -> Arms:
        """The arms for a policy: numbers between 0 and 1, a column for each option of a choice."""
        columns = [about.features([s[name] for s in self.settings]) for name, about in self.space.items()]
        return Arms(np.hstack(columns))

    def named(self, arms: IntArray) -> list[dict[str, Any]]:
        """Return the settings of some arms."""
        return [self.settings[arm] for arm in np.ravel(arms)]

    def evaluate(self, objective: Callable[..., float], asked: Ask) -> Evaluation:
        """Try what a policy asked for.

        Parameters
        ----------
        objective : callable
            Called with the settings by name; what it returns is maximised. An exception, or a value that is not
            finite or above 1e150 in size, marks the trial as failed.
        asked : Ask
            Of one replication.

        Raises
        ------
        ValueError
            If it is of more than one replication.
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

    Raises
    ------
    ValueError
        If the space is empty or holds something else, or there are fewer than two different settings.
    """
    _check_space(space)
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for attempt in range(1 if design == "grid" else _TRIES):
        units = unit_points(n, len(space), design, seed + attempt * 1_000_003)
        columns = [about.values(units[:, j]) for j, about in enumerate(space.values())]
        for row in zip(*columns, strict=True):
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

    Raises
    ------
    ValueError
        For something else than candidates, a policy or these numbers, or if every trial failed.

    Examples
    --------
    >>> from bestarm.policies.linear_oae import LinearOae
    >>> candidates = latin_hypercube({"x": Interval(-1, 1)}, 50)
    >>> best = maximise(lambda x: 3 * x, candidates, LinearOae("OAE", batch=5, rounds=3))
    >>> best.settings["x"] > 0.9, len(best.table)
    (True, 15)
    """
    if not isinstance(candidates, Candidates):
        raise ValueError(f"candidates must be Candidates, got {candidates!r}; latin_hypercube(space, n) makes them.")
    missing = [name for name in _METHODS if not callable(getattr(policy, name, None))]
    if missing or isinstance(policy, type):
        raise ValueError(f"policy must have {', '.join(_METHODS)}, got {policy!r}; BatchGP.dpp_sample makes one.")
    if not _is_whole(max_batches) or max_batches < 1:
        raise ValueError(f"max_batches must be a whole number of at least 1, got {max_batches!r}; give such an int.")
    if failed not in get_args(Failed):
        raise ValueError(f"failed must be one of {', '.join(get_args(Failed))}, got {failed!r}.")
    arms = candidates.arms
    state = policy.start(arms, Streams.first(1, seed=seed, instance="own function"))
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
