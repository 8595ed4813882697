"""A paper, and what its study draws of it: ``paper.yaml``, read once into records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bestarm_lab.yaml_keys import YamlKeys, choice

STATUS = ("complete", "part of the data", "replaced data", "redrawn")


@dataclass(frozen=True)
class Shown:
    """A figure or table of a study.

    Attributes
    ----------
    notebook, file : str
        The notebook that makes it, and its name there.
    title, alt : str
        In the gallery: what it shows, and the same for who cannot see it.
    gallery : bool
        Whether the gallery shows it.
    numbers : bool
        Whether numbers stand behind it; a diagram has none.
    status : str
        One of `STATUS`: ``redrawn`` is a drawing of ours in place of one without numbers.
    """

    notebook: str
    file: str
    title: str = ""
    alt: str = ""
    gallery: bool = False
    numbers: bool = True
    status: str = STATUS[0]


@dataclass(frozen=True)
class Paper:
    """A paper as its study's pages name it.

    Attributes
    ----------
    citation, abbreviation, title : str
        Of the paper.
    short : str
        What it is about, in a line.
    scale : str
        At which scale the study is.
    prints : mapping of str to int
        How many figures and tables the paper has: of ``Figure`` and ``Table`` the last number.
    figures : mapping of str to Shown
        What is drawn of it, by name.
    """

    citation: str
    abbreviation: str
    title: str
    short: str
    scale: str
    prints: Mapping[str, int]
    figures: Mapping[str, Shown]


def read_paper(paper: Mapping[str, Any], file: str = "paper.yaml") -> Paper:
    """Return a study's paper.

    Raises
    ------
    ValueError
        For an unknown or missing key, with the file, the figure and the nearest right word.
    """
    given = YamlKeys(file, paper)
    texts = {key: given.take(key, str) for key in ("citation", "abbreviation", "title", "short", "scale")}
    figures = {name: _shown(YamlKeys(f"{file}, {name}", entry)) for name, entry in given.take("figures", dict).items()}
    prints = YamlKeys(f"{file}, prints", given.take("prints", dict))
    counts = {kind: prints.take(kind, int, 0) for kind in ("Figure", "Table")}
    prints.done()
    given.done()
    return Paper(**texts, prints=counts, figures=figures)


def _shown(given: YamlKeys) -> Shown:
    gallery = given.take("gallery", bool, False)
    wanted = {} if gallery else {"default": ""}  # the gallery needs words
    shown = Shown(
        notebook=given.take("notebook", str),
        file=given.take("file", str),
        title=given.take("title", str, **wanted),
        alt=given.take("alt", str, **wanted),
        gallery=gallery,
        numbers=given.take("numbers", bool, True),
        status=given.take("status", choice(*STATUS), STATUS[0]),
    )
    given.done()
    return shown
