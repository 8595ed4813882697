"""Looks of algorithms, the same in every figure: one colour, one marker and one line style for each.

Each study has the looks of its algorithms in its module ``looks``; they are known once the study is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bestarm_lab.experiments.one_change import algorithm_and_change


class Look(NamedTuple):
    """Colour, marker and line style."""

    colour: str
    marker: str
    line: Any = "-"


DOTS, DOTS_AND_DASHES = (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2, 1, 1.2))
OTHER = Look("0.45", "d")
GREYS = (Look("0.0", "o"), Look("0.2", "s", "--"), Look("0.38", "^", "-."), Look("0.57", "D", DOTS))


_KNOWN: dict[str, Look] = {}  # of the studies that are loaded


def know_looks(looks: Mapping[str, Look]) -> None:
    """Take in the looks of a study's algorithms; one that two studies have looks the same in both.

    Raises
    ------
    ValueError
        For an algorithm that is known to look otherwise.
    """
    for name, look_of_name in looks.items():
        if _KNOWN.setdefault(name, look_of_name) != look_of_name:
            raise ValueError(
                f"{name} is drawn as {_KNOWN[name]} already, got {look_of_name}; give both studies one look."
            )


def look(label: str) -> Look:
    """Return how an algorithm of a loaded study looks, whatever follows in its label after a bar."""
    return _KNOWN.get(algorithm_and_change(label)[0], OTHER)
