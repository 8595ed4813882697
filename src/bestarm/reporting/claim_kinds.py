"""The eight kinds of a claim's test, over the grammar of `bestarm.reporting.claim_cells`.

``difference`` and ``ratio`` compare means, ``share`` a share of the runs with a number, ``discordant`` two sides on
the runs in which they differ. ``mostly`` counts the cells in which one side is ahead, ``rank`` those in which a series
has a rank. ``slope`` is the change along a setting, ``spread`` the standard deviation over runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy import stats

from bestarm.interface import BoolArray, FloatArray
from bestarm.reporting.claim_cells import (
    Rows,
    Sides,
    Value,
    Values,
    cell_name,
    cells_of,
    kind_of,
    sides,
    tables_in,
    variants,
)
from bestarm.reporting.claim_pooling import count_law, quantiles
from bestarm.reporting.claim_statistics import (
    RESAMPLES,
    SEED,
    Comparison,
    Test,
    are_shares,
    bootstrap_comparison,
    discordant_comparison,
    draws,
    limits,
    log_ratio,
    mean_comparison,
    printed_comparison,
    ratio_comparison,
    share_comparison,
    somebody_succeeds,
    standard_error,
    weighted_means,
)

_TIE = 1e-3
Judged = Iterator[tuple[pd.DataFrame, Callable[[FloatArray], BoolArray]]]  # a cell's runs, and what holds of means


def comparisons_of(test: Test, rows: Rows, values: Values) -> list[Comparison]:
    """Return every comparison that a claim rests on."""
    return list(_KINDS[kind_of(test)](test, rows, values))


def _change(side: Sides) -> tuple[pd.Series, bool]:
    """Return left minus right by run, and whether both are zeros and ones."""
    left, right = side.values()
    return (left, are_shares(left)) if right is None else (left - right, are_shares(left, right))


def _difference(test: Test, rows: Rows, values: Values) -> Iterator[Comparison]:
    """Compare the mean of left, or of left minus right, with a margin; with ``from`` its change from another cell."""
    for side in sides(test, rows, values):
        change, shares = _change(side)
        mean, n = float(change.mean()), len(change)
        informative = somebody_succeeds(*side.values()) and not side.guesses()
        if side.base is None:
            error = standard_error(change, shares=shares and side.right is not None)
        else:  # cells have noise of their own
            before, _ = _change(side.base)
            error = float(np.sqrt(sum(_variance(d, shares) for d in (change, before))))
            mean, n = mean - float(before.mean()), min(n, len(before))
        yield mean_comparison(side.name, mean, error, n, test, informative)


def _variance(d: pd.Series, shares: bool) -> float:
    """Return the squared standard error of a mean; of zeros and ones as if one more run had been off by one."""
    return float(((d - d.mean()) ** 2).sum() + 1.0) / len(d) ** 2 if shares else float(d.var(ddof=1)) / len(d)


def _ratio(test: Test, rows: Rows, values: Values) -> Iterator[Comparison]:
    """Compare the ratio of means with a margin; that of a statistic of means by the bootstrap."""
    value, generator = values.get(test["ratio"]), np.random.default_rng(SEED)
    for side in sides(test, rows, values):
        if value is not None and value.statistic is not None:
            n = len(side.left)
            weights = [np.ones((1, n)), draws(generator, n)]
            assert side.right is not None
            (effect,), drawn = (
                _statistic(value, side.left, w, test) / _statistic(value, side.right, w, test) for w in weights
            )
            yield bootstrap_comparison(side.name, float(effect), drawn, n, _holds(test, drawn))
        else:
            left, right = side.values()
            yield ratio_comparison(side.name, left, right, test, paired=side.paired, informative=not side.cut())


def _statistic(value: Value, table: pd.DataFrame, weights: FloatArray, test: Test) -> FloatArray:
    assert value.statistic is not None
    return value.statistic(weighted_means(table, weights), table.columns.to_numpy(dtype=np.float64), test)


def _holds(test: Test, drawn: FloatArray) -> BoolArray:
    if "below" in test:
        return np.asarray(drawn <= test["below"])
    if "above" in test:
        return np.asarray(drawn >= test["above"])
    low, high = limits(test["within"])
    return np.asarray((drawn >= low) & (drawn <= high))


def _share(test: Test, rows: Rows, values: Values) -> Iterator[Comparison]:
    """Compare the share of runs in which something holds with a number, or with a printed share."""
    for side in sides(test, rows, values):
        runs = _condition(test, side.left.iloc[:, 0].dropna())
        k, n = int(runs.sum()), len(runs)
        if "printed" not in test:
            yield share_comparison(side.name, k, n, test, test["above"] if "above" in test else test["below"])
            continue
        printed = test["printed"][side.experiment]
        found = printed.get(side.series, printed.get("*"))
        if found is not None:
            share, runs_there = found if isinstance(found, list) else (found, test["printed_n"])
            yield printed_comparison(side.name, k, n, share, runs_there, test["within"])


def _condition(test: Test, values: pd.Series) -> pd.Series:
    """Return in which runs ``runs: {at_most: x}`` (or ``above``) holds; without it, where the value is positive."""
    rule = test.get("runs", {"above": 0.0})
    return values <= rule["at_most"] if "at_most" in rule else values > rule["above"]


def _discordant(test: Test, rows: Rows, values: Values) -> Iterator[Comparison]:
    """Compare both sides on the runs in which they differ."""
    for side in sides(test, rows, values):
        left, right = side.values()
        assert right is not None
        if "runs" in test:
            left, right = _condition(test, left).astype(np.float64), _condition(test, right).astype(np.float64)
        yield discordant_comparison(side.name, left, right, test)


def _mostly(test: Test, rows: Rows, values: Values) -> Iterator[Comparison]:
    """Compare the share of the cells in which left is ahead of right with the share that the claim names.

    Cells are pooled by `bestarm.reporting.claim_pooling.count_law`; those that say nothing are left out.
    """
    found = [cell for side in sides(test, rows, values) if (cell := _ahead(side, test)) is not None]
    name = f"share of {len(found)} cells in which left is ahead"
    if not found:
        yield Comparison(name, np.nan, np.nan, np.nan, 1.0, 1.0, 0, informative=False)
        return
    distances, errors, runs = (np.array(column) for column in zip(*found, strict=True))
    m, law = len(found), count_law(distances, errors)
    need = np.floor(test["in_more_than"] * m) + 1 if "in_more_than" in test else np.ceil(test["in_cells"] * m - 1e-9)
    fails, holds = (min(1.0, float(part.sum())) for part in (law[: int(need)], law[int(need) :]))
    low, high = quantiles(law, np.array([0.025, 0.975])) / m
    share = float(law @ np.arange(m + 1)) / m
    yield Comparison(name, share, float(low), float(high), fails, holds, int(runs.min()))


def _ahead(side: Sides, test: Test) -> tuple[float, float, int] | None:
    """Return how far a cell's effect is from the margin, negative on the claim's side, its error, and the runs."""
    left, right = side.values()
    assert right is not None
    if side.cut() or side.guesses() or not somebody_succeeds(left, right):
        return None
    relation = next(key for key in ("below", "above", "at_least") if test.get(key) is not None)
    if test.get("by") == "ratio":
        effect, error, n = log_ratio(left, right, paired=side.paired)
        margin = float(np.log(test[relation]))
    else:
        change = left - right
        effect, n, margin = float(change.mean()), len(change), float(test[relation])
        error = standard_error(change, shares=are_shares(left, right))
    distance = effect - margin if relation == "below" else margin - effect
    if distance == error == 0.0:  # equal in every run: at least as good, and not better
        distance = -_TIE if relation == "at_least" else _TIE
    return distance, error, n


def _rank(test: Test, rows: Rows, values: Values) -> Iterator[Comparison]:
    """Compare the share of the cells in which left has a rank ``among`` some with the share that the claim names."""
    sign = -1.0 if test.get("best") == "lowest" else 1.0

    def has_rank(means: FloatArray) -> BoolArray:
        return np.asarray((sign * means[:, 1:] > sign * means[:, [0]]).sum(axis=1) + 1 == test["is"])

    def cells() -> Judged:
        for side in sides({**test, "right": {"highest": test["among"]}}, rows, values):
            assert side.right is not None
            if side.guesses():
                continue
            others = side.right[[name for name in side.right if name != test["left"]]]
            yield pd.concat([side.left, others], axis=1), has_rank

    yield _count_cells(test, cells(), f"cells in which {test['left']} has rank {test['is']}")


def _count_cells(test: Test, cells: Judged, text: str) -> Comparison:
    """Count cells, and bootstrap the runs: anew in every cell, or together where cells share their noise."""
    generator = np.random.default_rng(SEED)
    held: list[bool] = []
    drawn, n, informative = np.zeros(RESAMPLES), 0, False
    weights = np.zeros((0, 0))
    for table, judge in cells:
        if not (test.get("noise") == "shared" and weights.shape[1] == len(table)):
            weights = draws(generator, len(table))
        n = len(table)
        held.append(bool(judge(weighted_means(table, np.ones((1, n))))[0]))
        drawn += judge(weighted_means(table, weights))
        informative |= bool((table.nunique() > 1).any())
    if not held:
        return Comparison(f"share of 0 {text}", np.nan, np.nan, np.nan, 1.0, 1.0, 0, informative=False)
    drawn /= len(held)
    enough = drawn > test["in_more_than"] if "in_more_than" in test else drawn >= test["in_cells"]
    return bootstrap_comparison(f"share of {len(held)} {text}", float(np.mean(held)), drawn, n, enough, informative)


def _slope(test: Test, rows: Rows, values: Values) -> Iterator[Comparison]:
    """Compare a slope with a margin: of a statistic of means, of ranks, or of left minus right by least squares."""
    value = values.get(test["slope"])
    if value is not None and value.statistic is not None:
        generator = np.random.default_rng(SEED)
        for side in sides(test, rows, values):
            n = len(side.left)
            (effect,), drawn = (_statistic(value, side.left, w, test) for w in (np.ones((1, n)), draws(generator, n)))
            yield bootstrap_comparison(side.name, float(effect), drawn, n, _holds(test, drawn))
    elif test.get("by") == "ranks":
        yield _page(test, rows, values)
    else:
        yield from _least_squares(test, rows, values)


def _page(test: Test, rows: Rows, values: Values) -> Comparison:
    """Compare the mean of Kendall's tau over cells with 0, by Page's exact trend test over the columns ``among``."""
    columns = test["among"]
    tables = [
        tables_in(v, experiment, where, rows, values)["left"][columns]
        for v in variants(test)
        for experiment, where in cells_of(v)
    ]
    blocks = np.array([table.mean().to_numpy() for table in tables])
    taus = np.array([stats.kendalltau(columns, block).statistic for block in blocks])
    falls, rises = (float(stats.page_trend_test(s * blocks, method="exact").pvalue) for s in (-1.0, 1.0))
    mean, reach = (
        float(taus.mean()),
        float(stats.t.ppf(0.975, len(taus) - 1)) * float(taus.std(ddof=1) / np.sqrt(len(taus))),
    )
    p, p_opposite = (falls, rises) if "below" in test else (rises, falls)
    name = f"Kendall's tau along {', '.join(map(str, columns))}, mean over {len(blocks)} cells"
    return Comparison(name, mean, mean - reach, mean + reach, p, p_opposite, len(tables[0]))


def _least_squares(test: Test, rows: Rows, values: Values) -> Iterator[Comparison]:
    """Compare the slope of left minus right per doubling of ``along`` with a margin; cells have noise of their own."""
    along = test["along"]
    for variant in variants(test):
        for experiment, entry in variant["cells"].items():
            rest = {key: setting for key, setting in entry.items() if key != along}
            for _, where in cells_of({"cells": {experiment: rest}}):
                points = []
                for at in entry[along]:
                    (side,) = sides({**variant, "cells": {experiment: {**where, along: at}}}, rows, values)
                    change, shares = _change(side)
                    points.append((np.log2(at), float(change.mean()), _variance(change, shares), len(change)))
                xs, ys, variances, ns = (np.array(column) for column in zip(*points, strict=True))
                weights = 1.0 / variances
                x = xs - np.average(xs, weights=weights)
                slope, error = (
                    float((weights * x * ys).sum() / (weights * x**2).sum()),
                    float(1 / np.sqrt((weights * x**2).sum())),
                )
                name = f"{cell_name(experiment, where)}, per doubling of {along}"
                yield mean_comparison(name, slope, error, int(ns[-1]), test, True)


def _spread(test: Test, rows: Rows, values: Values) -> Iterator[Comparison]:
    """Compare the standard deviation over runs with a margin, by the basic bootstrap."""
    generator = np.random.default_rng(SEED)
    for side in sides(test, rows, values):
        runs = side.values()[0].to_numpy()
        n, spread = len(runs), float(runs.std(ddof=1))
        drawn = 2.0 * spread - runs[generator.integers(0, n, (RESAMPLES, n))].std(ddof=1, axis=1)
        yield bootstrap_comparison(side.name, spread, np.maximum(drawn, 0.0), n, _holds(test, drawn))


_KINDS: dict[str, Callable[[Test, Rows, Values], Iterator[Comparison]]] = {
    "difference": _difference,
    "ratio": _ratio,
    "share": _share,
    "discordant": _discordant,
    "mostly": _mostly,
    "rank": _rank,
    "slope": _slope,
    "spread": _spread,
}
_METHODS = {
    "difference": "difference of {}, t-test",
    "ratio": "ratio of mean {}, t-test on the log scale",
    "share": "share of runs with {}, exact binomial test",
    "discordant": "runs that differ in {}, exact binomial test",
    "mostly": "share of the cells in which left is ahead in {}, pooled model of the cells",
    "rank": "share of the cells in which left has the rank by {}, bootstrap over runs",
    "slope": "slope of {}, {}",
    "spread": "standard deviation over runs of {}, bootstrap",
}


def margin_of(test: Test) -> str:
    """Return what a claim's effect must meet, in words."""
    kind = kind_of(test)
    if kind in ("mostly", "rank"):
        return f"more than {test['in_more_than']}" if "in_more_than" in test else f"at least {test['in_cells']}"
    if kind == "discordant":
        return "above 0" if "above" in test else "below 0"
    if "within" in test:
        low, high = limits(test["within"])
        return f"between {low:g} and {high:g}"
    return next(f"{word} {test[word]:g}" for word in ("above", "below") if word in test)


def words_of(test: Test, values: Values) -> str:
    """Return a test in words, from the parts of the grammar."""
    kind = kind_of(test)
    name = str(test[kind])
    words = values[name].words if name in values else name.replace("_", " ")
    if "runs" in test:
        words += " " + ", ".join(f"{k.replace('_', ' ')} {v:g}" for k, v in test["runs"].items())
    if kind == "mostly":
        bound = next(f"{k.replace('_', ' ')} {test[k]:g}" for k in ("below", "above", "at_least") if k in test)
        words += f" ({test.get('by', 'difference')} {bound})"
    method = {None: "bootstrap over runs"}.get(test.get("along"), "weighted least squares")
    text = _METHODS[kind].format(words, "Page's exact trend test" if test.get("by") == "ranks" else method)
    if name in values and values[name].statistic is not None:
        text = f"{kind} of {words}, bootstrap over runs"
    if kind == "difference" and "right" not in test and "pairs" not in test:
        text = text.replace("difference of", "change of mean" if "from" in test else "mean of", 1)
    if "printed" in test:
        text = f"share of runs with {words}, minus the printed one, two one-sided Agresti-Caffo tests"
    need = f", in {test['need']} comparisons or more" if "need" in test else ""
    return f"{text}: {margin_of(test)}{need}"
