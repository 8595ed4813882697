"""Tests of claims about regret over budgets: each compares per-run values of series that share their noise.

A test names a ``metric`` (a column of the rows) and one or more ``measures`` of it in a run: ``{at: N}``, its value at
a budget, or ``{over: [first, last]}``, its mean over budgets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from bestarm.interface import FloatArray
from bestarm.reporting.claim_tests import Comparison, one_sided

_RESAMPLES = 2000
_SEED = 20220222


def values_of(rows: pd.DataFrame, series: str, metric: str, measure: Mapping[str, Any]) -> pd.Series:
    """Return one value for each run of a series, indexed by replication.

    Raises
    ------
    ValueError
        If the series was not run, or not at these budgets.
    """
    mine = rows[rows["series"] == series]
    if mine.empty:
        raise ValueError(f"no rows of series {series!r}; there are: {', '.join(rows['series'].unique())}.")
    first, last = (measure["at"], measure["at"]) if "at" in measure else measure["over"]
    inside = mine[mine["budget"].between(first, last)]
    if inside.empty:
        raise ValueError(f"series {series!r} has no rows at budgets {first} to {last}.")
    found = inside.groupby("replication")[metric].mean()
    return found.astype(np.float64)


def measure_text(measure: Mapping[str, Any]) -> str:
    """Return a measure in words."""
    return f"N = {measure['at']}" if "at" in measure else f"mean over N = {measure['over'][0]}-{measure['over'][1]}"


def _paired(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[tuple[str, pd.Series]]:
    """Return the paired differences, left minus right, of every pair and measure."""
    found = []
    for e, left, right in test["pairs"]:
        for measure in test["measures"]:
            values = [values_of(rows[e], s, test["metric"], measure) for s in (left, right)]
            found.append((f"{e}: {left} - {right}, {measure_text(measure)}", values[0] - values[1]))
    return found


def _smaller(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether mean paired differences lie below ``-margin``."""
    found, margin = [], float(test.get("margin", 0.0))
    for name, difference in _paired(test, rows):
        n, error = len(difference), float(difference.std(ddof=1) / np.sqrt(len(difference)))
        mean, reach = float(difference.mean()), float(stats.t.ppf(0.975, n - 1)) * error
        p, p_opposite = one_sided(mean + margin, error, n)
        found.append(Comparison(name, mean, mean - reach, mean + reach, p, p_opposite, n))
    return found


def _between(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether mean paired differences lie between two numbers, by two one-sided t-tests."""
    found = []
    low, high = test["between"]
    for name, difference in _paired(test, rows):
        n, error = len(difference), float(difference.std(ddof=1) / np.sqrt(len(difference)))
        mean, reach = float(difference.mean()), float(stats.t.ppf(0.975, n - 1)) * error
        below, above_low = one_sided(mean - low, error, n)
        below_high, above = one_sided(mean - high, error, n)
        p, p_opposite = max(above_low, below_high), min(1.0, 2.0 * min(below, above))
        found.append(Comparison(name, mean, mean - reach, mean + reach, p, p_opposite, n))
    return found


def partial_conjunction(ps: Sequence[float], need: int) -> float:
    """Return the p-value of "at least ``need`` of these hold" (Benjamini and Heller, with Bonferroni's bound)."""
    return min(1.0, (len(ps) - need + 1) * sorted(ps)[need - 1])


def _more_often(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether the left series is smaller than the right in more than half of the runs, at ``need`` measures.

    Runs with equal values count for neither side (the sign test).
    """
    found = []
    for name, difference in _paired(test, rows):
        smaller, n = int((difference < 0).sum()), int((difference != 0).sum())
        low, high = proportion_confint(smaller, max(n, 1), method="wilson")
        p = stats.binomtest(smaller, n, 0.5, alternative="greater").pvalue if n else 1.0
        p_opposite = stats.binomtest(smaller, n, 0.5, alternative="less").pvalue if n else 1.0
        found.append(Comparison(name, smaller / max(n, 1), float(low), float(high), p, p_opposite, n))
    need = int(test["need"])
    ordered = sorted(found, key=lambda c: c.p)
    against = sorted(found, key=lambda c: c.p_opposite)
    # of m measures `need` must hold; the opposite is that more than m - need of them are reversed
    claim = partial_conjunction([c.p for c in found], need)
    opposite = partial_conjunction([c.p_opposite for c in found], len(found) - need + 1)
    shown = ordered[need - 1] if claim <= opposite else against[len(found) - need]
    text = f"{shown.name} ({need} of {len(found)} needed)"
    return [Comparison(text, shown.effect, shown.low, shown.high, claim, opposite, shown.n)]


def _share(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether the share of runs with a metric of at most ``at_most`` (or above) lies above ``share_above``."""
    found = []
    for e, series in test["series"]:
        for measure in test["measures"]:
            values = values_of(rows[e], series, test["metric"], measure)
            hits = values <= test["at_most"] if "at_most" in test else values > test["more_than"]
            k, n = int(hits.sum()), len(hits)
            low, high = proportion_confint(k, n, method="wilson")
            p = stats.binomtest(k, n, test["share_above"], alternative="greater").pvalue
            p_opposite = stats.binomtest(k, n, test["share_above"], alternative="less").pvalue
            name = f"{e}: {series}, {measure_text(measure)}"
            found.append(Comparison(name, k / n, float(low), float(high), p, p_opposite, n))
    return found


def _spread(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether the standard deviation over runs lies below a number, by the bootstrap (basic interval)."""
    found, generator = [], np.random.default_rng(_SEED)
    for e, series in test["series"]:
        for measure in test["measures"]:
            values = values_of(rows[e], series, test["metric"], measure).to_numpy()
            n, spread = len(values), float(values.std(ddof=1))
            resampled = values[generator.integers(0, n, (_RESAMPLES, n))].std(ddof=1, axis=1)
            drawn = 2.0 * spread - resampled
            p = float((1 + (drawn >= test["below"]).sum()) / (1 + _RESAMPLES))
            p_opposite = float((1 + (drawn <= test["below"]).sum()) / (1 + _RESAMPLES))
            low, high = np.quantile(drawn, [0.025, 0.975])
            name = f"{e}: standard deviation of {series}, {measure_text(measure)}"
            found.append(Comparison(name, spread, float(max(low, 0.0)), float(high), p, p_opposite, n))
    return found


def _first_budget(means: FloatArray, budgets: FloatArray, level: float) -> FloatArray:
    """Return the first budget with a mean of at most ``level``; one after the last where there is none."""
    reached = means <= level
    return np.where(reached.any(axis=-1), budgets[reached.argmax(axis=-1)], budgets[-1] + 1.0)


def _faster(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether the mean gets down to ``level`` within ``ratio`` times the budget of another series (bootstrap).

    A series that never gets there counts as one more than the largest budget.
    """
    found, generator = [], np.random.default_rng(_SEED)
    for e, left, right in test["pairs"]:
        tables = []
        for series in (left, right):
            mine = rows[e][(rows[e]["series"] == series) & (rows[e]["budget"] > 0)]
            tables.append(mine.pivot(index="replication", columns="budget", values=test["metric"]))
        budgets, n = tables[0].columns.to_numpy(dtype=np.float64), len(tables[0])
        first = [_first_budget(t.mean().to_numpy(), budgets, test["level"]) for t in tables]
        chosen = generator.multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES) / n
        resampled = [_first_budget(chosen @ t.to_numpy(), budgets, test["level"]) for t in tables]
        ratios = resampled[0] / resampled[1]
        p = float((1 + (ratios > test["ratio"]).sum()) / (1 + _RESAMPLES))
        p_opposite = float((1 + (ratios <= test["ratio"]).sum()) / (1 + _RESAMPLES))
        low, high = np.quantile(ratios, [0.025, 0.975])
        name = f"{e}: first N of {left} over that of {right}"
        found.append(Comparison(name, float(first[0] / first[1]), float(low), float(high), p, p_opposite, n))
    return found


def _grid(rows: pd.DataFrame, budgets: Sequence[int], metric: str) -> tuple[FloatArray, list[tuple[int, int]]]:
    """Return the values of every series of a K by S grid, shape (n_budgets, n_series, R), and its (K, S)."""
    names = list(rows["series"].unique())
    places = [(int(n.split(",")[0].split("=")[1]), int(n.split("S =")[1])) for n in names]
    values = np.stack([np.stack([values_of(rows, n, metric, {"at": b}).to_numpy() for n in names]) for b in budgets])
    return values, places


def _best_arity(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether one K has the smallest mean in more than half of the (S, budget) cells: bootstrap over runs."""
    (e,) = test["experiments"]
    values, places = _grid(rows[e], test["budgets"], test["metric"])
    generator, n = np.random.default_rng(_SEED), values.shape[2]
    arities = np.array(sorted({k for k, _ in places}))
    sizes = sorted({s for _, s in places})
    order = [[places.index((k, s)) for k in arities] for s in sizes]

    def wins(weights: FloatArray) -> FloatArray:
        means = np.einsum("bir,wr->wbi", values, weights)  # (resample, budget, series)
        best = means[:, :, order].argmin(axis=-1)
        return np.asarray((arities[best] == test["arity"]).mean(axis=(1, 2)))

    share = float(wins(np.full((1, n), 1.0 / n))[0])
    resampled = wins(generator.multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES) / n)
    p = float((1 + (resampled <= 0.5).sum()) / (1 + _RESAMPLES))
    p_opposite = float((1 + (resampled > 0.5).sum()) / (1 + _RESAMPLES))
    low, high = np.quantile(resampled, [0.025, 0.975])
    name = f"{e}: share of the {len(test['budgets']) * len(sizes)} cells in which K = {test['arity']} is best"
    return [Comparison(name, share, float(low), float(high), p, p_opposite, n)]


def _falls_with_size(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether mean log regret falls with S within each (K, budget), by Page's trend test.

    The effect is the mean of Kendall's tau over these blocks; below 0 it falls.
    """
    (e,) = test["experiments"]
    values, places = _grid(rows[e], test["budgets"], test["metric"])
    sizes = sorted({s for _, s in places if s >= test.get("smallest", 1)})
    arities = sorted({k for k, _ in places})
    means = values.mean(axis=2)
    blocks = np.array([[means[b, places.index((k, s))] for s in sizes] for b in range(len(means)) for k in arities])
    taus = np.array([stats.kendalltau(sizes, block).statistic for block in blocks])
    falling = stats.page_trend_test(-blocks, method="exact").pvalue
    rising = stats.page_trend_test(blocks, method="exact").pvalue
    reach = float(stats.t.ppf(0.975, len(taus) - 1) * taus.std(ddof=1) / np.sqrt(len(taus)))
    name = f"{e}: Kendall's tau of regret and S, mean over {len(blocks)} blocks of S = {', '.join(map(str, sizes))}"
    mean = float(taus.mean())
    return [Comparison(name, mean, mean - reach, mean + reach, float(falling), float(rising), values.shape[2])]


def _misses_more(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether the left series misses (metric above ``more_than``) in more runs than the right: McNemar's test."""
    found = []
    for e, left, right in test["pairs"]:
        for measure in test["measures"]:
            misses = [values_of(rows[e], s, test["metric"], measure) > test["more_than"] for s in (left, right)]
            only_left, only_right = int((misses[0] & ~misses[1]).sum()), int((misses[1] & ~misses[0]).sum())
            n, discordant = len(misses[0]), only_left + only_right
            p = stats.binomtest(only_left, discordant, 0.5, alternative="greater").pvalue if discordant else 1.0
            p_opposite = stats.binomtest(only_left, discordant, 0.5, alternative="less").pvalue if discordant else 1.0
            shift = (only_left - only_right) / (n + 2)  # Agresti and Min
            reach = 1.96 * np.sqrt((discordant + 1) / (n + 2) - shift**2) / np.sqrt(n + 2)
            name = f"{e}: misses of {left} minus those of {right}, {measure_text(measure)}"
            found.append(Comparison(name, (only_left - only_right) / n, shift - reach, shift + reach, p, p_opposite, n))
    return found


def _gap_closed(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether a change closes at least a ``part`` of the gap between two series.

    A triple (slow, changed, fast): mean of (slow - changed) - part x (slow - fast) above 0, a paired t-test.
    """
    found = []
    for e, slow, changed, fast in test["triples"]:
        for measure in test["measures"]:
            a, b, c = (values_of(rows[e], s, test["metric"], measure) for s in (slow, changed, fast))
            contrast = (a - b) - test["part"] * (a - c)
            n, error = len(contrast), float(contrast.std(ddof=1) / np.sqrt(len(contrast)))
            p_opposite, p = one_sided(float(contrast.mean()), error, n)
            gap, closed = (a - c).mean(), (a - b).mean()
            influence = ((a - b) - closed - closed / gap * ((a - c) - gap)) / gap
            reach = float(stats.t.ppf(0.975, n - 1) * influence.std(ddof=1) / np.sqrt(n))
            name = f"{e}: part of the gap {slow} to {fast} that {changed} closes, {measure_text(measure)}"
            found.append(Comparison(name, closed / gap, closed / gap - reach, closed / gap + reach, p, p_opposite, n))
    return found


def _rate(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether log mean regret falls with log(N/log N) at least as steeply as ``slope``, by the bootstrap."""
    found, generator = [], np.random.default_rng(_SEED)
    for e, series in test["series"]:
        mine = rows[e][(rows[e]["series"] == series) & rows[e]["budget"].isin(test["budgets"])]
        table = mine.pivot(index="replication", columns="budget", values=test["metric"])
        budgets, n = table.columns.to_numpy(dtype=np.float64), len(table)
        x = np.log(budgets / np.log(budgets))
        x = x - x.mean()

        def slope(means: FloatArray, x: FloatArray = x) -> FloatArray:
            return np.asarray(np.log(np.maximum(means, 1e-9)) @ x / (x @ x))

        chosen = generator.multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES) / n
        resampled = slope(chosen @ table.to_numpy())
        p = float((1 + (resampled > test["slope"]).sum()) / (1 + _RESAMPLES))
        p_opposite = float((1 + (resampled <= test["slope"]).sum()) / (1 + _RESAMPLES))
        low, high = np.quantile(resampled, [0.025, 0.975])
        name = f"{e}: slope of {series} for N = {budgets[0]:.0f} to {budgets[-1]:.0f}"
        found.append(Comparison(name, float(slope(table.mean().to_numpy())), float(low), float(high), p, p_opposite, n))
    return found


REGRET_TESTS: dict[str, Callable[[Mapping[str, Any], Mapping[str, pd.DataFrame]], list[Comparison]]] = {
    "smaller": _smaller,
    "between": _between,
    "more_often": _more_often,
    "share": _share,
    "spread": _spread,
    "faster": _faster,
    "best_arity": _best_arity,
    "falls_with_size": _falls_with_size,
    "misses_more": _misses_more,
    "gap_closed": _gap_closed,
    "rate": _rate,
}


def describe_regret(test: Mapping[str, Any]) -> str:
    """Return a test of this module in words; an empty string for any other."""
    metric = str(test.get("metric", "")).replace("_", " ")
    match test["kind"]:
        case "smaller":
            margin = f" by more than {test['margin']}" if test.get("margin") else ""
            return f"mean {metric} smaller{margin}, paired t-test, every pair and measure"
        case "between":
            return f"mean paired difference of {metric} between {test['between']}, two one-sided t-tests"
        case "more_often":
            return f"smaller {metric} in more than half of the runs, sign test, at {test['need']} measures or more"
        case "share":
            side = f"at most {test['at_most']}" if "at_most" in test else f"above {test['more_than']}"
            return f"share of runs with {metric} {side} larger than {test['share_above']}, exact binomial test"
        case "spread":
            return f"standard deviation of {metric} over runs below {test['below']}, bootstrap"
        case "faster":
            return f"mean {metric} at {test['level']} within {test['ratio']} of the other's budget, bootstrap"
        case "best_arity":
            return f"K = {test['arity']} smallest in more than half of the cells, bootstrap over runs"
        case "falls_with_size":
            return f"mean {metric} falls with S within (K, N), Page's exact trend test"
        case "misses_more":
            return f"more runs with {metric} above {test['more_than']}, McNemar's exact test"
        case "rate":
            return f"log mean {metric} falls with log(N / log N) with a slope of at most {test['slope']}, bootstrap"
        case "gap_closed":
            return f"the change closes at least {test['part']} of the gap in {metric}, paired t-test"
    return ""
