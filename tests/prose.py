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

import pandas as pd
import pytest

from bestarm_lab.paths import FIGURES, NOTEBOOKS
from bestarm_lab.quoted import only_value

Line = Mapping[str, Any]
WRITTEN, CODED = {"convention": "as_written"}, {"convention": "as_coded"}


def prose(study: str, notebook: str) -> str:
    """Return the text of a notebook on one line."""
    cells = json.loads((NOTEBOOKS / study / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    return " ".join(" ".join("".join(c["source"]).split()) for c in cells if c["cell_type"] == "markdown")


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
