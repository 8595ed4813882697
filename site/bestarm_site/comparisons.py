"""Every comparison behind every verdict, as committed, with the margin of its claim and the rows behind it."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pandas as pd
import pyarrow.parquet

from bestarm_lab.claims.kinds import ClaimTest, Mostly, OfCells, Rank, Ratio
from bestarm_lab.claims.records import Exact
from bestarm_lab.claims.report import columns_of, queries, rows_behind
from bestarm_lab.paths import ROOT
from bestarm_lab.results import read_comparisons
from bestarm_lab.study import load_study
from bestarm_site import records

Dots = dict[str, dict[str, Any]]  # by "claim|convention"


@cache
def of_study(name: str) -> Dots:
    """Return what each claim of a study compares.

    Returns
    -------
    dict
        By ``"<claim>|<convention>"``: ``dots`` (name, effect, low, high, n, state), ``relation`` and the ends
        ``margin_low`` and ``margin_high`` of what is claimed, ``log`` where effects are ratios, ``counts`` where dots
        are cells that are counted and ``ranks`` where they are ranks, ``need`` how many must be for the claim
        and whether it is ``named`` by the claim,
        ``files`` of rows and ``queries``, pandas expressions for them.
    """
    study, table = load_study(name), read_comparisons(name)
    groups = {} if table is None else dict(list(table.groupby(["id", "convention"], sort=False)))
    found: Dots = {}
    for claim in [*records.of_study(name), *records.of_study(name, ours=True)]:
        for convention, verdict in claim.verdicts.items():
            test = study.claims[claim.id].tests[convention]
            behind = {e: rows_behind(name, e, verdict.scale == "paper") for e in test.experiments()}
            files = {e: file for e, file in behind.items() if (ROOT / file).is_file()}
            entry: dict[str, Any] = {"files": sorted(set(files.values())), "dots": []}
            if not isinstance(test, Exact) and (claim.id, convention) in groups:
                entry |= {"dots": _dots(groups[claim.id, convention]), "need": verdict.needed, "named": not test.mixes}
                entry |= _claimed(test)
                columns = {e: columns_of(file) for e, file in files.items()}
                entry["queries"] = queries(test.parts, test.quantity, convention, columns, files)
            found[f"{claim.id}|{convention}"] = entry
    return found


@cache
def first_rows(file: str, most: int = 4) -> str:
    """Return the first rows of a file as a table in HTML, without what every row has alike."""
    rows = next(pyarrow.parquet.ParquetFile(ROOT / file).iter_batches(batch_size=most)).to_pandas()
    shown = rows.drop(columns=[name for name in ("key", "data") if name in rows])
    table = shown.to_html(index=False, border=0, float_format="%.4g", classes="first-rows")
    return f'<div class="table-wrapper">{table}</div>'


def _claimed(test: ClaimTest) -> dict[str, Any]:
    """Return what a test claims of a comparison, in the unit of its effect."""
    if isinstance(test, Rank):
        ends = {"margin_low": None, "margin_high": test.rank + 0.5}
        return {"log": False, "counts": True, "ranks": True, "relation": "below"} | ends
    relation = getattr(test, "relation", None)
    claimed: dict[str, Any] = {"log": isinstance(test, Ratio) or (isinstance(test, Mostly) and test.by_ratio)}
    claimed["counts"] = isinstance(test, OfCells)
    if relation is not None:
        ends = {"margin_low": _finite(relation.low), "margin_high": _finite(relation.high)}
        claimed |= {"relation": relation.word} | ends
    return claimed


def _dots(lines: pd.DataFrame) -> list[dict[str, Any]]:
    """Return comparisons as the site draws them."""
    return [
        {"name": line["comparison"], "n": int(line["n"]), "state": line["state"]}
        | {key: _finite(line[key]) for key in ("effect", "low", "high")}
        for line in lines.to_dict("records")
    ]


def _finite(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None
