"""The eight kinds of a claim's test, as records over the grammar of `bestarm_lab.claims.layout`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.claims import statistics
from bestarm_lab.claims.cells import Quantity, Rows, Sides, cell_name
from bestarm_lab.claims.layout import Part, Side
from bestarm_lab.claims.statistics import SEED, Comparison, Estimate, Relation

_TIE = 1e-3
# of m comparisons, how many a claim needs by the words of its sentence: "in all", "in most", a sentence that names no
# number ("A is better than B"), "can be"
QUANTIFIERS: Mapping[str, Callable[[int], int]] = {
    "all": lambda m: m,
    "most": lambda m: m // 2 + 1,
    "typical": lambda m: m // 2 + 1,
    "exists": lambda m: 1,
}


@dataclass(frozen=True, kw_only=True)
class ClaimTest:
    """What all kinds of tests have."""

    quantity: Quantity  # what is compared
    parts: tuple[Part, ...]  # where, and which sides
    quantifier: str = "all"  # of how many comparisons the claim speaks, one of `QUANTIFIERS`
    need: int | None = None  # how many must hold, where the paper says a number

    few: ClassVar[str] = "nobody succeeds in any run of these cells, or all are as good as a guess"

    def comparisons(self, rows: Rows) -> list[Comparison]:
        """Return every comparison that a claim rests on."""
        return [found for side in self.sides(rows) if (found := self.compared(side)) is not None]

    def compared(self, side: Sides) -> Comparison | None:
        """Return the comparison of both sides, or None where the claim says nothing of them."""
        raise NotImplementedError

    def average(self, found: Sequence[Comparison]) -> Comparison | None:
        """Return the mean over comparisons of a claim on most of them, or on no number, against the margin of each."""
        relation = getattr(self, "relation", None)
        counts = self.quantifier in ("most", "typical") and len(found) > 1
        return statistics.on_average(found, relation) if counts and relation is not None else None

    def sides(self, rows: Rows) -> Iterator[Sides]:
        """Yield both sides of every comparison."""
        for part in self.parts:
            for experiment, where in part.each_cell():
                yield from self.quantity.sides_in(part, experiment, where, rows)

    def experiments(self) -> list[str]:
        """Return the experiments on whose rows the test is decided."""
        return list(dict.fromkeys(name for part in self.parts for name in part.experiments()))

    def needed(self, m: int) -> int:
        """Return how many of m comparisons must hold."""
        return min(self.need, m) if self.need is not None else QUANTIFIERS[self.quantifier](m)

    @property
    def mixes(self) -> bool:
        """Whether it can hold in part: not where the claim itself names a number of comparisons."""
        return self.need is None

    def margin(self) -> str:
        """Return what the effect must meet, in words."""
        raise NotImplementedError

    def method(self, words: str) -> str:
        """Return how the quantity, here in words, is tested."""
        raise NotImplementedError

    def words(self) -> str:
        """Return the test in words."""
        words = f"{self.method(self.quantity.value.words)}: {self.margin()}"
        if isinstance(self, OfCells):
            return words
        need = {"most": ", in most comparisons", "typical": ", in most comparisons", "exists": ", in one comparison"}
        return words + (need.get(self.quantifier, "") if self.need is None else f", in {self.need} comparisons or more")


@dataclass(frozen=True, kw_only=True)
class _Related(ClaimTest):
    """A test of an effect against a margin of its own scale."""

    relation: Relation  # what is claimed of the effect
    # {"above", "below", ""}: of ``within``, on which side of the margin the paper's method would be better than claimed
    better: str = ""

    def margin(self) -> str:
        return self.relation.words()


@dataclass(frozen=True)
class Runs:
    """Which runs count: those whose value is at most, or above, a bound."""

    bound: float = 0.0
    at_most: bool = False

    def of(self, values: pd.Series) -> pd.Series:
        """Return in which runs it holds."""
        return values <= self.bound if self.at_most else values > self.bound

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'above'} {self.bound:g}"


def _change(side: Sides) -> tuple[pd.Series, bool]:
    """Return left minus right by run, and whether both are zeros and ones."""
    left, right = side.values
    return (left, statistics.are_shares(left)) if right is None else (left - right, statistics.are_shares(left, right))


def _variance(d: pd.Series, shares: bool) -> float:
    """Return the squared standard error of a mean; of zeros and ones as if one more run had been off by one."""
    return float(((d - d.mean()) ** 2).sum() + 1.0) / len(d) ** 2 if shares else float(d.var(ddof=1)) / len(d)


class Difference(_Related):
    """The mean of left, or of left minus right, against a margin; with ``from`` its change from another cell."""

    def compared(self, side: Sides) -> Comparison:
        change, shares = _change(side)
        informative = statistics.somebody_succeeds(*side.values) and not side.guesses()
        estimate = statistics.mean_of(change, shares=shares and side.right is not None)
        if side.base is not None:  # cells have noise of their own
            before, _ = _change(side.base)
            error = float(np.sqrt(sum(_variance(d, shares) for d in (change, before))))
            n, value = min(len(change), len(before)), float(change.mean()) - float(before.mean())
            runs = statistics.by_run(value, (change, 1.0), (before, -1.0))
            estimate = Estimate(value, error, n, runs=runs, shares=shares)
        return statistics.mean_comparison(side.name, estimate, self.relation, informative)

    def method(self, words: str) -> str:
        effect, base = "mean of", self.parts[0].base
        if any(right is not None for part in self.parts for _, right in part.pairs):
            effect = "difference of"
        elif base is not None and all(part.base == base for part in self.parts):
            effect = "change of mean"
        return f"{effect} {words}, t-test"


class _OfMeans(_Related):
    """A test that may also be of a statistic of means, by the bootstrap."""

    def comparisons(self, rows: Rows) -> list[Comparison]:
        if self.quantity.value.statistic is None:
            return super().comparisons(rows)
        generator = np.random.default_rng(SEED)
        return [self._bootstrapped(side, generator) for side in self.sides(rows)]

    def _bootstrapped(self, side: Sides, generator: np.random.Generator) -> Comparison:
        n = len(side.left)
        drawn = self._effect(side, statistics.draws(generator, n))
        (effect,) = self._effect(side, np.ones((1, n)))
        return statistics.bootstrap_comparison(side.name, float(effect), drawn, n, self.relation)

    def _effect(self, side: Sides, weights: FloatArray) -> FloatArray:
        return self._statistic(side.left, weights)

    def _statistic(self, table: pd.DataFrame, weights: FloatArray) -> FloatArray:
        statistic = self.quantity.value.statistic
        assert statistic is not None
        places = table.columns.to_numpy(dtype=np.float64)
        return statistic(statistics.weighted_means(table, weights), places, self.quantity.settings)


class Ratio(_OfMeans):
    """The ratio of means against a margin; that of a statistic of means by the bootstrap."""

    def compared(self, side: Sides) -> Comparison:
        paired, told = side.paired, not side.cut()
        return statistics.ratio_comparison(side.name, *side.values, self.relation, paired=paired, informative=told)

    def _effect(self, side: Sides, weights: FloatArray) -> FloatArray:
        assert side.right is not None
        return self._statistic(side.left, weights) / self._statistic(side.right, weights)

    def method(self, words: str) -> str:
        if self.quantity.value.statistic is not None:
            return f"ratio of {words}, bootstrap over runs"
        return f"ratio of mean {words}, t-test on the log scale"


@dataclass(frozen=True, kw_only=True)
class Share(_Related):
    """The share of runs in which something holds against a number, or against a printed share."""

    runs: Runs | None = None  # when it holds; by default where the value is positive
    # of an experiment and a series, or ``"*"`` for all others, the printed share and its number of runs
    printed: Mapping[str, Mapping[str, tuple[float, int]]] = field(default_factory=dict)

    def compared(self, side: Sides) -> Comparison | None:
        runs = (self.runs or Runs()).of(side.left.iloc[:, 0].dropna())
        k, n = int(runs.sum()), len(runs)
        if not self.printed:
            found = statistics.share_comparison(side.name, k, n, self.relation)
            return replace(found, estimate=statistics.mean_of(runs.astype(np.float64), shares=True))
        printed = self.printed[side.experiment]
        of_series = printed.get(side.series, printed.get("*"))
        return None if of_series is None else statistics.printed_comparison(side.name, k, n, *of_series, self.relation)

    def method(self, words: str) -> str:
        words += f" {self.runs}" if self.runs else ""
        if self.printed:
            return f"share of runs with {words}, minus the printed one, two one-sided Agresti-Caffo tests"
        return f"share of runs with {words}, exact binomial test"


@dataclass(frozen=True, kw_only=True)
class Discordant(_Related):
    """Both sides on the runs in which they differ."""

    runs: Runs | None = None  # what is compared of each run, where it is not the value itself

    few: ClassVar[str] = "hardly any run differs in these cells"

    def compared(self, side: Sides) -> Comparison:
        left, right = side.values
        assert right is not None
        if self.runs is not None:
            left, right = (self.runs.of(values).astype(np.float64) for values in (left, right))
        return statistics.discordant_comparison(side.name, left, right, self.relation)

    def method(self, words: str) -> str:
        words += f" {self.runs}" if self.runs else ""
        return f"runs that differ in {words}, exact binomial test"


@dataclass(frozen=True, kw_only=True)
class OfCells(ClaimTest):
    """A test of the number of cells in which something holds; each cell is a comparison."""

    share: float  # the share of the cells that the claim names
    exceeded: bool = False  # whether it must be exceeded (``in_more_than``), or reached (``in_cells``)

    @property
    def mixes(self) -> bool:
        return False

    def needed(self, m: int) -> int:
        return int(np.floor(self.share * m) + 1 if self.exceeded else max(1, np.ceil(self.share * m - 1e-9)))

    def margin(self) -> str:
        return f"{'more than' if self.exceeded else 'at least'} {self.share}"

    def holds(self, cell: Comparison) -> bool:
        """Return whether the estimate in a cell is as claimed."""
        return cell.p < cell.p_opposite

    def counted(self, cells: Sequence[Comparison]) -> Comparison:
        """Return the share of the cells that are as claimed, with bounds by partial conjunction, as one comparison."""
        m, k, need = len(cells), sum(map(self.holds, cells)), self.needed(len(cells))
        ps, opposite = [cell.p for cell in cells], [cell.p_opposite for cell in cells]

        def interval(level: float) -> tuple[float, float]:
            return statistics.at_least(ps, level / 2.0) / m, (m - statistics.at_least(opposite, level / 2.0)) / m

        low, high = (round(end * m) for end in interval(0.05))
        name = f"{k} of {m} cells, between {low} and {high}"
        return Comparison(name, k / m, interval, *statistics.joint_p(cells, need), min(cell.n for cell in cells))


@dataclass(frozen=True, kw_only=True)
class Mostly(OfCells):
    """The number of cells in which left is ahead of right by a t-test, against the share that is claimed."""

    relation: Relation  # when left is ahead
    by_ratio: bool = False  # whether by the ratio of means, or by their difference

    def compared(self, side: Sides) -> Comparison:
        left, right = side.values
        assert right is not None
        told = not (side.cut() or side.guesses()) and statistics.somebody_succeeds(left, right)
        if self.by_ratio:
            estimate = statistics.log_ratio(left, right, paired=side.paired)
        else:
            estimate = statistics.mean_of(left - right, shares=statistics.are_shares(left, right))
        found = statistics.mean_comparison(side.name, estimate, self.relation, told, logged=self.by_ratio)
        if found.error == 0.0 and found.p == 0.5:  # equal in every run: at least as good, and not better
            as_good = self.relation.word == "at_least"
            found = replace(found, p=float(not as_good), p_opposite=float(as_good))
        return found

    def method(self, words: str) -> str:
        claimed = f"{'ratio' if self.by_ratio else 'difference'} {self.relation.words()}"
        return f"share of the cells that are as claimed ({claimed}) in {words}, t-tests, partial conjunction"


@dataclass(frozen=True, kw_only=True)
class Rank(OfCells):
    """The number of cells in which a series has a rank, or a better one, ``among`` some.

    Rank r is being behind at most r - 1 of the others: in each cell a paired t-test against each of them, and partial
    conjunction of these. Equal to another in every run is not behind.
    """

    series: Side  # whose rank
    among: tuple[Any, ...]  # series, itself among them
    rank: int  # which
    lowest: bool = False  # whether the lowest is the best

    def compared(self, side: Sides) -> Comparison:
        assert side.right is not None
        mine = side.left.iloc[:, 0]
        others = [side.right[name] for name in side.right if name != self.series]
        told = not side.guesses() and any(statistics.somebody_succeeds(mine, other) for other in others)
        leads = [self._lead(mine, other) for other in others]
        opposite, ps = zip(*(lead.tails(0.0) for lead in leads), strict=True)
        p, p_opposite = 0.0, 1.0
        if self.rank <= len(ps):
            p = statistics.partial_conjunction(ps, len(ps) - self.rank + 1)
            p_opposite = statistics.partial_conjunction(opposite, self.rank)
        rank = 1.0 + sum(lead.value < 0.0 for lead in leads)
        return Comparison(side.name, rank, partial(self._ranks, ps, opposite), p, p_opposite, len(mine.dropna()), told)

    def _lead(self, mine: pd.Series, other: pd.Series) -> Estimate:
        """Return how far a series is ahead of another in the runs of both."""
        change = (other - mine if self.lowest else mine - other).dropna()
        if not change.any():
            return Estimate(_TIE, 0.0, len(change))
        return statistics.mean_of(change, shares=statistics.are_shares(mine.dropna(), other.dropna()))

    def _ranks(self, ps: Sequence[float], opposite: Sequence[float], level: float) -> tuple[float, float]:
        """Return the best and the worst rank that are not rejected."""
        best = 1 + sum(statistics.partial_conjunction(opposite, k) <= level / 2.0 for k in range(1, len(ps) + 1))
        ahead = sum(statistics.partial_conjunction(ps, k) <= level / 2.0 for k in range(1, len(ps) + 1))
        return float(best), float(len(ps) + 1 - ahead)

    def holds(self, cell: Comparison) -> bool:
        return cell.effect <= self.rank

    def method(self, words: str) -> str:
        claimed = f"rank {self.rank} or better"
        return f"share of the cells that are as claimed ({claimed}) in {words}, t-tests, partial conjunction"


@dataclass(frozen=True, kw_only=True)
class Slope(_OfMeans):
    """A slope against a margin: of a statistic of means, or of left minus right by least squares."""

    along: str = ""  # a setting; the slope is that by weighted least squares per doubling of it

    def comparisons(self, rows: Rows) -> list[Comparison]:
        return [*self._least_squares(rows)] if self.along else super().comparisons(rows)

    def _least_squares(self, rows: Rows) -> Iterator[Comparison]:
        """Compare the slope of left minus right per doubling of a setting; cells have noise of their own."""
        for part in self.parts:
            for experiment, entry in part.cells:
                for _, where in Part(((experiment, entry),)).each_cell(without=self.along):
                    points, changes = [], []
                    for at in entry[self.along]:
                        (side,) = self.quantity.sides_in(part, experiment, {**where, self.along: at}, rows)
                        change, shares = _change(side)
                        points.append((np.log2(at), float(change.mean()), _variance(change, shares), len(change)))
                        changes.append(change)
                    xs, ys, variances, ns = (np.array(column) for column in zip(*points, strict=True))
                    weights = 1.0 / variances
                    x = xs - np.average(xs, weights=weights)
                    slope = float((weights * x * ys).sum() / (weights * x**2).sum())
                    error = float(1 / np.sqrt((weights * x**2).sum()))
                    name = f"{cell_name(experiment, where)}, per doubling of {self.along}"
                    runs = statistics.by_run(slope, *zip(changes, weights * x * error**2, strict=True))
                    estimate = Estimate(slope, error, int(ns[-1]), runs=runs)
                    yield statistics.mean_comparison(name, estimate, self.relation, True)

    def method(self, words: str) -> str:
        return f"slope of {words}, {'weighted least squares' if self.along else 'bootstrap over runs'}"


class Spread(_Related):
    """How far two runs are apart, in the median, against a margin."""

    def compared(self, side: Sides) -> Comparison:
        return statistics.spread_comparison(side.name, side.values[0], self.relation)

    def method(self, words: str) -> str:
        return f"median difference between two runs of {words}, exact sign test"
