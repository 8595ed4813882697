"""The statistics behind claims: one comparison with a margin, by a t-test, an exact binomial test or the bootstrap.

Laws of t and of the normal are taken from `scipy.special`: what stands behind them in `scipy.stats`, without its checks
at each call and the third of a second that its import takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy import special

if TYPE_CHECKING:
    from bestarm.interface import BoolArray, FloatArray


RESAMPLES = 2000
SEED = 20220723
# how many standard errors the skewness of runs is put beyond its estimate, and where Hall's transformation becomes a
# line: chosen by calibration, docs/verdicts.md
DOUBT = 0.75
BEND = 1.25


@dataclass(frozen=True)
class Relation:
    """What a claim says of an effect: ``above``, ``below`` or ``within`` its margin, or ``at_least`` at it."""

    word: Literal["above", "below", "within", "at_least"]  # which
    low: float = -np.inf  # low, high: ends of the interval that is claimed
    high: float = np.inf

    @property
    def bound(self) -> float:
        """Return the margin of a relation that has one end."""
        return self.high if self.word == "below" else self.low

    def scaled(self, factor: float, *, logged: bool = False, share: bool = False) -> Relation | None:
        """Return the relation with its margin so many times as far from no effect; None where it has none.

        No effect is 0, of ratios (``logged``) 1; a ``share`` is measured from the nearer of 0 and 1, and half has none.
        """

        def moved(end: float) -> float:
            if share:
                return end if end == 0.5 else end * factor if end < 0.5 else 1.0 - (1.0 - end) * factor
            return float(end**factor) if logged else end * factor

        ends = [moved(end) if np.isfinite(end) else end for end in (self.low, self.high)]
        return None if ends == [self.low, self.high] else Relation(self.word, *ends)

    def words(self) -> str:
        """Return the relation in words."""
        if self.word == "within":
            return f"between {self.low:g} and {self.high:g}"
        return f"{self.word.replace('_', ' ')} {self.bound:g}"

    def holds(self, drawn: FloatArray) -> BoolArray:
        """Return which of some drawn effects are as claimed."""
        return np.asarray((drawn >= self.low) & (drawn <= self.high))

    def p_values(self, estimate: Estimate, scale: Callable[[float], float]) -> tuple[float, float]:
        """Return p of the relation (two one-sided tests of ``within``) and of its opposite.

        The opposite of ``within`` is that the effect lies outside: p is the largest probability, over all effects
        inside, of an estimate that lies as far outside, on either side.
        """
        if self.word == "within":
            below, above_low = estimate.tails(scale(self.low))
            below_high, above = estimate.tails(scale(self.high))
            return max(above_low, below_high), min(1.0, below + below_high, above + above_low)
        less, more = estimate.tails(scale(self.bound))
        return (less, more) if self.word == "below" else (more, less)


@dataclass(frozen=True)
class Estimate:
    """An estimate with its standard error, tested by the t-distribution.

    Where the values are skewed, the t-test errs on one side: with 25 runs of an exponential law it rejects 7% in place
    of 2.5%. Hall's transformation ("On the removal of skewness by transformation", Journal of the Royal Statistical
    Society B 54, 1992) by the true skewness removes it; by the estimated one only in part, since the very samples whose
    t is far off look little skewed. The transformation is therefore by a skewness that is put farther on the harmful
    side. A p-value here is the larger of the t-test's and of the transformed one, an interval the wider end of both.
    Where the expansion behind the transformation no longer holds, at a skewness times t below -``BEND``, it goes on as
    a line, so that p-values become as small as many comparisons need.
    """

    value: float  # value, error: the estimate and its standard error
    error: float
    n: int  # runs
    # right, left: how skewed the values may be to the right, at least 0, and to the left, at most 0, both divided by
    # the root of n; 0 for a plain t-test
    right: float = 0.0
    left: float = 0.0
    # values by run whose mean the estimate is; of a ratio, the linear terms of its logarithm
    runs: pd.Series | None = field(default=None, compare=False, repr=False)
    shares: bool = False  # whether they are zeros and ones, or differences of such

    def tails(self, margin: float) -> tuple[float, float]:
        """Return p for "the effect is below the margin" and for "it is above"."""
        distance = self.value - margin
        if self.error == 0.0:
            return (0.5, 0.5) if distance == 0.0 else (float(distance > 0), float(distance < 0))
        t = distance / self.error
        less = max(float(special.stdtr(self.n - 1, x)) for x in (t, _transformed(t, self.right)))
        return less, max(float(special.stdtr(self.n - 1, -x)) for x in (t, _transformed(t, self.left)))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval of the effects that are not rejected at a two-sided level."""
        reach = -float(special.stdtrit(self.n - 1, level / 2.0))
        low, high = max(reach, _back(reach, self.left)), min(-reach, _back(-reach, self.right))
        return self.value - low * self.error, self.value - high * self.error


def _transformed(t: float, s: float) -> float:
    """Return Hall's transformation of t by a skewness divided by the root of n."""
    bend = -BEND / s if s else t
    x = bend if s * (t - bend) < 0.0 else t
    return x + s * x**2 / 3.0 + s**2 * x**3 / 27.0 + s / 6.0 + (1.0 - BEND / 3.0) ** 2 * (t - x)


def _back(x: float, s: float) -> float:
    """Return the t that Hall's transformation takes to x."""
    if abs(s) < 1e-9:
        return x
    bend = -BEND / s
    end = _transformed(bend, s)
    if end * s > x * s:
        return bend + (x - end) / (1.0 - BEND / 3.0) ** 2
    return float((np.cbrt(1.0 + s * (x - s / 6.0)) - 1.0) * 3.0 / s)


@dataclass(frozen=True)
class Comparison:
    """One comparison of a claim."""

    name: str  # what is compared where
    effect: float  # the estimate
    # from a two-sided level to the ends of the interval that a test at this level does not reject
    interval: Callable[[float], tuple[float, float]]
    p: float  # p, p_opposite: one-sided p-values of the claim and of its opposite
    p_opposite: float
    n: int  # runs
    informative: bool = True  # false if nobody succeeded in any run, so that the comparison says nothing
    error: float = np.nan  # standard error of the effect, of a ratio that of its logarithm; NaN where there is none
    logged: bool = False  # whether the effect is a ratio
    # from another relation to both p-values; None where the test has no margin
    against: Callable[[Relation], tuple[float, float]] | None = None
    # with the values by run of which the effect is a mean; None of ranks, spreads and the bootstrap
    estimate: Estimate | None = None

    low = property(lambda self: self.interval(0.05)[0], doc="Lower end of the 95% interval.")
    high = property(lambda self: self.interval(0.05)[1], doc="Upper end of the 95% interval.")

    @property
    def strength(self) -> float:
        """Return how far the effect is from its margin, in standard deviations of a run; positive is for the claim."""
        z = upper_normal(self.p) if self.p <= 0.5 else -upper_normal(min(0.5, self.p_opposite))
        return float(np.clip(z, -38.0, 38.0)) / float(np.sqrt(max(self.n, 1)))


def upper_normal(p: float) -> float:
    """Return what a standard normal number exceeds with this probability."""
    return 0.0 - float(special.ndtri(p))


def partial_conjunction(ps: Sequence[float], need: int) -> float:
    """Return the p-value of "at least ``need`` of these hold" (Benjamini and Heller 2008, with Bonferroni's bound)."""
    return min(1.0, (len(ps) - need + 1) * sorted(ps)[need - 1])


def simes_terms(ps: FloatArray | Sequence[float], need: int) -> FloatArray:
    """Return the terms whose least is the p-value of "at least ``need`` of these hold", along the last axis.

    They are the ordered p-values from the needed one on, each over the share of the level that Simes' bound gives it.
    """
    ordered = np.sort(ps, axis=-1)[..., need - 1 :]
    left = ordered.shape[-1]
    return np.asarray(ordered * (left / np.arange(1, left + 1)))


def partial_conjunction_of_cells(ps: Sequence[float], need: int) -> float:
    """Return the p-value of "at least ``need`` of these cells hold", with Simes' bound in place of Bonferroni's.

    Simes' bound is valid where p-values are independent or positively dependent, as those of cells are: each has an
    instance or a budget of its own, and where noise is shared it moves all of them to one side.
    """
    return min(1.0, float(simes_terms(ps, need).min()))


def joint_terms(ps: FloatArray, opposite: FloatArray, need: int) -> tuple[FloatArray, FloatArray]:
    """Return the terms whose least is p of a claim that needs so many comparisons, and those of its opposite.

    Of all m, p is the largest of theirs and the opposite's m times the smallest (intersection-union, Bonferroni); of
    some, both are those of partial conjunction.
    """
    m = ps.shape[-1]
    if need == m:
        return simes_terms(ps, need), m * opposite.min(axis=-1, keepdims=True)
    return simes_terms(ps, need), simes_terms(opposite, m - need + 1)


def joint_p(comparisons: Sequence[Comparison], need: int) -> tuple[float, float]:
    """Return p of a claim that needs so many of its comparisons, and p of its opposite, see `joint_terms`."""
    if need > len(comparisons):
        return 1.0, 0.0
    ps, opposite = (np.array([getattr(c, key) for c in comparisons]) for key in ("p", "p_opposite"))
    p, p_opposite = (min(1.0, float(terms.min())) for terms in joint_terms(ps, opposite, need))
    return p, p_opposite


def spent(p: float, fraction: float) -> float:
    """Return a one-sided p-value that pays for an earlier look at a share of the same runs.

    It is the level at which the spending function like O'Brien and Fleming's bounds (Lan, DeMets, "Discrete sequential
    boundaries for clinical trials", Biometrika 70, 1983) would reject at the last look: little is spent early.
    """
    if fraction >= 1.0 or not 1e-8 < p < 0.25:
        return p
    from scipy import optimize, stats

    last, law = upper_normal(p), stats.multivariate_normal(cov=[[1.0, fraction**0.5], [fraction**0.5, 1.0]])

    def excess(level: float) -> float:
        early = 2.0 * float(special.ndtr(-upper_normal(level / 2.0) / np.sqrt(fraction)))
        both = float(law.cdf([-upper_normal(early), -last]))  # upper tails, whose digits last for tiny p
        return early + p - both - level

    # where nothing that a float can hold was spent, p stays
    return p if excess(p) <= 0.0 else float(optimize.brentq(excess, p, min(0.5, 2.0 * p + 0.01)))


def at_least(ps: Sequence[float], level: float = 0.025) -> int:
    """Return the lower confidence bound on how many of these cells hold: partial conjunction, all numbers at once."""
    return max((need for need in range(1, len(ps) + 1) if partial_conjunction_of_cells(ps, need) <= level), default=0)


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


def skewness(values: pd.Series, least: int = 0) -> tuple[float, float]:
    """Return how skewed values may be to the right and to the left, both divided by the root of their number.

    ``least`` is their number for the doubt, where not all of them count alike. The third moment of 25 values of an
    exponential law is a quarter too small on average. Six times the L-skewness (Hosking, "L-moments", Journal of the
    Royal Statistical Society B 52, 1990) is nearly without bias for gamma laws, from the exponential (6) to the normal
    (6.1), and bears heavy tails. Of the two estimates that count which is farther on a side, and ``DOUBT`` standard
    errors of normal values more.
    """
    x, n = np.sort(values.to_numpy(dtype=np.float64)), len(values)
    if n < 3 or x[-1] - x[0] <= 1e-12 * float(np.abs(x).max()):
        return 0.0, 0.0
    centred, below = x - x.mean(), np.arange(n)
    moment = np.sqrt((n - 1.0) * n) / (n - 2.0) * (centred**2 * centred).mean() / (centred**2).mean() ** 1.5
    first, second = centred @ below / (n * (n - 1)), centred @ (below * (below - 1)) / (n * (n - 1) * (n - 2))
    estimates = (float(moment), 6.0 * float((6.0 * second - 6.0 * first) / (2.0 * first)))
    root, few = float(np.sqrt(n)), least or n
    doubt = DOUBT * 6.0 * float(np.sqrt(0.1866 / few + 0.8 / few**2)) * root / float(np.sqrt(few))
    return max(0.0, max(estimates) + doubt) / root, min(0.0, min(estimates) - doubt) / root


def mean_of(change: pd.Series, *, shares: bool) -> Estimate:
    """Return the mean of values of runs; of zeros and ones, or their differences, without skewness."""
    error, skewed = standard_error(change, shares=shares), (0.0, 0.0) if shares else skewness(change)
    return Estimate(float(change.mean()), error, len(change), *skewed, runs=change, shares=shares)


def by_run(value: float, *parts: tuple[pd.Series, float]) -> pd.Series:
    """Return values by run whose mean is an estimate, which is a sum of means with weights.

    A run that some of the means lack counts in the others; runs of one number are one, whether they share noise or not.
    """
    moved = pd.concat([weight / len(runs) * (runs - runs.mean()) for runs, weight in parts], axis=1).sum(axis=1)
    return value + len(moved) * moved


def on_average(comparisons: Sequence[Comparison], relation: Relation) -> Comparison | None:
    """Compare the mean effect over comparisons with the margin of each, by the means over comparisons of every run.

    Of ratios it is the mean of logarithms. Runs of one number are a cluster, so that comparisons may share noise. The
    t-distribution is that of the comparison with the fewest runs. Of shares one run more counts as off by one in every
    comparison, so that runs that agree in everything are no certainty. None where a comparison is no mean of runs.
    """
    found = [c.estimate for c in comparisons if c.estimate is not None]
    parts = [(e.runs, 1.0 / len(comparisons)) for e in found if e.runs is not None and np.isfinite(e.runs).all()]
    if len(parts) < len(comparisons):
        return None
    value, n = float(np.mean([e.value for e in found])), min(e.n for e in found)
    runs = by_run(value, *parts)
    one_more = float(np.mean([e.shares / len(runs) for e, (runs, _) in zip(found, parts, strict=True)]))
    error = float(np.hypot(standard_error(runs, shares=False), one_more))
    estimate = Estimate(value, error, n, *skewness(runs, n), runs=runs)
    name, logged = f"mean over {len(comparisons)} comparisons", comparisons[0].logged
    return mean_comparison(name, estimate, relation, True, logged=logged)


def mean_comparison(
    name: str, estimate: Estimate, relation: Relation, informative: bool, *, logged: bool = False
) -> Comparison:
    """Compare a mean with a margin, or a ratio that is estimated by its logarithm (``logged``)."""
    shown, scale = (np.exp, np.log) if logged else (float, float)

    def against(other: Relation) -> tuple[float, float]:
        return other.p_values(estimate, lambda margin: float(scale(margin)))

    def interval(level: float) -> tuple[float, float]:
        low, high = estimate.interval(level)
        return float(shown(low)), float(shown(high))

    return Comparison(
        *(name, float(shown(estimate.value)), interval, *against(relation), estimate.n, informative),
        error=estimate.error,
        logged=logged,
        against=against,
        estimate=estimate,
    )


def log_ratio(left: pd.Series, right: pd.Series | None, *, paired: bool) -> Estimate:
    """Return the log of a ratio of means with its error by the delta method; of one side the mean of logs."""
    if right is None:
        return mean_of(np.log(left), shares=False)
    influence, other = left / left.mean() - 1.0, right / right.mean() - 1.0
    value = float(np.log(left.mean() / right.mean()))
    if paired:
        both = influence - other
        return Estimate(value, standard_error(both, shares=False), len(both), *skewness(both), runs=value + both)
    variances = np.array([float(side.var(ddof=1)) / len(side) for side in (influence, other)])
    error, n = float(np.sqrt(variances.sum())), min(len(left), len(right))
    runs = by_run(value, (influence, 1.0), (other, -1.0))
    if error == 0.0:
        return Estimate(value, error, n, runs=runs)
    ours, theirs = (variances / error**2) ** 1.5  # third moments add
    (to_right, to_left), (others_right, others_left) = skewness(influence), skewness(other)
    skewed = ours * to_right - theirs * others_left, ours * to_left - theirs * others_right
    return Estimate(value, error, n, *skewed, runs=runs)


def ratio_comparison(
    name: str, left: pd.Series, right: pd.Series | None, relation: Relation, *, paired: bool, informative: bool = True
) -> Comparison:
    """Compare a ratio of means with a margin on the log scale, by the delta method; of one side its geometric mean."""
    told = informative and somebody_succeeds(left, right)
    return mean_comparison(name, log_ratio(left, right, paired=paired), relation, told, logged=True)


def spread_comparison(name: str, runs: pd.Series, relation: Relation) -> Comparison:
    """Compare how far two runs are apart, in the median, with a margin by the exact sign test, valid for every law.

    The pairs are of neighbours, so that each run is in one. Of a normal law the median is 0.95 standard deviations.
    """
    from scipy import stats

    x = runs.to_numpy(dtype=np.float64)
    apart = np.sort(np.abs(x[: len(x) // 2 * 2 : 2] - x[1::2]))
    m = len(apart)

    def against(other: Relation) -> tuple[float, float]:
        counts = int((apart < other.bound).sum()), int((apart > other.bound).sum())
        nearer, farther = (float(stats.binomtest(k, m, alternative="greater").pvalue) for k in counts)
        return (nearer, farther) if other.word == "below" else (farther, nearer)

    def interval(level: float) -> tuple[float, float]:
        k = int(stats.binom.ppf(level / 2.0, m, 0.5))  # the sign test rejects with fewer than k pairs on one side
        k -= int(stats.binom.cdf(k, m, 0.5) > level / 2.0)
        return (float(apart[k]), float(apart[m - 1 - k])) if k >= 0 else (0.0, np.inf)

    return Comparison(name, float(np.median(apart)), interval, *against(relation), len(x), against=against)


def share_comparison(name: str, k: int, n: int, relation: Relation) -> Comparison:
    """Compare a share of k of n with a margin, from the side that the relation names, by the exact binomial test."""
    from scipy import stats

    def against(other: Relation) -> tuple[float, float]:
        if n == 0:
            return 1.0, 1.0
        tests = (stats.binomtest(k, n, other.bound, alternative=side) for side in ("greater", "less"))
        more, less = (float(test.pvalue) for test in tests)
        return (more, less) if other.word == "above" else (less, more)

    share = k / max(n, 1)
    error = float(np.sqrt((k + 1) * (n - k + 1) / (n + 2) ** 3))
    return Comparison(name, share, partial(_exact_interval, k, n), *against(relation), n, error=error, against=against)


def _exact_interval(k: int, n: int, level: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson, which agrees with the exact binomial test."""
    from statsmodels.stats.proportion import proportion_confint

    if n == 0:
        return 0.0, 1.0
    low, high = proportion_confint(k, n, alpha=level, method="beta")
    return float(low) if k else 0.0, float(high) if k < n else 1.0


def printed_comparison(name: str, k: int, n: int, printed: float, printed_n: int, relation: Relation) -> Comparison:
    """Test whether a share is near a printed one, by the Agresti-Caffo difference, which bears zero counts."""
    ours, theirs = (k + 1) / (n + 2), (printed * printed_n + 1) / (printed_n + 2)
    error = float(np.sqrt(ours * (1 - ours) / (n + 2) + theirs * (1 - theirs) / (printed_n + 2)))
    found = mean_comparison(f"{name}, minus the printed {printed}", Estimate(ours - theirs, error, n), relation, True)
    return replace(found, effect=k / n - printed)


def discordant_comparison(name: str, left: pd.Series, right: pd.Series, relation: Relation) -> Comparison:
    """Compare two sides on the runs in which they differ, by the exact binomial test.

    Of zeros and ones the effect is the difference of the shares (McNemar's exact test), of other values the share of
    these runs that the claim's side wins (the sign test).
    """
    more, less = int((left > right).sum()), int((left < right).sum())
    found = share_comparison(name, more if relation.word == "above" else less, more + less, Relation("above", low=0.5))
    won = mean_of(pd.Series(np.sign(left - right)), shares=True)
    if not are_shares(left, right):
        return replace(found, informative=more + less > 0, against=None, estimate=won)
    n, differ = len(left), more + less

    def interval(level: float) -> tuple[float, float]:
        low, high = _exact_interval(more, differ, level)
        return (2.0 * low - 1.0) * differ / n, (2.0 * high - 1.0) * differ / n

    # with four such runs or fewer no outcome is significant at 5%, whoever wins them
    told = somebody_succeeds(left, right) and 0.5**differ <= 0.05
    ps = found.p, found.p_opposite
    return Comparison(name, (more - less) / n, interval, *ps, n, told, error=won.error, estimate=won)


def bootstrap_comparison(name: str, effect: float, drawn: FloatArray, n: int, relation: Relation) -> Comparison:
    """Return a comparison whose p-value is the share of resamples (``drawn``) in which the claim is false."""

    def against(other: Relation) -> tuple[float, float]:
        false = int((~other.holds(drawn)).sum())
        return (1 + false) / (1 + RESAMPLES), (1 + RESAMPLES - false) / (1 + RESAMPLES)

    def interval(level: float) -> tuple[float, float]:
        low, high = np.quantile(drawn, [level / 2.0, 1.0 - level / 2.0])
        return float(low), float(high)

    return Comparison(name, effect, interval, *against(relation), n, error=float(drawn.std(ddof=1)), against=against)


def draws(generator: np.random.Generator, n: int) -> FloatArray:
    """Return how often each of n runs is drawn in every resample, shape (``RESAMPLES``, n)."""
    return generator.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES).astype(np.float64)


def weighted_means(table: pd.DataFrame, weights: FloatArray) -> FloatArray:
    """Return the mean of every column for each line of weights; missing runs have no weight."""
    there = table.notna().to_numpy(dtype=np.float64)
    return np.asarray((weights @ table.fillna(0.0).to_numpy()) / np.maximum(weights @ there, 1.0))
