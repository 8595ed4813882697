"""A notebook of two cells, below a root of its own."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from bestarm_lab.notebooks import runner


@pytest.fixture
def tiny_notebook(tmp_path, monkeypatch) -> Callable[..., Path]:
    """Return a function that writes the notebook gse/01_tiny below the test's folder: parameters, then some code."""
    # notebooks that run in this process are read and published there
    for name, folder in {"NOTEBOOKS": "notebooks", "FIGURES": "figures", "QUICK": "_quick"}.items():
        monkeypatch.setattr(runner, name, tmp_path / folder)

    def write(code: str, parameters: str = "") -> Path:
        first = f'profile = "laptop"\noutput_dir = "_quick"\n{parameters}'.rstrip()
        cells = [nbformat.v4.new_code_cell(first, metadata={"tags": ["parameters"]}, id="a")]
        cells += [nbformat.v4.new_code_cell(code, id="b")]
        path = tmp_path / "notebooks/gse/01_tiny.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=runner.METADATA), path)
        return path

    return write
