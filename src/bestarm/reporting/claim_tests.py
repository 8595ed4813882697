"""The statistical tests of claims: each compares stored rows with a margin, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

LEVEL = 0.05
SMALLEST_N = 12  # below it no paired test under Holm can decide


@dataclass(frozen=True)
class Comparison:
    """One comparison of a claim: its effect with a 95% interval, and p for the claim and for its opposite."""

    name: str
    effect: float
    low: float
    high: float
    p: float
    p_opposite: float
    n: int


def one_sided(distance: float, error: float, n: int) -> tuple[float, float]:
    """Return p for "the distance is negative" and for "it is positive"."""
    if error == 0.0:
        return (0.5, 0.5) if distance == 0.0 else (float(distance > 0), float(distance < 0))
    t = distance / error
    return float(stats.t.cdf(t, n - 1)), float(stats.t.sf(t, n - 1))


def compare_means(left: pd.Series, right: pd.Series, test: Mapping[str, Any], name: str) -> Comparison:
    """Test the ratio of two mean sample complexities on the log scale, by the delta method.

    Parameters
    ----------
    left, right : Series
        Pulls, indexed by replication; paired where ``test["paired"]`` (the same noise), else independent.
    test : mapping
        ``below: x`` (the ratio is below x) or ``similar: [low, high]`` (two one-sided tests).
    """
    influence_left, influence_right = left / left.mean() - 1.0, right / right.mean() - 1.0
    if test.get("paired", True):
        influence = influence_left - influence_right
        error = float(influence.std(ddof=1) / np.sqrt(len(influence)))
    else:
        error = float(np.sqrt(influence_left.var(ddof=1) / len(left) + influence_right.var(ddof=1) / len(right)))
    n = min(len(left), len(right))
    effect = float(np.log(left.mean() / right.mean()))
    reach = float(stats.t.ppf(0.975, n - 1)) * error
    if "below" in test:
        p, p_opposite = one_sided(effect - float(np.log(test["below"])), error, n)
    else:
        low, high = np.log(test["similar"])
        below, above_low = one_sided(effect - low, error, n)
        below_high, above = one_sided(effect - high, error, n)
        p, p_opposite = max(above_low, below_high), min(1.0, 2.0 * min(below, above))
    return Comparison(name, np.exp(effect), np.exp(effect - reach), np.exp(effect + reach), p, p_opposite, n)


def pulls_of(rows: pd.DataFrame, series: str) -> pd.Series:
    """Return the sample complexities of a series, indexed by replication."""
    found = rows.loc[rows["series"] == series].set_index("replication")["pulls"]
    if found.empty:
        raise ValueError(f"no rows of series {series!r}; there are: {', '.join(rows['series'].unique())}.")
    return found.astype(np.float64)


def _ratio(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    if "every_series_of" in test:
        first, second = test["every_series_of"]
        test = {**test, "paired": False}  # two instances have different noise
        return [
            compare_means(pulls_of(rows[first], s), pulls_of(rows[second], s), test, f"{s}: {first} / {second}")
            for s in rows[first]["series"].unique()
        ]
    return [
        compare_means(pulls_of(rows[e], left), pulls_of(rows[e], right), test, f"{e}: {left} / {right}")
        for e, left, right in test["pairs"]
    ]


def _fewer_errors(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test whether the first of two series on the same noise is wrong less often: McNemar's exact test.

    The interval of the difference of frequencies is Agresti and Min's, which bears zero counts.
    """
    found = []
    for e, left, right in test["pairs"]:
        correct = rows[e].set_index(["series", "replication"])["correct"] > 0
        only_left, only_right = (
            int((~correct[left] & correct[right]).sum()),
            int((correct[left] & ~correct[right]).sum()),
        )
        n, discordant = len(correct[left]), only_left + only_right
        p = stats.binomtest(only_left, discordant, 0.5, alternative="less").pvalue if discordant else 1.0
        p_opposite = stats.binomtest(only_left, discordant, 0.5, alternative="greater").pvalue if discordant else 1.0
        shift = (only_left - only_right) / (n + 2)
        error = np.sqrt((discordant + 1) / (n + 2) - shift**2) / np.sqrt(n + 2)
        low, high = shift - 1.96 * error, shift + 1.96 * error
        name = f"{e}: error frequency of {left} minus {right}"
        found.append(Comparison(name, (only_left - only_right) / n, low, high, p, p_opposite, n))
    return found


def _error_counts(rows: pd.DataFrame) -> pd.DataFrame:
    wrong = 1.0 - rows["correct"]
    return wrong.groupby(rows["series"], sort=False).agg(["sum", "size"]).astype(int)


def _error_rate(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    found = []
    for e in test["experiments"]:
        for series, k, n in _error_counts(rows[e]).itertuples():
            low, high = proportion_confint(k, n, method="wilson")
            p = stats.binomtest(k, n, test["at_most"], alternative="less").pvalue
            p_opposite = stats.binomtest(k, n, test["at_most"], alternative="greater").pvalue
            found.append(Comparison(f"{e}: {series}", k / n, float(low), float(high), p, p_opposite, n))
    return found


def compare_proportions(name: str, k: int, n: int, printed: float, printed_n: int, margin: float) -> Comparison:
    """Test whether a frequency is near a printed one, by the Agresti-Caffo difference, which bears zero counts."""
    ours, theirs = (k + 1) / (n + 2), (printed * printed_n + 1) / (printed_n + 2)
    error = np.sqrt(ours * (1 - ours) / (n + 2) + theirs * (1 - theirs) / (printed_n + 2))
    difference = ours - theirs
    below, above_low = one_sided(difference + margin, error, n)
    below_high, above = one_sided(difference - margin, error, n)
    p, p_opposite = max(above_low, below_high), min(1.0, 2.0 * min(below, above))
    low, high = difference - 1.96 * error, difference + 1.96 * error
    return Comparison(f"{name}, minus the printed {printed}", k / n - printed, low, high, p, p_opposite, n)


def _printed_error_rates(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    found = []
    for e, printed in test["printed"].items():
        for series, k, n in _error_counts(rows[e]).itertuples():
            rate = printed.get(series, printed.get("*"))
            if rate is not None:
                found.append(compare_proportions(f"{e}: {series}", k, n, rate, test["printed_n"], test["margin"]))
    return found


def _fraction(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Test how often something holds: below a bound, or within a margin of the printed frequencies."""
    found = []
    for series, group in rows[test["experiment"]].groupby("series", sort=False):
        k, n = int(group["holds"].sum()), len(group)
        if "below" in test:
            low, high = proportion_confint(k, n, method="wilson")
            p = stats.binomtest(k, n, test["below"], alternative="less").pvalue
            p_opposite = stats.binomtest(k, n, test["below"], alternative="greater").pvalue
            found.append(Comparison(str(series), k / n, float(low), float(high), p, p_opposite, n))
        else:
            printed, printed_n = test["printed"][series]
            found.append(compare_proportions(str(series), k, n, printed, printed_n, test["margin"]))
    return found


def _mean(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    found = []
    for e in test["experiments"]:
        for series in rows[e]["series"].unique():
            pulls = pulls_of(rows[e], series)
            n, error = len(pulls), float(pulls.std(ddof=1) / np.sqrt(len(pulls)))
            p_opposite, p = one_sided(pulls.mean() - test["above"], error, n)
            reach = float(stats.t.ppf(0.975, n - 1)) * error
            mean = float(pulls.mean())
            found.append(Comparison(f"{e}: {series}", mean, mean - reach, mean + reach, p, p_opposite, n))
    return found


STATISTICAL: dict[str, Callable[[Mapping[str, Any], Mapping[str, pd.DataFrame]], list[Comparison]]] = {
    "ratio": _ratio,
    "error_rate": _error_rate,
    "printed_error_rates": _printed_error_rates,
    "mean": _mean,
    "fraction": _fraction,
    "fewer_errors": _fewer_errors,
}


def joint_p(comparisons: Sequence[Comparison]) -> tuple[float, float]:
    """Return p for a claim that needs all of its comparisons, and for its opposite, which needs one of them."""
    opposite = len(comparisons) * min(c.p_opposite for c in comparisons)
    return max(c.p for c in comparisons), min(1.0, opposite)


def decisive(comparisons: Sequence[Comparison], verdict: str) -> Comparison:
    """Return the comparison that a verdict rests on: the weakest, or the one that contradicts most."""
    if verdict == "contradicted":
        return min(comparisons, key=lambda c: c.p_opposite)
    return max(comparisons, key=lambda c: c.p)


def untested(needed: Sequence[str], rows: Mapping[str, pd.DataFrame], profiles: Mapping[str, str]) -> str:
    """Return why a test on these experiments would mean nothing, or an empty string."""
    for e in needed:
        if e not in rows or rows[e].empty:
            return f"{e} has no rows"
        if profiles[e] == "smoke":
            return "smoke profile"
        if (rows[e]["data"] == "stand-in").any():
            return f"{e} ran on stand-in data"
        n = rows[e].groupby("series")["replication"].nunique().min()
        if n < SMALLEST_N:
            return f"{e} has n = {n} < {SMALLEST_N}"
    return ""


def experiments_of(test: Mapping[str, Any]) -> list[str]:
    """Return the experiments that a claim rests on."""
    for entries in ("pairs", "triples", "series"):
        if entries in test and not isinstance(test[entries][0], str):  # else series of the test's experiments
            return sorted({entry[0] for entry in test[entries]})
    if "contrasts" in test:
        return sorted({e for pair in test["contrasts"] for entry in pair for e in entry["experiments"]})
    if "cells" in test:
        named = {cell["experiment"] for cell in test["cells"]}
        return sorted(named | {test[side] for side in ("left_in", "right_in") if side in test})
    if "experiment" in test:
        return [test["experiment"]]
    if test["kind"] in ("gap", "printed_error_rates"):
        return list(test["printed"])
    return list(test.get("every_series_of") or test.get("experiments") or [])


def describe(test: Mapping[str, Any]) -> str:
    """Return a claim's test in words."""
    match test["kind"]:
        case "ratio" if "below" in test:
            return f"ratio of mean sample complexities below {test['below']}, t-test on the log scale"
        case "ratio":
            low, high = test["similar"]
            return f"ratio of mean sample complexities within [{low}, {high}], two one-sided t-tests on the log scale"
        case "error_rate":
            return f"error frequency below {test['at_most']}, exact binomial test"
        case "printed_error_rates":
            return f"error frequency within {test['margin']} of the printed one, two one-sided Agresti-Caffo tests"
        case "fewer_errors":
            return "fewer errors on the same noise, McNemar's exact test"
        case "fraction" if "below" in test:
            return f"frequency below {test['below']}, exact binomial test"
        case "fraction":
            return f"frequency within {test['margin']} of the printed one, two one-sided Agresti-Caffo tests"
        case "mean":
            return f"mean sample complexity above {test['above']}, t-test"
    return str(test.get("by", "arithmetic: the printed digits"))
