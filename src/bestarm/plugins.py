"""Entry points: what installed packages offer to one another, such as commands and studies."""

import tomllib
from functools import cache
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def entry_points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by their names, those of every installed distribution.

    In a checkout its ``pyproject.toml`` counts as well, since an editable installation knows only what was declared
    on the day when it was made, and a folder on the path knows nothing.
    """
    found = {entry.name: entry for entry in installed(group)} | {entry.name: entry for entry in declared(group)}
    return dict(sorted(found.items()))


@cache
def installed(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group that installed distributions have; each is asked once."""
    return tuple(metadata.entry_points(group=group))


@cache
def declared(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group that the checkout's ``pyproject.toml`` declares, read once."""
    if not _CHECKOUT.is_file():
        return ()
    project = tomllib.loads(_CHECKOUT.read_text(encoding="utf-8"))["project"]
    entries = project.get("entry-points", {}).get(group, {})
    return tuple(EntryPoint(name, value, group) for name, value in entries.items())
