"""Parameters of notebooks: what their cell declares, what was published, and what somebody has changed.

The cell tagged ``parameters`` is edited by hand, or papermill puts a cell with other values after it. The published
values stand in ``notebooks/<study>/parameters.yaml`` as well, since an edited cell does not say what it was.
"""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bestarm_lab.paths import NOTEBOOKS

REQUIRED = ("profile", "output_dir")
CHANGED = "CHANGED PARAMETERS"  # begins the line by which an executed notebook says that it shows nothing published
INJECTED = "# Parameters\n"  # how papermill begins the cell that it puts in


def published_parameters(study: str, notebook: str) -> dict[str, Any]:
    """Return the parameters of a notebook at which its figures are published."""
    file = NOTEBOOKS / study / "parameters.yaml"
    found = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return dict(found.get(notebook, {}))


def declared_parameters(study: str, notebook: str) -> dict[str, Any]:
    """Return what the notebook that is running now declares beside the two of all notebooks, with its present values.

    Values that came as text, as papermill's ``-p`` passes a list, are read, and one number stands for a list of one.
    Raises ValueError for a parameter of papermill that the notebook does not declare, or a value of another kind.
    """
    from IPython.core.getipython import get_ipython  # half a second

    if (shell := get_ipython()) is None:
        return {}
    cells = [text for text in shell.user_ns.get("In", []) if text]
    own = [n for n, text in enumerate(cells) if set(REQUIRED) <= {*assigned(text)} and not text.startswith(INJECTED)]
    if not own:
        return {}
    names = [name for name in assigned(cells[own[-1]]) if name not in REQUIRED]
    injected = [name for text in cells[own[-1] :] if text.startswith(INJECTED) for name in assigned(text)]
    refuse_unknown(f"{study}/{notebook}", injected, [*REQUIRED, *names])
    published = published_parameters(study, notebook)
    found = {name: read_value(name, shell.user_ns[name], published.get(name)) for name in names}
    shell.user_ns.update(found)
    return found


def check_parameters(path: Path, given: Mapping[str, Any]) -> None:
    """Refuse parameters that the notebook does not have, and notebooks that lack the required ones."""
    import nbformat  # a second

    cells = [cell for cell in nbformat.read(path, as_version=4).cells if "parameters" in cell.metadata.get("tags", [])]
    declared = [name for cell in cells for name in assigned(cell.source)]
    if missing := ", ".join(name for name in REQUIRED if name not in declared):
        raise ValueError(f"{path.name} declares no parameter {missing}; add it to the cell tagged parameters.")
    refuse_unknown(path.name, list(given), declared)


def refuse_unknown(notebook: str, given: list[str], declared: list[str]) -> None:
    """Refuse parameters that a notebook does not declare, with the list of what there is."""
    if unknown := sorted(set(given) - set(declared)):
        raise ValueError(f"{notebook} has no parameter {', '.join(unknown)}; it has: {', '.join(declared)}.")


def read_value(name: str, value: Any, published: Any) -> Any:
    """Return the value of a parameter in the kind of its published one."""
    if isinstance(value, str) and not isinstance(published, str):
        try:
            value = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ValueError(f"{name} is {value!r}, which is no value; write numbers, or a list as [8, 16].") from None
    if isinstance(published, list) and isinstance(value, int | float | str):
        value = [value]
    number = isinstance(published, int | float) and not isinstance(published, bool)
    if number and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{name} must be a number, as {published}, got {value!r}.")
    if isinstance(published, list) and not isinstance(value, list | tuple | range):
        raise ValueError(f"{name} must be a list, as {published}, got {value!r}.")
    return value


def changed_parameters(study: str, notebook: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the given parameters that are not as published."""
    published = published_parameters(study, notebook)
    return {name: value for name, value in given.items() if value != published.get(name)}


def assigned(text: str) -> list[str]:
    """Return the names that the statements of a cell assign to; none for a cell that is not plain Python."""
    try:
        statements = ast.parse(text).body
    except SyntaxError:
        return []
    targets = [target for s in statements if isinstance(s, ast.Assign) for target in s.targets]
    return [target.id for target in targets if isinstance(target, ast.Name)]
