"""Every comparison behind every verdict, decided on the committed rows and kept in a file until these change."""

from __future__ import annotations

import hashlib
import json
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from bestarm_lab.claims.cells import Rows
from bestarm_lab.claims.claim import Exact
from bestarm_lab.claims.claims import decided
from bestarm_lab.claims.kinds import Cell, ClaimTest, Mostly, Rank, Ratio
from bestarm_lab.claims.one_claim import queries
from bestarm_lab.claims.statistics import Comparison
from bestarm_lab.claims.verdicts import CONVENTIONS, states
from bestarm_lab.paths import RESULTS, ROOT
from bestarm_lab.results import rows_file, verdict_rows
from bestarm_lab.study import load_study, study_names

Dots = dict[str, dict[str, Any]]  # by "claim|convention"


def comparisons(cache: Path) -> dict[str, Dots]:
    """Return of each study what each claim compares; computed where the cache has nothing for these rows and this code.

    Parameters
    ----------
    cache : Path
        A folder.

    Returns
    -------
    dict
        By study, then by ``"<claim>|<convention>"``: ``dots`` (name, effect, low, high, n, state), ``relation`` and the
        ends ``margin_low`` and ``margin_high`` of what is claimed, ``log`` where effects are ratios, ``counts`` where
        dots are cells that are counted, ``need`` how many must be for the claim (None: all), ``files`` of rows and
        ``queries``, pandas expressions for them.
    """
    cache.mkdir(parents=True, exist_ok=True)
    files = {study: cache / f"{study}-{fingerprint(study)}.json" for study in study_names()}
    missing = [study for study, file in files.items() if not file.is_file()]
    if missing:
        with ProcessPoolExecutor(2) as pool:
            for study, found in zip(missing, pool.map(of_study, missing), strict=True):
                files[study].write_text(json.dumps(found, allow_nan=False), encoding="utf-8")
    for old in set(cache.glob("*.json")) - set(files.values()):
        old.unlink()
    return {study: json.loads(file.read_text(encoding="utf-8")) for study, file in files.items()}


def fingerprint(study: str) -> str:
    """Return a digest of all that a study's comparisons depend on: its rows, its package, the lab and this file."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    places = [ROOT / "src/bestarm_lab", ROOT / "src/bestarm_studies" / study, RESULTS / study]
    for file in sorted(p for place in places for p in place.rglob("*") if p.suffix in (".py", ".yaml", ".parquet")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def of_study(name: str) -> Dots:
    """Return what each claim of a study compares, by claim and convention."""
    study = load_study(name)
    rows, larger = verdict_rows(study)
    found: Dots = {}
    for claim in study.claims.values():
        for convention in CONVENTIONS:
            line = decided(study, claim, convention, rows, larger)
            if line is None:
                continue
            test, at_scale = claim.tests[convention], line["scale"] == "paper"
            files = {e: rows_behind(name, e, at_scale) for e in test.experiments()}
            entry: dict[str, Any] = {"files": sorted(set(files.values())), "dots": []}
            if not isinstance(test, Exact) and "found" in line:
                there = larger if at_scale else rows
                mine = {e: there[e] for e in test.experiments()}
                entry |= shown(test, line["found"], _run_as(mine, convention))
                entry["queries"] = queries(test, convention, mine, files)
            found[f"{claim.id}|{convention}"] = entry
    return found


def rows_behind(study: str, experiment: str, at_scale: bool) -> str:
    """Return the file of rows on which an experiment is judged, from the root of the repository."""
    paper = rows_file(study, experiment, "paper")
    file = paper if at_scale and paper.is_file() else rows_file(study, experiment, "laptop")
    return file.relative_to(ROOT).as_posix()


def _run_as(rows: Rows, convention: str) -> Rows:
    return {
        e: frame[frame["convention"] == convention] if "convention" in frame else frame for e, frame in rows.items()
    }


def shown(test: ClaimTest, found: list[Comparison], rows: Rows) -> dict[str, Any]:
    """Return the comparisons of a test as dots, or the cells that it counts, with the margin in their unit."""
    if isinstance(test, Mostly):
        cells = [cell for cell in test.cells(rows) if isinstance(cell, Cell)]
        dots = [_ahead(cell, test) for cell in cells]
        return {"dots": dots, "log": test.by_ratio, "counts": True, "share": test.share} | _margin(test.relation)
    if isinstance(test, Rank):
        cells = [cell for cell in test.cells(rows) if isinstance(cell, Cell)]
        dots = [_ranked(cell) for cell in cells]
        claimed = {"relation": "below", "margin_low": None, "margin_high": test.rank + 0.5}
        return {"dots": dots, "log": False, "counts": True, "share": test.share, "ranks": True} | claimed
    dots = [_dot(c.name, c.effect, c.low, c.high, c.n, state) for c, state in zip(found, states(found), strict=True)]
    claimed = _margin(test.relation) if hasattr(test, "relation") else {}
    return {"dots": dots, "log": isinstance(test, Ratio), "counts": False, "need": test.need} | claimed


def _margin(relation: Any) -> dict[str, Any]:
    ends = {"margin_low": _finite(relation.low), "margin_high": _finite(relation.high)}
    return {"relation": relation.word} | ends


def _ahead(cell: Cell, test: Mostly) -> dict[str, Any]:
    """Return a counted cell with its effect, from its distance to the margin."""
    bound, sign = test.relation.bound, 1.0 if test.relation.word == "below" else -1.0
    ends = [cell.distance, cell.distance - 1.96 * cell.error, cell.distance + 1.96 * cell.error]
    if test.by_ratio:
        effects = [math.exp(math.log(bound) + sign * end) for end in ends]
    else:
        effects = [bound + sign * end for end in ends]
    return _dot(cell.name, effects[0], min(effects[1:]), max(effects[1:]), cell.n, _of_cell(cell))


def _ranked(cell: Cell) -> dict[str, Any]:
    rank = float(cell.words.split()[1].rstrip(","))
    return _dot(f"{cell.name} ({cell.words})", rank, rank, rank, cell.n, _of_cell(cell))


def _of_cell(cell: Cell) -> str:
    return "for" if cell.p < 0.025 else "against" if cell.p_opposite < 0.025 else "open"


def _dot(name: str, effect: float, low: float, high: float, n: int, state: str) -> dict[str, Any]:
    numbers = {key: _finite(value) for key, value in (("effect", effect), ("low", low), ("high", high))}
    return {"name": name, "n": n, "state": state} | numbers


def _finite(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None
