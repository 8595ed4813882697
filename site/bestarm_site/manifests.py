"""``python -m bestarm_site.manifests``: what machines read of a release, written to ``build/release``.

``claims.json`` leads from each claim to the files behind it, with their SHA-256. ``codecheck.yml`` lists outputs for
a CODECHECK. ``codemeta.json`` and ``.zenodo.json`` repeat CITATION.cff and pyproject.toml.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bestarm_lab.paths import FIGURES, NOTEBOOKS, RESULTS, ROOT
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names
from bestarm_site.comparisons import rows_behind
from bestarm_site.records import CONVENTIONS, Record, figure_of, records


@cache
def sha256(path: str) -> str:
    """Return the digest of a committed file."""
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()


def files_of(claim: Record) -> Iterator[tuple[str, Path]]:
    """Yield the files behind a claim with what each is: verdicts, notebook, rows, figure and its numbers."""
    yield "verdicts", RESULTS / claim.study / "verdicts.csv"
    yield "notebook", NOTEBOOKS / claim.study / f"{claim.notebook}.ipynb"
    tests = load_study(claim.study).claims[claim.id].tests
    behind = {
        rows_behind(claim.study, experiment, verdict.scale == "paper")
        for convention, verdict in claim.verdicts.items()
        for experiment in tests[convention].experiments()
    }
    yield from (("rows", ROOT / file) for file in sorted(behind))
    if (found := figure_of(claim)) is not None:
        for kind, suffix in (("figure", ".png"), ("numbers", ".csv")):
            yield kind, FIGURES / claim.study / found[1].notebook / f"{found[1].file}{suffix}"


def claims_map() -> str:
    """Return the map from claims to files, as JSON; each file's digest stands once."""
    claims: list[dict[str, Any]] = []
    digests: dict[str, str] = {}
    for claim in records().values():
        there = [(kind, path.relative_to(ROOT).as_posix()) for kind, path in files_of(claim) if path.is_file()]
        digests |= {path: sha256(path) for _, path in there}
        verdicts = {CONVENTIONS[convention]: verdict.word for convention, verdict in claim.verdicts.items()}
        entry: dict[str, Any] = {"claim": claim.id, "study": claim.study, "of_the_paper": not claim.ours}
        entry |= {"verdict": verdicts, "command": f"bestarm verdict {claim.id}"}
        for kind in dict.fromkeys(kind for kind, _ in there):
            entry[kind] = [path for other, path in there if other == kind]
        claims.append(entry)
    return json.dumps({"claims": claims, "sha256": dict(sorted(digests.items()))}, indent=1, ensure_ascii=False) + "\n"


def citation() -> dict[str, Any]:
    """Return what CITATION.cff says."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return found


def project() -> dict[str, Any]:
    """Return the project's part of pyproject.toml."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def codecheck() -> str:
    """Return the manifest of a CODECHECK: every figure and table that a study names, with its numbers."""
    manifest = []
    for study in study_names():
        paper = load_study(study).paper
        for title, shown in paper.figures.items():
            for suffix in (".png", ".csv", ".md"):
                path = FIGURES / study / shown.notebook / f"{shown.file}{suffix}"
                if path.is_file():
                    comment = f"{paper.abbreviation}, {title}; dvc repro -s -f {study}@{shown.notebook}"
                    manifest.append({"file": path.relative_to(ROOT).as_posix(), "comment": comment})
        manifest.append({"file": f"results/{study}/verdicts.csv", "comment": f"{paper.abbreviation}, every verdict"})
    cited = citation()
    told = {
        "version": "https://codecheck.org.uk/spec/config/2.0/",
        "paper": {"title": cited["title"], "authors": [{"name": author["name"]} for author in cited["authors"]]},
        "manifest": manifest,
    }
    head = "# Written by `make manifests`. A codechecker adds certificate, codechecker, check_time, summary, report."
    return f"---\n{head}\n" + yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=120)


def codemeta() -> str:
    """Return the metadata of the software in the terms of CodeMeta."""
    cited, told = citation(), project()
    found = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": told["name"],
        "description": told["description"],
        "version": told["version"],
        "dateModified": str(cited["date-released"]),
        "license": f"https://spdx.org/licenses/{told['license']}",
        "author": [{"@type": "Organization", "name": author["name"]} for author in cited["authors"]],
        "programmingLanguage": {"@type": "ComputerLanguage", "name": "Python", "version": told["requires-python"]},
        "softwareRequirements": told["dependencies"],
        "keywords": cited["keywords"],
        "developmentStatus": "active",
        "referencePublication": [" ".join(load_study(s).paper.citation.split()) for s in study_names()],
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def zenodo() -> str:
    """Return the metadata of a deposit at Zenodo."""
    cited, told = citation(), project()
    found = {
        "upload_type": "software",
        "title": cited["title"],
        "description": told["description"],
        "version": told["version"],
        "publication_date": str(cited["date-released"]),
        "license": told["license"],
        "creators": [{"name": author["name"]} for author in cited["authors"]],
        "keywords": cited["keywords"],
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


MANIFESTS = {"claims.json": claims_map, "codecheck.yml": codecheck, "codemeta.json": codemeta, ".zenodo.json": zenodo}


def write(folder: Path = ROOT / "build" / "release") -> None:
    """Write all of them into a folder, from what is committed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MANIFESTS.items():
        (folder / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    write()
