"""Tests of claims about accuracy: shares of runs that find the best arm, compared cell by cell on the same instances.

A test names ``cells``, a list of ``{experiment: e, <setting>: value or values, ...}``; ``per_arm`` is the budget over
the number of arms. Every combination of values is a cell. A group of series is a name or a list; of a list the series
with the highest accuracy in the cell counts (the groups that the paper compares are such lists).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bestarm.interface import FloatArray
from bestarm.reporting.accuracy_summaries import in_cells
from bestarm.reporting.claim_tests import Comparison, one_sided

_RESAMPLES = 2000
_SEED = 20220723


def cells_of(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of each cell and a table of its runs: ``correct`` by replication (rows) and series (columns).

    Raises
    ------
    ValueError
        For a cell without rows.
    """
    for entry in test["cells"]:
        settings = {k: v if isinstance(v, list) else [v] for k, v in entry.items() if k != "experiment"}
        for values in itertools.product(*settings.values()):
            where = dict(zip(settings, values, strict=True))
            found = in_cells(rows[entry["experiment"]], where)
            name = f"{entry['experiment']}: " + ", ".join(f"{k} = {v}" for k, v in where.items())
            if found.empty:
                raise ValueError(f"no rows in the cell {name}.")
            yield name, found.pivot(index="replication", columns="series", values=test.get("metric", "correct"))


def best_of(table: pd.DataFrame, group: str | Sequence[str]) -> str:
    """Return the series of a group with the highest mean in a cell, of those that were run there."""
    names = [group] if isinstance(group, str) else list(group)
    there = [name for name in names if name in table]
    if not there:
        raise ValueError(f"none of the series {', '.join(names)} was run; there are: {', '.join(table.columns)}.")
    return str(table[there].mean().idxmax())


def _difference(name: str, left: pd.Series, right: pd.Series, margin: float) -> Comparison:
    """Test whether the mean of left - right lies above the margin: a paired test with Agresti and Min's variance."""
    d = (left - right).dropna()
    n = len(d)
    mean = float(d.mean())
    shrunk = float(d.sum()) / (n + 2)
    error = float(np.sqrt(((d**2).sum() + 1.0) / (n + 2) - shrunk**2) / np.sqrt(n + 2))
    p_opposite, p = one_sided(mean - margin, error, n)
    reach = float(stats.t.ppf(0.975, n - 1)) * error
    return Comparison(name, mean, mean - reach, mean + reach, p, p_opposite, n)


def _more_accurate(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test in every cell whether the left group is more accurate than the right one by more than ``margin``."""
    found = []
    for name, table in cells_of(test, rows):
        left, right = best_of(table, test["left"]), best_of(table, test["right"])
        text = f"{name}, {left} - {right}"
        found.append(_difference(text, table[left], table[right], float(test.get("margin", 0.0))))
    return found


def _as_accurate(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test in every cell whether two series differ by less than ``within``: two one-sided tests."""
    found = []
    for name, table in cells_of(test, rows):
        left, right = best_of(table, test["left"]), best_of(table, test["right"])
        above = _difference("", table[left], table[right], -test["within"])
        below = _difference("", table[right], table[left], -test["within"])
        p, p_opposite = max(above.p, below.p), min(1.0, 2.0 * min(above.p_opposite, below.p_opposite))
        text = f"{name}, {left} - {right}"
        found.append(Comparison(text, above.effect, above.low, above.high, p, p_opposite, above.n))
    return found


def _count_wins(
    test: Mapping[str, Any],
    rows: Mapping[str, pd.DataFrame],
    wins: Callable[[pd.DataFrame], Callable[[FloatArray], FloatArray]],
    text: str,
) -> list[Comparison]:
    """Test whether a statement about means holds in at least (more than) a ``share`` of the cells: the bootstrap."""
    generator = np.random.default_rng(_SEED)
    held: list[bool] = []
    resampled = np.zeros(_RESAMPLES)
    n = 0
    for _, table in cells_of(test, rows):
        judge, n = wins(table), len(table)
        held.append(bool(judge(table.mean().to_numpy()[None])[0]))
        there = table.notna().to_numpy(dtype=np.float64)  # some series have fewer runs
        chosen = generator.multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES).astype(np.float64)
        means = (chosen @ table.fillna(0.0).to_numpy()) / np.maximum(chosen @ there, 1.0)
        resampled += judge(means)
    m = len(held)
    resampled /= m
    share = float(test["share"])
    p = float((1 + (resampled < share).sum()) / (1 + _RESAMPLES))
    p_opposite = float((1 + (resampled >= share).sum()) / (1 + _RESAMPLES))
    low, high = np.quantile(resampled, [0.025, 0.975])
    return [Comparison(f"share of {m} cells in which {text}", float(np.mean(held)), low, high, p, p_opposite, n)]


def _mostly_best(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether the best of the left group is at least the best of the right, less ``slack``, in most cells."""
    slack = float(test.get("slack", 0.0))

    def wins(table: pd.DataFrame) -> Callable[[FloatArray], FloatArray]:
        names = list(table.columns)
        left, right = (
            [names.index(s) for s in ([g] if isinstance(g, str) else g) if s in names]
            for g in (test["left"], test["right"])
        )
        return lambda means: np.asarray(means[:, left].max(axis=1) >= means[:, right].max(axis=1) - slack)

    return _count_wins(test, rows, wins, f"{test['name']} is ahead")


def _has_rank(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether a series has a rank among ``among`` (1 is best) in at least a share of the cells."""

    def wins(table: pd.DataFrame) -> Callable[[FloatArray], FloatArray]:
        names = [s for s in test["among"] if s in table]
        own = list(table.columns).index(test["series"])
        others = [list(table.columns).index(s) for s in names if s != test["series"]]
        return lambda means: np.asarray((means[:, others] > means[:, [own]]).sum(axis=1) + 1 == test["rank"])

    return _count_wins(test, rows, wins, f"{test['series']} has rank {test['rank']}")


def _contrast(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test a change from the first cell to the second: of left, or of left minus right, above ``margin`` (or below).

    ``direction: falls`` tests whether the change lies below ``-margin``. Cells have independent noise.
    """
    found, sign = [], -1.0 if test["direction"] == "falls" else 1.0
    cells = list(cells_of(test, rows))
    for (first_name, first), (second_name, second) in zip(cells[::2], cells[1::2], strict=True):
        changes, variances, ns = [], [], []
        for table in (first, second):
            d = table[best_of(table, test["left"])]
            if "right" in test:
                d = d - table[best_of(table, test["right"])]
            d = d.dropna()
            changes.append(float(d.mean()))
            variances.append(float(((d - d.mean()) ** 2).sum() + 1.0) / len(d) ** 2)
            ns.append(len(d))
        change, error = changes[1] - changes[0], float(np.sqrt(sum(variances)))
        p_opposite, p = one_sided(sign * change - float(test.get("margin", 0.0)), error, min(ns))
        reach = 1.96 * error
        what = f"{test['left']} - {test['right']}" if "right" in test else str(test["left"])
        text = f"change of {what} from {first_name} to {second_name}"
        found.append(Comparison(text, change, change - reach, change + reach, p, p_opposite, min(ns)))
    return found


def _trend(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether left minus right rises with log2 of a setting: weighted least squares over the cells."""
    found = []
    for entry in test["cells"]:
        xs, ys, variances, n = [], [], [], 0
        for value in entry[test["along"]]:
            ((_, table),) = cells_of({**test, "cells": [{**entry, test["along"]: value}]}, rows)
            d = (table[best_of(table, test["left"])] - table[best_of(table, test["right"])]).dropna()
            xs.append(np.log2(value))
            ys.append(float(d.mean()))
            variances.append(float(((d - d.mean()) ** 2).sum() + 1.0) / len(d) ** 2)
            n = len(d)
        weights = 1.0 / np.array(variances)
        x = np.array(xs) - np.average(xs, weights=weights)
        slope = float((weights * x * np.array(ys)).sum() / (weights * x**2).sum())
        error = float(1.0 / np.sqrt((weights * x**2).sum()))
        p_opposite, p = one_sided(slope, error, n)
        where = ", ".join(f"{k} = {v}" for k, v in entry.items() if k not in ("experiment", test["along"]))
        text = f"{entry['experiment']}: {where}, slope of {test['left']} - {test['right']} per doubling"
        found.append(Comparison(text, slope, slope - 1.96 * error, slope + 1.96 * error, p, p_opposite, n))
    return found


ACCURACY_TESTS: dict[str, Callable[[Mapping[str, Any], Mapping[str, pd.DataFrame]], list[Comparison]]] = {
    "more_accurate": _more_accurate,
    "as_accurate": _as_accurate,
    "mostly_best": _mostly_best,
    "has_rank": _has_rank,
    "contrast": _contrast,
    "trend": _trend,
}


def describe_accuracy(test: Mapping[str, Any]) -> str:
    """Return a test of this module in words; an empty string for any other."""
    match test["kind"]:
        case "more_accurate":
            margin = f" by more than {test['margin']}" if test.get("margin") else ""
            return f"accuracy higher{margin} in every cell, paired test on the same instances"
        case "as_accurate":
            return f"accuracies within {test['within']} in every cell, two one-sided paired tests"
        case "mostly_best":
            slack = f", less {test['slack']}," if test.get("slack") else ""
            return f"accuracy at least the best rival's{slack} in at least {test['share']:.0%} of the cells, bootstrap"
        case "has_rank":
            return f"rank {test['rank']} in at least {test['share']:.0%} of the cells, bootstrap over runs"
        case "contrast":
            return f"accuracy {test['direction']} from one cell to the other, z-test"
        case "trend":
            return f"difference of accuracies rises with log2 of {test['along']}, weighted least squares"
    return ""
