"""The statistics behind claims: one comparison with a margin, by a t-test, an exact binomial test or the bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from bestarm.interface import BoolArray, FloatArray

RESAMPLES = 2000
SEED = 20220723


@dataclass(frozen=True)
class Relation:
    """What a claim says of an effect: ``above``, ``below`` or ``within`` its margin, or ``at_least`` at it.

    Attributes
    ----------
    word : {"above", "below", "within", "at_least"}
        Which.
    low, high : float
        Ends of the interval that is claimed.
    """

    word: Literal["above", "below", "within", "at_least"]
    low: float = -np.inf
    high: float = np.inf

    @property
    def bound(self) -> float:
        """Return the margin of a relation that has one end."""
        return self.high if self.word == "below" else self.low

    def words(self) -> str:
        """Return the relation in words."""
        if self.word == "within":
            return f"between {self.low:g} and {self.high:g}"
        return f"{self.word.replace('_', ' ')} {self.bound:g}"

    def holds(self, drawn: FloatArray) -> BoolArray:
        """Return which of some drawn effects are as claimed."""
        return np.asarray((drawn >= self.low) & (drawn <= self.high))

    def p_values(
        self, effect: float, error: float, n: int, scale: Callable[[float], float] = float
    ) -> tuple[float, float]:
        """Return p of the relation (two one-sided tests of ``within``) and of its opposite.

        The opposite of ``within`` is that the effect lies outside: p is the largest probability, over all effects
        inside, of an estimate that lies as far outside, on either side.
        """
        if self.word == "within":
            below, above_low = one_sided(effect - scale(self.low), error, n)
            below_high, above = one_sided(effect - scale(self.high), error, n)
            return max(above_low, below_high), min(1.0, below + below_high, above + above_low)
        less, more = one_sided(effect - scale(self.bound), error, n)
        return (less, more) if self.word == "below" else (more, less)


@dataclass(frozen=True)
class Comparison:
    """One comparison of a claim.

    Attributes
    ----------
    name : str
        What is compared where.
    effect, low, high : float
        Estimate with its 95% interval.
    p, p_opposite : float
        One-sided p-values of the claim and of its opposite.
    n : int
        Runs.
    informative : bool
        False if nobody succeeded in any run, so that the comparison says nothing.
    """

    name: str
    effect: float
    low: float
    high: float
    p: float
    p_opposite: float
    n: int
    informative: bool = True


def one_sided(distance: float, error: float, n: int) -> tuple[float, float]:
    """Return p for "the distance is negative" and for "it is positive", by the t-distribution."""
    if error == 0.0:
        return (0.5, 0.5) if distance == 0.0 else (float(distance > 0), float(distance < 0))
    t = distance / error
    return float(stats.t.cdf(t, n - 1)), float(stats.t.sf(t, n - 1))


def partial_conjunction(ps: Sequence[float], need: int) -> float:
    """Return the p-value of "at least ``need`` of these hold" (Benjamini and Heller 2008, with Bonferroni's bound)."""
    return min(1.0, (len(ps) - need + 1) * sorted(ps)[need - 1])


def partial_conjunction_of_cells(ps: Sequence[float], need: int) -> float:
    """Return the p-value of "at least ``need`` of these cells hold", with Simes' bound in the place of Bonferroni's.

    Simes' bound is valid where p-values are independent or positively dependent, as those of cells are: each has an
    instance or a budget of its own, and where noise is shared it moves all of them to one side.
    """
    m, ordered = len(ps), np.sort(ps)[need - 1 :]
    return float(min(1.0, ((m - need + 1) / np.arange(1, m - need + 2) * ordered).min()))


def at_least(ps: Sequence[float], level: float = 0.025) -> int:
    """Return the lower confidence bound on how many of these cells hold: partial conjunction, all numbers at once."""
    held = [need for need in range(1, len(ps) + 1) if partial_conjunction_of_cells(ps, need) <= level]
    return max(held, default=0)


def are_shares(*values: pd.Series) -> bool:
    """Return whether all values are 0 or 1, so that their mean is a share of the runs."""
    return all(bool(v.isin([0.0, 1.0]).all()) for v in values)


def somebody_succeeds(left: pd.Series, right: pd.Series | None) -> bool:
    """Return False if both sides are one and the same number in every run, other than success."""
    if right is None or left.nunique() > 1 or right.nunique() > 1 or left.iloc[0] != right.iloc[0]:
        return True
    return are_shares(left) and left.iloc[0] == 1.0


def standard_error(values: pd.Series, *, shares: bool) -> float:
    """Return the standard error of a mean; of differences of zeros and ones that of Agresti and Min."""
    n = len(values)
    if not shares:
        return float(values.std(ddof=1) / np.sqrt(n))
    shrunk = float(values.sum()) / (n + 2)
    return float(np.sqrt(((values**2).sum() + 1.0) / (n + 2) - shrunk**2) / np.sqrt(n + 2))


def mean_comparison(name: str, mean: float, error: float, n: int, relation: Relation, informative: bool) -> Comparison:
    """Compare a mean with a margin by a t-test."""
    reach = float(stats.t.ppf(0.975, n - 1)) * error
    return Comparison(name, mean, mean - reach, mean + reach, *relation.p_values(mean, error, n), n, informative)


def log_ratio(left: pd.Series, right: pd.Series | None, *, paired: bool) -> tuple[float, float, int]:
    """Return the log of a ratio of means, its standard error by the delta method, and the number of runs.

    Of one side alone the mean of the logs.
    """
    if right is None:
        logs = np.log(left)
        return float(logs.mean()), standard_error(logs, shares=False), len(left)
    influence, other = left / left.mean() - 1.0, right / right.mean() - 1.0
    if paired:
        error = standard_error(influence - other, shares=False)
    else:
        error = float(np.sqrt(influence.var(ddof=1) / len(left) + other.var(ddof=1) / len(right)))
    return float(np.log(left.mean() / right.mean())), error, min(len(left), len(right))


def ratio_comparison(
    name: str, left: pd.Series, right: pd.Series | None, relation: Relation, *, paired: bool, informative: bool = True
) -> Comparison:
    """Compare a ratio of means with a margin on the log scale, by the delta method; of one side its geometric mean."""
    effect, error, n = log_ratio(left, right, paired=paired)
    reach = float(stats.t.ppf(0.975, n - 1)) * error
    low, high = float(np.exp(effect - reach)), float(np.exp(effect + reach))
    p, p_opposite = relation.p_values(effect, error, n, lambda margin: float(np.log(margin)))
    told = informative and somebody_succeeds(left, right)
    return Comparison(name, float(np.exp(effect)), low, high, p, p_opposite, n, told)


def share_comparison(name: str, k: int, n: int, relation: Relation) -> Comparison:
    """Compare a share of k of n with a margin, from the side that the relation names, by the exact binomial test."""
    sides = ("greater", "less") if relation.word == "above" else ("less", "greater")
    low, high = proportion_confint(k, n, method="wilson") if n else (0.0, 1.0)
    p, p_opposite = (float(stats.binomtest(k, n, relation.bound, alternative=s).pvalue) if n else 1.0 for s in sides)
    return Comparison(name, k / max(n, 1), float(low) if k else 0.0, float(high), p, p_opposite, n)


def printed_comparison(name: str, k: int, n: int, printed: float, printed_n: int, relation: Relation) -> Comparison:
    """Test whether a share is near a printed one, by the Agresti-Caffo difference, which bears zero counts."""
    ours, theirs = (k + 1) / (n + 2), (printed * printed_n + 1) / (printed_n + 2)
    error = float(np.sqrt(ours * (1 - ours) / (n + 2) + theirs * (1 - theirs) / (printed_n + 2)))
    difference = ours - theirs
    low, high = difference - 1.96 * error, difference + 1.96 * error
    p, p_opposite = relation.p_values(difference, error, n)
    return Comparison(f"{name}, minus the printed {printed}", k / n - printed, low, high, p, p_opposite, n)


def discordant_comparison(name: str, left: pd.Series, right: pd.Series, relation: Relation) -> Comparison:
    """Compare two sides on the runs in which they differ, by the exact binomial test.

    Of zeros and ones the effect is the difference of the shares with Agresti and Min's interval (McNemar's test), of
    other values the share of these runs that the claim's side wins (the sign test).
    """
    more, less = int((left > right).sum()), int((left < right).sum())
    wins = more if relation.word == "above" else less
    found = share_comparison(name, wins, more + less, Relation("above", low=0.5))
    if not are_shares(left, right):
        return Comparison(
            name, found.effect, found.low, found.high, found.p, found.p_opposite, more + less, more + less > 0
        )
    n = len(left)
    shift = (more - less) / (n + 2)
    reach = 1.96 * float(np.sqrt((more + less + 1) / (n + 2) - shift**2) / np.sqrt(n + 2))
    # with four such runs or fewer no outcome is significant at 5%, whoever wins them
    told = somebody_succeeds(left, right) and 0.5 ** (more + less) <= 0.05
    return Comparison(name, (more - less) / n, shift - reach, shift + reach, found.p, found.p_opposite, n, told)


def bootstrap_comparison(name: str, effect: float, drawn: FloatArray, n: int, holds: Any) -> Comparison:
    """Return a comparison whose p-value is the share of draws in which the claim is false."""
    false = int((~holds).sum())
    p, p_opposite = ((1 + count) / (1 + RESAMPLES) for count in (false, RESAMPLES - false))
    low, high = (float(q) for q in np.quantile(drawn, [0.025, 0.975]))
    return Comparison(name, effect, low, high, p, p_opposite, n)


def draws(generator: np.random.Generator, n: int) -> FloatArray:
    """Return how often each of n runs is drawn in every resample, shape (``RESAMPLES``, n)."""
    return generator.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES).astype(np.float64)


def weighted_means(table: pd.DataFrame, weights: FloatArray) -> FloatArray:
    """Return the mean of every column for each line of weights; missing runs have no weight."""
    there = table.notna().to_numpy(dtype=np.float64)
    return np.asarray((weights @ table.fillna(0.0).to_numpy()) / np.maximum(weights @ there, 1.0))
