"""Texts of notebooks, for tests of what no `quoted.yaml` can say."""

import json
from typing import Any

from bestarm_lab.paths import NOTEBOOKS


def cells_of(study: str, notebook: str) -> Any:
    return json.loads((NOTEBOOKS / study / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]


def prose(study: str, notebook: str) -> str:
    cells = cells_of(study, notebook)
    return " ".join(" ".join("".join(c["source"]).split()) for c in cells if c["cell_type"] == "markdown")


def printed(study: str, notebook: str) -> str:
    return "".join("".join(o.get("text", "")) for cell in cells_of(study, notebook) for o in cell.get("outputs", []))
