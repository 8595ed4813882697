"""Committed rows as the paper reads them: verdicts, comparisons, and tables behind figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from bestarm_lab.paths import ROOT
from bestarm_lab.quoted import narrowed, read_table
from bestarm_lab.study import load_study
from bestarm_lab.yaml_keys import nearest, refuse_unknown

STUDIES = ("linear_topm", "gpoo", "gse", "oae", "dpp_bbo")  # in the order of the paper
RUNS = {"text": "as_written", "code": "as_coded"}


@dataclass(frozen=True)
class Rows:
    """What was committed, read once.

    Parameters
    ----------
    root : Path
        Of the repository.
    """

    root: Path = ROOT

    def read(self, name: str) -> pd.DataFrame:
        """Return a committed table by its path from the root, without ``.csv``; of a page, its first table.

        Raises
        ------
        ValueError
            If there is none of this name, with the nearest one.
        """
        if not name.endswith(".md"):
            return read_table(self.root / f"{name}.csv")
        file = self.root / name
        if not file.is_file():
            raise ValueError(f"there is no {file.name} in {file.parent}; name a page with a table.")
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
        tables = "\n".join(lines).partition("| test |")
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in "".join(tables[1:]).splitlines()]
        return pd.DataFrame([c for c in cells[1:] if not c[0].startswith("---")], columns=cells[0])

    def number(self, name: str, line: Mapping[str, str], column: str = "value") -> float:
        """Return the number of the only line of a table with these texts, which are numbers in columns of numbers."""
        return float(self.line(name, line, column)[column])

    def line(self, name: str, line: Mapping[str, str], column: str = "value") -> pd.Series:
        """Return the only line of a table with these texts; ``column`` must be one of its columns."""
        table = self.read(name)
        refuse_unknown(name, "column", [column, *line], table)
        wanted: dict[str, Any] = {
            key: float(value) if pd.api.types.is_numeric_dtype(table[key]) and value else value
            for key, value in line.items()
        }
        found = narrowed(table, name, wanted)
        if len(found) != 1:
            raise ValueError(f"{name}: {len(found)} lines of {wanted}; name the values of one line only.")
        return found.iloc[0]

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """Every verdict, the papers' and the project's own, with its study."""
        return self._every("verdicts")

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Every comparison behind a verdict, with its study."""
        return self._every("comparisons")

    @cached_property
    def theirs(self) -> pd.DataFrame:
        """The verdicts on the papers' own claims."""
        return self.verdicts[self.verdicts["ours"].fillna("") == ""]

    @cached_property
    def moved(self) -> pd.DataFrame:
        """What verdicts on the papers' claims become with other margins and by Holm: a line for each of these."""
        table = self.robustness[self.robustness["kind"] == "margin"]
        return table[table["claim"].isin(self.theirs["id"])]

    @cached_property
    def robustness(self) -> pd.DataFrame:
        """What verdicts become with other margins and under open choices, with the study."""
        return self._every("robustness")

    @cached_property
    def causes(self) -> pd.DataFrame:
        """The table of causes, see `bestarm_paper.causes`."""
        from bestarm_paper.causes import measured  # it reads rows

        return measured(self)

    def _every(self, kind: str) -> pd.DataFrame:
        tables = [self.read(f"results/{study}/{kind}").assign(study=study) for study in STUDIES]
        return pd.concat(tables, ignore_index=True)

    def verdict(self, identity: str, run: str) -> pd.Series:
        """Return the verdict on a claim, run as ``text`` or as ``code``.

        Raises
        ------
        ValueError
            For a claim or a run that there is not.
        """
        table = self.verdicts[self.verdicts["id"] == identity]
        if table.empty:
            raise ValueError(f"there is no claim {identity!r}; {nearest(identity, self.verdicts['id'].unique())}.")
        if run not in RUNS:
            raise ValueError(f"{identity} has no run {run!r}; {nearest(run, RUNS)}.")
        found = table[table["convention"] == RUNS[run]]
        if found.empty:
            raise ValueError(f"{identity} was not run as {run}; name its other run.")
        return found.iloc[0]

    def word(self, identity: str, run: str) -> str:
        """Return the word of a verdict."""
        return str(self.verdict(identity, run)["verdict"])

    def words(self, *claims: str, run: str = "text") -> set[str]:
        """Return the words of some verdicts."""
        return {self.word(identity, run) for identity in claims}

    def cells(self, identity: str, run: str) -> tuple[int, int]:
        """Return of a claim that counts cells in how many it holds, and of how many."""
        found = re.match(r"(\d+) of (\d+) cells", str(self.verdict(identity, run)["decided_by"]))
        if not found:
            raise ValueError(f"{identity} counts no cells; name another field.")
        return int(found[1]), int(found[2])

    def strength(self, identity: str, run: str) -> float:
        """Return the mean distance of a claim's comparisons from its margin, in standard deviations of a run."""
        self.verdict(identity, run)
        mine = self.comparisons[
            (self.comparisons["id"] == identity) & (self.comparisons["convention"] == RUNS.get(run, run))
        ]
        return float(mine["strength"].mean())

    def both(self, study: str | None = None) -> pd.DataFrame:
        """Return the words of the papers' claims that were run as text and as code: a line a claim."""
        table = self.theirs[self.theirs["verdict"] != "not run"]
        table = table if study is None else table[table["study"] == study]
        pairs = table.pivot(index=["study", "id"], columns="convention", values="verdict")
        return pairs.reindex(columns=list(RUNS.values())).dropna()


def abbreviation(study: str) -> str:
    """Return the short name of a paper."""
    return load_study(study).paper.abbreviation


_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def in_words(n: int) -> str:
    """Return a number as a word if it is small."""
    return _SMALL[n] if 0 <= n < len(_SMALL) else str(n)
