"""Causes of what was found, each with its measured effect, from ``causes.yaml`` and the rows that it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bestarm_lab.yaml_keys import YamlKeys, choice, read_yaml
from bestarm_paper.rows import Rows

FILE = Path(__file__).parents[1] / "findings" / "causes.yaml"


class Factor(NamedTuple):
    """By what a cause alone multiplies a quantity, with its 95% interval where there is one."""

    value: float
    low: float = np.nan
    high: float = np.nan

    def __str__(self) -> str:
        said = f"{self.value:.2f}"
        return said if np.isnan(self.low) else f"{said} [{self.low:.2f}, {self.high:.2f}]"


def measured(rows: Rows) -> pd.DataFrame:
    """Return the causes with their factors: kinds by their largest factor, and causes within a kind by theirs.

    Returns
    -------
    DataFrame
        ``kind, meaning, study, claim, switch, quantity, factor, value, low, high, fold, source``: the factor in words,
        in numbers, and as a number of at least 1 whichever its direction; the table that it is from.
    """
    lines: list[dict[str, Any]] = []
    for name, group in read_yaml(FILE.read_text(encoding="utf-8"), FILE.name).items():
        kind = YamlKeys(f"{FILE.name}, {name}", group)
        meaning = kind.take("meaning", str)
        for number, cause in enumerate(kind.take("causes", list), start=1):
            given = YamlKeys(f"{FILE.name}, {name}, cause {number}", cause)
            about = {key: given.take(key, str) for key in ("study", "claim", "switch", "quantity", "table")}
            scale = given.take("scale", choice(*SCALES))
            factor = SCALES[scale](rows, about["table"], given)
            given.done()
            fold = float(np.exp(abs(np.log(factor.value))))
            numbers = {"factor": str(factor), **factor._asdict(), "fold": fold, "source": about.pop("table")}
            lines.append({"kind": name, "meaning": meaning} | about | numbers)
        kind.done()
    table = pd.DataFrame(lines)
    table["most"] = table.groupby("kind")["fold"].transform("max")
    return table.sort_values(["most", "fold"], ascending=False, kind="stable").drop(columns="most")


def _texts(given: YamlKeys, key: str) -> dict[str, str]:
    return {name: str(value) for name, value in given.take(key, dict).items()}


def _ratio(rows: Rows, table: str, given: YamlKeys) -> Factor:
    return _numbers(rows.line(table, _texts(given, "line")))


def _change(rows: Rows, table: str, given: YamlKeys) -> Factor:
    """Return the factor of a difference from the line without a change, whose own error is left out."""
    line = _texts(given, "line")
    written = float(rows.line(table, line | {"x": ""})["value"])
    return Factor(*(1.0 + x / written for x in _numbers(rows.line(table, line))))


def _log10(rows: Rows, table: str, given: YamlKeys) -> Factor:
    return Factor(*(10.0**x for x in _numbers(rows.line(table, _texts(given, "line")))))


def _quotient(rows: Rows, table: str, given: YamlKeys) -> Factor:
    left, right = (float(rows.line(table, _texts(given, key))["value"]) for key in ("line", "over"))
    return Factor(left / right)


def _spread(rows: Rows, table: str, given: YamlKeys) -> Factor:
    """Return the largest over the smallest value of the panels whose name ends so, and does not begin otherwise."""
    found, ends, without = rows.read(table), given.take("panels", str), given.take("without", str)
    for key, text in _texts(given, "line").items():
        found = found[found[key] == text]
    panels = found["panel"].astype(str)
    values = found[panels.str.endswith(ends) & ~panels.str.startswith(without)]["value"]
    if len(values) < 2:
        raise ValueError(f"{given.place}: {len(values)} panels of {table} end in {ends!r}; a spread needs two.")
    return Factor(float(values.max() / values.min()))


def _numbers(line: pd.Series) -> Factor:
    return Factor(*(float(line[key]) for key in ("value", "low", "high")))


SCALES: dict[str, Callable[[Rows, str, YamlKeys], Factor]] = {
    "ratio": _ratio,
    "change": _change,
    "log10": _log10,
    "quotient": _quotient,
    "spread": _spread,
}
