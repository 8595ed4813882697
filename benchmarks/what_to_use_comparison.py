"""Policies by their names on three public screens and three public pools: the rule, differences, and who is ahead.

The rows stand in ``benchmarks/what_to_use*.csv``, a line for each run, made by ``benchmarks/what_to_use.py`` and, in an
environment of their own, by ``benchmarks/what_to_use_peers.py``. The rule stands in ``docs/what_to_use.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from bestarm_lab.claims.statistics import Comparison, Relation, at_least, mean_comparison, mean_of
from bestarm_lab.figures.values import mean_interval
from bestarm_lab.paths import ROOT

SCREENS, POOLS = ("IL2", "IFNg", "Carnevale"), ("Crossed barrel", "AutoAM", "AgNP")
CASES = (*SCREENS, *POOLS)
FIFTHS = [f"found {k}/5" for k in range(1, 6)]
LAST = FIFTHS[-1]
RECORDED = "recorded: GP, Matérn 5/2"
AHEAD = Relation("above", low=0.0)
GOALS = {"Crossed barrel": 17.7, "IL2": 128.0, "IFNg": 89.0}  # hits, named before the policies were written


@dataclass(frozen=True)
class Measured:
    """What was measured.

    Attributes
    ----------
    data : DataFrame
        Indexed by data set: ``candidates, features, hits, measurements, rounds, chance, most``, the last two being the
        exact mean of random batches and the most that can be found.
    runs : DataFrame
        Runs of this project's policies: ``data, policy, run``, hits found after each fifth of the measurements
        (`FIFTHS`) and processor ``seconds``.
    peers : DataFrame
        The same of other libraries, and of the runs that the authors of Crossed barrel's benchmark recorded.
    """

    data: pd.DataFrame
    runs: pd.DataFrame
    peers: pd.DataFrame

    def policies(self, on: Sequence[str] = CASES) -> list[str]:
        """Return this project's policies that were run on all of some data sets, in the order of the rule."""
        return [str(p) for p, line in ranked(self.table(), on).iterrows() if line["data sets"] == len(on)]

    def table(self) -> pd.DataFrame:
        """Return a line for each policy and data set: mean, standard error, runs, chance, most and seconds of a run."""
        return summary(pd.concat([self.runs, self.peers]), self.data)


def read() -> Measured:
    """Return what is committed."""
    folder = ROOT / "benchmarks"
    data = pd.read_csv(folder / "what_to_use_data.csv", index_col="data").loc[list(CASES)]
    data["chance"] = data["measurements"] * data["hits"] / data["candidates"]
    data["most"] = data[["measurements", "hits"]].min(axis=1)
    return Measured(data, pd.read_csv(folder / "what_to_use.csv"), pd.read_csv(folder / "what_to_use_peers.csv"))


def summary(runs: pd.DataFrame, data: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each policy and data set."""
    groups = runs.groupby(["data", "policy"], sort=False)
    found = groups[LAST].agg(found="mean", error="sem", runs="size").reset_index()
    found["seconds"] = groups["seconds"].mean().to_numpy()
    return found.join(data[["chance", "most"]], on="data")


def ranked(table: pd.DataFrame, on: Sequence[str] = CASES) -> pd.DataFrame:
    """Return each policy's mean score over some data sets, its standard error, and on how many it is below chance."""
    table = table[table["data"].isin(on)]
    room = table["most"] - table["chance"]
    table = table.assign(
        score=(table["found"] - table["chance"]) / room,
        score_error=table["error"] / room,
        below=table["found"] + 2.0 * table["error"] < table["chance"],
    )
    by = table.groupby("policy", sort=False)
    found = pd.DataFrame(
        {
            "data sets": by.size(),
            "score": by["score"].mean(),
            "error": by["score_error"].apply(lambda e: float(np.sqrt((e**2).sum()) / len(e))),
            "below chance": by["below"].sum(),
            "seconds": by["seconds"].sum(),
        }
    )
    return found.sort_values("score", ascending=False)


def chosen(table: pd.DataFrame, policies: Sequence[str], on: Sequence[str] = CASES) -> str:
    """Return the policy that the rule takes, of those that were run on all of some data sets."""
    found = ranked(table[table["policy"].isin(policies)], on)
    found = found[(found["below chance"] == 0) & (found["data sets"] == len(on))]
    best = found.iloc[0]
    return str(found[found["score"] >= best["score"] - best["error"]]["seconds"].idxmin())


def chance_law(line: pd.Series) -> tuple[float, int, int]:
    """Return the mean of what random batches find, and the ends of the range that holds 95% of all runs."""
    law = hypergeom(int(line["candidates"]), int(line["hits"]), int(line["measurements"]))
    return float(law.mean()), int(law.ppf(0.025)), int(law.ppf(0.975))


def difference(runs: pd.DataFrame, policy: str, than: str, case: str) -> Comparison:
    """Compare what two policies found in the runs that both have, which begin with the same random batch."""
    mine = runs[runs["data"] == case].pivot(index="run", columns="policy", values=LAST)[[policy, than]].dropna()
    found = mean_comparison(case, mean_of(mine[policy] - mine[than], shares=False), AHEAD, True)
    if found.error == 0.0 and found.p == 0.5:  # equal in every run: not better
        return replace(found, p=1.0, p_opposite=0.0)
    return found


def ahead(measured: Measured, than: str, rivals: Sequence[str]) -> pd.DataFrame:
    """Return on how many data sets each policy finds more than one of them, by partial conjunction.

    Returns
    -------
    DataFrame
        Indexed by policy: ``estimate``, the number of data sets with a larger mean; ``low`` and ``high``, the bounds
        of its 95% interval; ``most``, the upper bound that holds for all of them together (Bonferroni).
    """
    lines = {}
    for policy in rivals:
        cells = [difference(measured.runs, policy, than, case) for case in CASES]
        ps, opposite = [c.p for c in cells], [c.p_opposite for c in cells]
        lines[policy] = {
            "estimate": sum(c.effect > 0 for c in cells),
            "low": at_least(ps),
            "high": len(cells) - at_least(opposite),
            "most": len(cells) - at_least(opposite, 0.025 / len(rivals)),
        }
    return pd.DataFrame.from_dict(lines, orient="index")


def ahead_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return `ahead` in words."""
    m = len(CASES)
    lines = [
        (policy, f"{line['estimate']} of {m}", f"{line['low']} to {line['high']}", f"{line['most']}")
        for policy, line in verdicts.iterrows()
    ]
    return pd.DataFrame(lines, columns=["policy", "larger mean on", "better on (95%)", "at most, all together"])


def found_values(measured: Measured) -> pd.DataFrame:
    """Return what each policy found on each data set, and chance, as values of a figure."""
    runs = pd.concat([measured.runs, measured.peers])
    groups: Any = runs.groupby(["data", "policy"], sort=False)
    data: Any = measured.data
    lines = []
    for (case, policy), part in groups:
        value, low, high = mean_interval(part[LAST])
        most = data.loc[case, "most"]
        lines.append((case, policy, "found", value, max(0.0, low), min(high, most), len(part)))
    for case, line in data.iterrows():
        mean, low, high = chance_law(line)
        lines.append((case, "chance (exact)", "found", mean, low, high, 1))
    return _values(lines)


def difference_values(measured: Measured, than: str) -> pd.DataFrame:
    """Return each policy's difference from one of them on each data set, with 95% intervals, as values of a figure."""
    groups: Any = measured.runs.groupby(["data", "policy"], sort=False).groups
    lines = []
    for case, policy in groups:
        if policy != than:
            cell = difference(measured.runs, policy, than, case)
            lines.append((case, policy, f"difference from {than}", cell.effect, cell.low, cell.high, cell.n))
    return _values(lines)


def _values(lines: list[tuple[str, str, str, float, float, float, int]]) -> pd.DataFrame:
    columns = ["panel", "series", "statistic", "value", "low", "high", "n"]
    values = pd.DataFrame(lines, columns=columns).assign(convention="as_written", profile="laptop", data="real")
    values.insert(2, "x", np.nan)
    return values


def course(measured: Measured, case: str) -> pd.DataFrame:
    """Return what everybody found on a data set after each fifth of the measurements, as values of a table."""
    runs = pd.concat([measured.runs, measured.peers])
    sizes: Any = measured.data.loc[case]
    most, total = float(sizes["most"]), int(sizes["measurements"])
    lines: list[Any] = []
    for policy, part in runs[runs["data"] == case].groupby("policy", sort=False):
        for k, column in enumerate(FIFTHS, start=1):
            value, low, high = mean_interval(part[column])
            lines.append((case, policy, "found", value, max(0.0, low), min(high, most), len(part), k))
    values = _values([line[:-1] for line in lines])
    return values.assign(x=[line[-1] * total // 5 for line in lines])


def course_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `course` as a table: means, and of the last one the 95% interval and the runs."""
    means = values.pivot(index="series", columns="x", values="value")
    last = values[values["x"] == values["x"].max()].set_index("series").sort_values("value", ascending=False)
    found = means.loc[last.index].map("{:.1f}".format)
    found["95% interval"] = [f"{low:.1f} to {high:.1f}" for low, high in zip(last["low"], last["high"], strict=True)]
    found["runs"] = last["n"]
    return found.rename_axis(columns=None).rename_axis("policy").reset_index()


def cost_table(measured: Measured) -> pd.DataFrame:
    """Return processor seconds of a round of each policy, on a screen and on the largest pool."""
    table = measured.table().set_index(["policy", "data"])["seconds"]
    rounds = measured.data["rounds"]
    lines = []
    for policy in [*measured.policies(), *dict.fromkeys(measured.peers["policy"])]:
        screens = [table.get((policy, case), np.nan) / rounds[case] for case in SCREENS]
        barrel = table.get((policy, "Crossed barrel"), np.nan) / rounds["Crossed barrel"]
        texts = ["" if np.isnan(s) else f"{s:.2g}" for s in (float(np.mean(screens)), float(barrel))]
        if any(texts):
            lines.append((policy, *texts))
    return pd.DataFrame(lines, columns=["policy", "screen: batch of 128 of 18,700", "Crossed barrel: one of 600"])


def goals_table(measured: Measured, policies: Sequence[str]) -> pd.DataFrame:
    """Return for some policies which of `GOALS` their means reach, and on which pools they are below chance."""
    table: Any = measured.table().set_index(["policy", "data"])
    lines = []
    for case, goal in GOALS.items():
        means = [table.loc[(policy, case), "found"] for policy in policies]
        lines.append((f"{case}: at least {goal:g}", *(f"{m:.1f}, {'met' if m >= goal else 'missed'}" for m in means)))
    by_rule: Any = ranked(measured.table(), POOLS)
    below = [int(by_rule.loc[policy, "below chance"]) for policy in policies]
    lines.append(("below chance on no pool", *(f"{k} of {len(POOLS)}, {'missed' if k else 'met'}" for k in below)))
    return pd.DataFrame(lines, columns=["goal", *policies])


def page_table(measured: Measured) -> pd.DataFrame:
    """Return the table of ``docs/what_to_use.md``: what was found, the scores of the rule, and how many runs.

    There is no score of what was not run on all data sets, nor of other libraries, since the rule does not choose them.
    """
    cells = {(line["policy"], line["data"]): line for _, line in measured.table().iterrows()}
    by_rule = ranked(summary(measured.runs, measured.data))
    lines = []
    for policy in [*by_rule.index, *dict.fromkeys(measured.peers["policy"])]:
        mine = [cells.get((policy, case)) for case in CASES]
        found = ["" if m is None else f"{m['found']:.1f}±{m['error']:.1f}" for m in mine]
        runs = "/".join(_range_of([m["runs"] for m in part if m is not None]) for part in (mine[:3], mine[3:]))
        everywhere = policy in by_rule.index and by_rule.loc[policy, "data sets"] == len(CASES)
        score = by_rule.loc[policy] if everywhere else None
        told = ("", "") if score is None else (f"{score['score']:.3f}±{score['error']:.3f}", f"{score['seconds']:.1f}")
        lines.append((policy, *found, *told, runs))
    chance = [f"{mean:.1f}" for mean in measured.data["chance"]]
    lines.append(("chance (exact)", *chance, "", "", ""))
    return pd.DataFrame(lines, columns=["policy", *CASES, "score", "seconds", "runs"])


def _range_of(numbers: list[int]) -> str:
    """Return the least and the largest of some numbers, or the one that they all are."""
    return "0" if not numbers else "-".join(str(n) for n in sorted({min(numbers), max(numbers)}))
