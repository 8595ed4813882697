"""Texts of notebooks, and the cells that verdicts count, for tests of what no `quoted.yaml` can say."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bestarm_lab.paths import NOTEBOOKS
from bestarm_lab.quoted import only_line, read_table


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


def only_value(file: Path, line: Mapping[str, Any], column: str = "value") -> float:
    """Return the number in the only line of a file's table that has these values."""
    return float(only_line(read_table(file), file.name, line)[column])
