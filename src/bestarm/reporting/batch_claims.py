"""Tests of claims about batch searches: how many batches until a top arm, compared run by run on the same arms.

A test names ``cells``, a list of ``{experiment: e, <setting>: value or values, ...}``; every combination of values is a
cell. ``left`` and ``right`` are a series, or a list of settings of one method, of which the best is taken: for each run
the one with the lowest mean over all *other* runs, so that no run chooses its own judge. ``lefts`` and ``rights`` are
lists that must all hold. ``left_in`` and ``right_in`` name another experiment for one side, ``right_where`` settings in
which its cell differs (then the runs are not paired). Sides are compared over the batches that both have.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bestarm.reporting.batch_summaries import MAIN_TAU, first_hits, marked_runs, shared_rounds, without_broken
from bestarm.reporting.claim_tests import Comparison, compare_means, one_sided

_RESAMPLES = 2000
_SEED = 20230501
Rows = Mapping[str, pd.DataFrame]
Side = str | Sequence[str]


def measured(rows: pd.DataFrame, metric: str, tau: float) -> pd.DataFrame:
    """Return one value for each run (rows) and series (columns) of a cell.

    Parameters
    ----------
    rows : DataFrame
        Rows of one cell.
    metric : {"first", "area", "reward", "distance"}
        Batches until a top arm, one more than there are where none was found; mean relative regret of the best arm so
        far, over all batches; mean reward, and mean distance of two arms of a batch, both from the second batch on.
    tau : float
        Quantile of ``first``.
    """
    kept = without_broken(rows)
    if metric == "first":
        return first_hits(kept, tau)["first"].unstack("series")
    column = {"area": "relative_regret", "reward": "reward", "distance": "distance"}[metric]
    kept = kept[kept["round"] > (0 if metric == "area" else 1)]
    return kept.groupby(["replication", "series"], sort=False)[column].mean().unstack("series").astype(np.float64)


def best_of_others(table: pd.DataFrame, side: Side) -> pd.Series:
    """Return a series' values, or those of the best of some series, chosen for each run by the others."""
    if isinstance(side, str):
        return table[side].dropna()
    mine = table[list(side)].dropna()
    others = (mine.sum() - mine) / max(len(mine) - 1, 1)
    chosen = others.to_numpy().argmin(axis=1)
    return pd.Series(mine.to_numpy()[np.arange(len(mine)), chosen], index=mine.index)


def name_of(side: Side) -> str:
    """Return a side in words."""
    if isinstance(side, str):
        return side
    return f"best {side[0].rpartition(' ')[0] or side[0]}"


def _cell(rows: pd.DataFrame, where: Mapping[str, Any], text: str) -> pd.DataFrame:
    kept = np.ones(len(rows), dtype=np.bool_)
    for setting, value in where.items():
        kept &= (rows[setting] == value).to_numpy()
    if not kept.any():
        raise ValueError(f"no rows in the cell {text}.")
    return rows[kept]


def _series(test: Mapping[str, Any]) -> tuple[Sequence[Side], Sequence[Side]]:
    return test.get("lefts") or [test["left"]], test.get("rights") or [test["right"]]


def _cells(test: Mapping[str, Any], rows: Rows) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield the name and both sides' rows of every cell of a test."""
    for entry in test["cells"]:
        e = entry["experiment"]
        settings = {k: v if isinstance(v, list) else [v] for k, v in entry.items() if k != "experiment"}
        for values in itertools.product(*settings.values()):
            where = dict(zip(settings, values, strict=True))
            text = ", ".join(map(str, (e, *where.values())))
            left, right = rows[test.get("left_in", e)], rows[test.get("right_in", e)]
            yield text, _cell(left, where, text), _cell(right, where | test.get("right_where", {}), text)


def sides(test: Mapping[str, Any], rows: Rows) -> Iterator[tuple[str, pd.Series, pd.Series, bool]]:
    """Yield the name, both sides' values by run, and whether runs are paired, for every comparison of a test.

    Raises
    ------
    ValueError
        For a cell without rows.
    """
    metric, tau = test.get("metric", "first"), float(test.get("tau", MAIN_TAU))
    lefts, rights = _series(test)
    for text, *cells in _cells(test, rows):
        tables = [measured(cell, metric, tau) for cell in shared_rounds(*cells)]
        pairs = zip(lefts, rights, strict=True) if test.get("matched") else itertools.product(lefts, rights)
        for left, right in pairs:
            first, second = best_of_others(tables[0], left), best_of_others(tables[1], right)
            paired = "right_where" not in test
            if paired:
                both = first.index.intersection(second.index)
                first, second = first[both], second[both]
            yield f"{text}: {name_of(left)} / {name_of(right)}", first, second, paired


def divergence(test: Mapping[str, Any], rows: Rows) -> str:
    """Return in how many of the runs that a test compares some fit passed 10^4, in words; empty if in none."""
    passed = n = 0
    for _, *cells in _cells(test, rows) if "cells" in test else ():
        for cell, side in zip(cells, _series(test), strict=True):
            names = {name for one in side for name in ([one] if isinstance(one, str) else one)}
            marks = marked_runs(cell[cell["series"].isin(names)])["beyond"]
            passed, n = passed + int(marks.sum()), n + len(marks)
    return f"; fits passed 10⁴ in {passed} of {n} runs" if passed else ""


def _ratio_of_means(test: Mapping[str, Any], rows: Rows) -> list[Comparison]:
    """Test in every cell whether the ratio of means is below a bound, above one, or within two."""
    found = []
    for name, left, right, paired in sides(test, rows):
        rule = {"paired": paired}
        if test.get("above"):
            turned = compare_means(right, left, rule | {"below": 1.0 / test["above"]}, name)
            line = Comparison(
                name, 1 / turned.effect, 1 / turned.high, 1 / turned.low, turned.p, turned.p_opposite, turned.n
            )
            found.append(line)
        else:
            found.append(
                compare_means(left, right, rule | {k: test[k] for k in ("below", "similar") if k in test}, name)
            )
    return found


def _mostly(test: Mapping[str, Any], rows: Rows) -> list[Comparison]:
    """Test whether the ratio of means is below (above) a bound in at least a share of the cells: the bootstrap."""
    generator = np.random.default_rng(_SEED)
    held, resampled, n = [], np.zeros(_RESAMPLES), 0

    def holds(left: Any, right: Any) -> Any:
        return left < test["below"] * right if test.get("below") else left > test["above"] * right

    for _, left, right, _ in sides(test, rows):
        n = min(len(left), len(right))
        held.append(bool(holds(left.mean(), right.mean())))
        weights = generator.multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES) / n
        resampled += holds(weights @ left.to_numpy()[:n], weights @ right.to_numpy()[:n])
    resampled /= len(held)
    share = float(test["share"])
    p = float((1 + (resampled < share).sum()) / (1 + _RESAMPLES))
    p_opposite = float((1 + (resampled >= share).sum()) / (1 + _RESAMPLES))
    low, high = np.quantile(resampled, [0.025, 0.975])
    text = f"share of {len(held)} comparisons that hold"
    return [Comparison(text, float(np.mean(held)), float(low), float(high), p, p_opposite, n)]


def _gains(table: pd.DataFrame, method: Side, baseline: Side) -> tuple[float, float, int]:
    """Return 1 - mean(method) / mean(baseline), its standard error by the delta method, and n."""
    left, right = best_of_others(table, method), best_of_others(table, baseline)
    both = left.index.intersection(right.index)
    left, right = left[both], right[both]
    influence = -(left - left.mean()) / right.mean() + (right - right.mean()) * left.mean() / right.mean() ** 2
    return float(1 - left.mean() / right.mean()), float(influence.std(ddof=1) / np.sqrt(len(left))), len(left)


def _gain_difference(test: Mapping[str, Any], rows: Rows) -> list[Comparison]:
    """Test how two cells differ in a method's relative gain on a baseline: ``within`` a margin, or ``above`` it."""
    tau, found = float(test.get("tau", MAIN_TAU)), []
    for pair in test["contrasts"]:
        gains, cells = [], []
        for entry in pair:
            where = {k: v for k, v in entry.items() if k not in ("experiments", "left", "right")}
            cells += [_cell(rows[e], where, str(entry)) for e in entry["experiments"]]
        cells = shared_rounds(*cells)
        for entry in pair:
            tables = [measured(cells.pop(0), "first", tau) for _ in entry["experiments"]]
            gains.append(_gains(pd.concat(tables, axis=1).T.groupby(level=0).first().T, entry["left"], entry["right"]))
        difference = gains[0][0] - gains[1][0]
        error, n = float(np.hypot(gains[0][1], gains[1][1])), min(gains[0][2], gains[1][2])
        reach = float(stats.t.ppf(0.975, n - 1)) * error
        if "within" in test:
            below, above_low = one_sided(difference + test["within"], error, n)
            below_high, above = one_sided(difference - test["within"], error, n)
            p, p_opposite = max(above_low, below_high), min(1.0, 2.0 * min(below, above))
        else:
            p_opposite, p = one_sided(difference - test["above"], error, n)
        name = " minus ".join(f"gain in {', '.join(map(str, (*e['experiments'], e.get('name', ''))))}" for e in pair)
        found.append(Comparison(name, difference, difference - reach, difference + reach, p, p_opposite, n))
    return found


def _misfit(test: Mapping[str, Any], rows: Rows) -> list[Comparison]:
    """Test whether a class's last training error over the variance lies above or below a bound, set by set."""
    frame, found = rows[test["experiment"]], []
    last = frame[(frame["x"] == frame["x"].max()) & np.isclose(frame["learning_rate"], test["learning_rate"])]
    for panel in test["panels"]:
        mine = last[(last["series"] == test["series"]) & (last["panel"] == panel)].set_index("replication")
        values = np.log(mine["mse"] / mine["var"])
        bound = np.log(test["above"] if "above" in test else test["below"])
        n, error = len(values), float(values.std(ddof=1) / np.sqrt(len(values)))
        below, above = one_sided(float(values.mean() - bound), error, n)
        p, p_opposite = (above, below) if "above" in test else (below, above)
        reach, mean = float(stats.t.ppf(0.975, n - 1)) * error, float(values.mean())
        name = f"{panel}: MSE / variance of {test['series']}"
        effect, low, high = (float(np.exp(value)) for value in (mean, mean - reach, mean + reach))
        found.append(Comparison(name, effect, low, high, p, p_opposite, n))
    return found


BATCH_TESTS: dict[str, Callable[[Mapping[str, Any], Rows], list[Comparison]]] = {
    "ratio_of_means": _ratio_of_means,
    "mostly": _mostly,
    "gain_difference": _gain_difference,
    "misfit": _misfit,
}
_METRICS = {
    "first": "batches until a top-{tau:.1%} arm",
    "area": "regret over all batches",
    "reward": "reward over all batches but the first",
    "distance": "distance within a batch",
}


def describe_batches(test: Mapping[str, Any]) -> str:
    """Return a test of this module in words; an empty string for any other."""
    if test["kind"] not in BATCH_TESTS:
        return ""
    metric = _METRICS[test.get("metric", "first")].format(tau=float(test.get("tau", MAIN_TAU)))
    bound = next((f"{k} {test[k]}" for k in ("below", "above", "similar", "within") if test.get(k) is not None), "")
    match test["kind"]:
        case "ratio_of_means":
            return f"ratio of mean {metric} {bound} in every comparison, paired t-test on the log scale"
        case "mostly":
            return f"ratio of mean {metric} {bound} in at least {test['share']:.0%} of the comparisons, bootstrap"
        case "gain_difference":
            return f"difference of relative gains in {metric} {bound}, t-test"
    return f"training error over variance {bound}, t-test on the log scale"
