"""Texts of notebooks, for tests of what no `quoted.yaml` can say."""

import json
from typing import Any

from bestarm_lab.paths import NOTEBOOKS


def _cells(study: str, notebook: str) -> Any:
    return json.loads((NOTEBOOKS / study / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]


def prose(study: str, notebook: str) -> str:
    cells = _cells(study, notebook)
    return " ".join(" ".join("".join(c["source"]).split()) for c in cells if c["cell_type"] == "markdown")


def printed(study: str, notebook: str) -> str:
    """Return what the cells of a notebook have printed."""
    return "".join("".join(o.get("text", "")) for cell in _cells(study, notebook) for o in cell.get("outputs", []))
