"""Titles of figures: they stand in the code of the notebook that draws the figure, and are true of its values."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from bestarm_lab.paths import FIGURES, NOTEBOOKS


def code_cells(study: str, notebook: str) -> list[str]:
    """Return the code of each cell of a notebook, on one line; texts that stand on several lines are joined."""
    cells = json.loads((NOTEBOOKS / study / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    return [" ".join("".join(c["source"]).split()).replace('" "', "") for c in cells if c["cell_type"] == "code"]


@dataclass(frozen=True)
class Title:
    """What a figure says, and when it is true of the figure's values."""

    study: str
    notebook: str
    file: str
    text: str
    holds: Callable[[pd.DataFrame], bool]

    def check(self) -> None:
        """Check that the notebook gives the figure this title, and that it is true."""
        (mine,) = [cell for cell in code_cells(self.study, self.notebook) if f'"{self.file}"' in cell]
        assert f'"{self.text}"' in mine
        table = FIGURES / self.study / self.notebook / f"{self.file}.csv"
        assert self.holds(pd.read_csv(table, keep_default_na=False, na_values=[""]))
