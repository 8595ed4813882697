"""Packages of studies by name, with their files; no study is loaded, so what is misspelt is refused at once."""

import re
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from bestarm.plugins import entry_points
from bestarm_lab.yaml_keys import read_yaml


def study_names() -> list[str]:
    """Return the names of the studies of every installed distribution, in alphabetical order."""
    return sorted(entry_points("bestarm.studies"))


def package_of(name: str) -> str:
    """Return the package of a study; an unknown one is a ValueError with all that there are."""
    if name not in study_names():
        raise ValueError(f"unknown study {name!r}; there are: {', '.join(study_names())}.")
    return entry_points("bestarm.studies")[name].value


def sections(name: str) -> dict[str, str]:
    """Return ``NOTEBOOKS`` of a study, each with the folder of its section: ``adaptive`` of ``03_adaptive``."""
    notebooks = getattr(import_module(package_of(name)), "NOTEBOOKS", ())
    return {notebook: re.sub(r"^\d+_", "", notebook) for notebook in notebooks}


def files_of(name: str, file: str) -> list[tuple[str, str]]:
    """Return the notebook and the path of a file of the study itself, whose notebook is "", and of its sections."""
    places = {"": file} | {notebook: f"{folder}/{file}" for notebook, folder in sections(name).items()}
    return [(notebook, path) for notebook, path in places.items() if has_file(name, path)]


def has_file(name: str, file: str) -> bool:
    """Return whether a study has one of the YAML files that it may have."""
    return files(package_of(name)).joinpath(file).is_file()


def read_file(name: str, file: str) -> Any:
    """Return what one of a study's YAML files says."""
    return read_yaml(files(package_of(name)).joinpath(file).read_text(encoding="utf-8"), f"{name}/{file}")


@cache
def claim_ids(name: str) -> list[str]:
    """Return the names of a study's claims, without loading the study or reading its files as YAML."""
    folder = files(package_of(name))
    texts = [folder.joinpath(file).read_text(encoding="utf-8") for _, file in files_of(name, "claims.yaml")]
    return [i for text in texts for i in re.findall(r"^  (\S+):$", f"\n{text}".partition("\nclaims:")[2], re.MULTILINE)]


def find_claim(identity: str) -> tuple[str, str]:
    """Return a claim's study and its name in the ledger, whatever its capitals; a ValueError has the nearest."""
    known = {i.casefold(): (study, i) for study in study_names() for i in claim_ids(study)}
    word = identity.strip().casefold()
    if word not in known:
        near = ", ".join(known[i][1] for i in get_close_matches(word, known, 3, 0.5))
        near = f"the nearest ones are {near}" if near else "none is like it; results/<study>/verdicts.csv lists all"
        raise ValueError(f"unknown claim {identity!r}; {near}.")
    return known[word]
