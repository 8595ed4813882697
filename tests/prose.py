"""Texts of notebooks, for tests of what no `quoted.yaml` can say."""

import json

from bestarm_lab.paths import NOTEBOOKS


def prose(study: str, notebook: str) -> str:
    cells = json.loads((NOTEBOOKS / study / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    return " ".join(" ".join("".join(c["source"]).split()) for c in cells if c["cell_type"] == "markdown")
