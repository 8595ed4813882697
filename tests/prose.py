"""Numbers that notebooks quote in their prose, and the lines of published tables from which they come.

The test file of a study needs five lines::

    quoted = partial(quote, "gse")
    QUOTED = [quoted("03_adaptive", "its accuracy is {:.3f}", "fig02", {"series": "GSE-Lin", "x": 16})]

    @pytest.mark.parametrize("quoted_number", QUOTED)
    def test_quoted_numbers_are_those_of_the_figures(quoted_number):
        quoted_number.check()
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bestarm_lab.given import nearest
from bestarm_lab.paths import FIGURES, NOTEBOOKS

Line = Mapping[str, Any]
WRITTEN, CODED = {"convention": "as_written"}, {"convention": "as_coded"}


def prose(study: str, notebook: str) -> str:
    """Return the text of a notebook on one line."""
    cells = json.loads((NOTEBOOKS / study / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    return " ".join(" ".join("".join(c["source"]).split()) for c in cells if c["cell_type"] == "markdown")


def stems(folder: Path) -> list[str]:
    """Return the names of the tables in a folder."""
    return [file.stem for file in sorted(folder.glob("*.csv"))]


def only_value(file: Path, line: Line, column: str = "value") -> float:
    """Return the number in the only line of a table that has these values; an empty text is a missing value.

    Raises
    ------
    ValueError
        For a table or a column that is not there, or a text that the column does not have, with the nearest one.
    """
    if not file.is_file():
        raise ValueError(f"there is no {file.name} in {file.parent}; {nearest(file.stem, stems(file.parent))}.")
    table = pd.read_csv(file)
    for name in (*line, column):
        if name not in table:
            raise ValueError(f"{file.name} has no column {name!r}; {nearest(name, list(table.columns))}.")
    for name, wanted in line.items():
        found = table[name].fillna("").astype(str).unique() if isinstance(wanted, str) else ()
        if isinstance(wanted, str) and wanted not in found:
            raise ValueError(f"{file.name} has no {name} {wanted!r}; {nearest(wanted, list(found))}.")
        if isinstance(wanted, str):
            table = table[table[name].fillna("").astype(str) == wanted]
        else:
            table = table[np.isclose(table[name].astype(float), wanted)]
    assert len(table) == 1, f"{file.name}: {len(table)} lines of {line}"
    return float(table[column].iloc[0])


def cells_of(verdicts: Path, identity: str, convention: str = "as_written") -> tuple[str, ...]:
    """Return of a claim that counts cells how many hold, of how many, and the bounds on their number."""
    table = pd.read_csv(verdicts).set_index(["id", "convention"])
    found = re.match(r"(\d+) of (\d+) cells, between (\d+) and (\d+)", table.loc[(identity, convention), "decided_by"])
    assert found, f"{identity} counts no cells"
    return found.groups()


@dataclass(frozen=True)
class Quote:
    """A fragment of a notebook's text with places for numbers, and where these come from.

    Parameters
    ----------
    study, notebook : str
        ``notebooks/<study>/<notebook>.ipynb``.
    fragment : str
        With a place in braces for each number, or for what ``form`` makes of them.
    file : Path
        Table.
    lines : tuple of mapping
        One for each number: values that only its line has.
    column : str
        Of the numbers.
    form : str or callable, optional
        How the numbers are printed, where the places in the fragment do not say so.
    """

    study: str
    notebook: str
    fragment: str
    file: Path
    lines: tuple[Line, ...]
    column: str = "value"
    form: str | Callable[..., str] | None = None

    def printed(self) -> str:
        """Return the fragment with the numbers of the table."""
        values = [only_value(self.file, line, self.column) for line in self.lines]
        if self.form is None:
            return self.fragment.format(*values)
        return self.fragment.format(self.form(*values) if callable(self.form) else self.form.format(*values))

    def check(self) -> None:
        """Check that the notebook says so."""
        assert self.printed() in prose(self.study, self.notebook)


def quote(
    study: str,
    notebook: str,
    fragment: str,
    file: str | Path,
    *lines: Line,
    column: str = "value",
    form: str | Callable[..., str] | None = None,
) -> Any:
    """Return a `Quote` as a parameter of a test; a name of a file is that of a CSV among the notebook's figures."""
    path = file if isinstance(file, Path) else FIGURES / study / notebook / f"{file}.csv"
    made = Quote(study, notebook, fragment, path, lines, column, form)
    return pytest.param(made, id=f"{notebook}: {fragment[:40]}")
