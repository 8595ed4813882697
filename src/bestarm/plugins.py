"""Entry points: what installed packages offer to one another, such as commands and studies."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2] / "pyproject.toml"


@cache
def entry_points(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by their names, those of every installed distribution; each is asked once.

    In a checkout its ``pyproject.toml`` counts as well, since an editable installation knows only what was declared
    on the day when it was made, and a folder on the path knows nothing.
    """
    found = {entry.name: entry for entry in metadata.entry_points(group=group)}
    if _CHECKOUT.is_file():
        project = tomllib.loads(_CHECKOUT.read_text(encoding="utf-8"))["project"]
        declared = project.get("entry-points", {}).get(group, {})
        found |= {name: EntryPoint(name, value, group) for name, value in declared.items()}
    return dict(sorted(found.items()))
