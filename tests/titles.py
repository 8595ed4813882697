"""Titles of figures: they stand in the code of the notebook that draws the figure, and are true of its values.

What a title claims stands in the section's ``quoted.yaml``. Where it takes more than that can say, a test file has a
predicate over the figure's CSV, of which a line makes a test that ``test_titles.py`` finds::

    @titled("gse/01_problem/gaps", "In six of eight ...")
    def test_gaps(values): ...
"""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import pandas as pd
from prose import cells_of

from bestarm_lab.paths import FIGURES
from bestarm_lab.quoted import Quoted, quoted
from bestarm_lab.study_packages import study_names


def code_cells(study: str, notebook: str) -> list[str]:
    """Return the code of each cell of a notebook, on one line; texts that stand on several lines are joined."""
    cells = [cell for cell in cells_of(study, notebook) if cell["cell_type"] == "code"]
    return [" ".join("".join(cell["source"]).split()).replace('" "', "") for cell in cells]


@dataclass(frozen=True)
class Title:
    """What a figure says, and when it is true of the figure's values."""

    study: str
    notebook: str
    file: str
    text: str
    holds: Callable[[pd.DataFrame], bool]

    @property
    def figure(self) -> str:
        return f"{self.study}/{self.notebook}/{self.file}"

    def table(self) -> pd.DataFrame:
        return pd.read_csv(FIGURES / f"{self.figure}.csv", keep_default_na=False, na_values=[""])

    def check(self) -> None:
        """Check that the notebook gives the figure this title, and that it is true."""
        names = f'"{self.file}"', f'"{self.text}"'
        mine = [cell for cell in code_cells(self.study, self.notebook) if all(name in cell for name in names)]
        assert len(mine) == 1, f"no cell, or more than one, has the names {' and '.join(names)}"
        assert self.holds(self.table())


def _module(path: Path) -> ModuleType:
    """Return a test file as pytest has imported it, or import it."""
    known = sys.modules.get(path.stem)
    if known is not None and Path(str(known.__file__)) == path:
        return known
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def titled(figure: str, text: str) -> Callable[[Callable[[pd.DataFrame], bool]], Callable[[], None]]:
    """Make a test of a predicate: the notebook gives the figure this title, which is true of the figure's values."""

    def decorated(holds: Callable[[pd.DataFrame], bool]) -> Callable[[], None]:
        def test() -> None:
            title.check()

        title = Title(*figure.split("/"), text, holds)
        test.title = title
        return test

    return decorated


def _true(entry: Quoted, values: pd.DataFrame) -> bool:
    return not entry.fault(values)


def checked() -> list[Title]:
    files = [path for path in sorted(Path(__file__).parent.rglob("test_*.py")) if "@titled(" in path.read_text("utf-8")]
    tests = [f for file in files for name, f in vars(_module(file)).items() if name.startswith("test_")]
    entries = [entry for study in study_names() for entry in quoted(study) if entry.figure]
    return [
        *(test.title for test in tests if hasattr(test, "title")),
        *(Title(entry.study, entry.part, entry.figure, entry.text, partial(_true, entry)) for entry in entries),
    ]
