"""A paper, and what its study draws of it: ``paper.yaml``, read once into records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bestarm_lab.yaml_keys import YamlKeys, choice

STATUS = ("complete", "part of the data", "replaced data", "redrawn")


@dataclass(frozen=True)
class Shown:
    """A figure or table of a study."""

    notebook: str  # notebook, file: the notebook that makes it, and its name there
    file: str
    title: str = ""  # title, alt: in the gallery: what it shows, and the same for who cannot see it
    alt: str = ""
    gallery: bool = False  # whether the gallery shows it
    numbers: bool = True  # whether numbers stand behind it; a diagram has none
    status: str = STATUS[0]  # ``redrawn`` is a drawing of ours in place of one without numbers


@dataclass(frozen=True)
class Paper:
    """A paper as its study's pages name it."""

    citation: str  # citation, abbreviation, title: of the paper
    abbreviation: str
    title: str
    short: str  # what it is about, in a line
    scale: str  # at which scale the study is
    prints: Mapping[str, int]  # how many figures and tables the paper has: of ``Figure`` and ``Table`` the last number
    figures: Mapping[str, Shown]  # what is drawn of it, by name


def read_paper(paper: Mapping[str, Any], file: str = "paper.yaml") -> Paper:
    """Return a study's paper; a ValueError has the file, the figure and the nearest right key."""
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
    notebook, file = (given.take(key, str) for key in ("notebook", "file"))
    title, alt = (given.take(key, str, **wanted) for key in ("title", "alt"))
    numbers, status = given.take("numbers", bool, True), given.take("status", choice(*STATUS), STATUS[0])
    given.done()
    return Shown(notebook, file, title, alt, gallery, numbers, status)
