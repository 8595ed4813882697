"""The page of benchmarks: committed results of policies on public tables, and what else is measured."""

from __future__ import annotations

import ast
from html import escape

import pandas as pd

from benchmarks import what_to_use_comparison as what_to_use
from bestarm_lab.paths import ROOT
from bestarm_site.cards import raw

FOLDER = ROOT / "benchmarks"
NO_BENCHMARKS = {
    "__init__",
    "__main__",
    "noisy_figure",
    "search_picture",
    "what_to_use_comparison",
    "what_to_use_figure",
}
HOW_TO_READ = (
    "What a policy finds, as a share of what chance leaves, on average over runs: 0 is chance, 1 is all that could be "
    "found. Seconds are of the processor, for one run on each data set; with a star, on those that were run."
)


def scores(table: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each policy: on each data set the share of what chance leaves, and seconds; best mean first.

    Parameters
    ----------
    table : DataFrame
        Of `benchmarks.what_to_use_comparison.Measured.table`.

    Returns
    -------
    DataFrame
        By policy: a column for each data set, 0 for chance and 1 for all that can be found; ``mean`` over those that
        were run; ``seconds``, the sum of a run of each.
    """
    share = (table["found"] - table["chance"]) / (table["most"] - table["chance"])
    found = table.assign(share=share).pivot(index="policy", columns="data", values="share")
    found = found[list(dict.fromkeys(table["data"]))]
    seconds = table.groupby("policy")["seconds"].sum()
    whole = found.notna().all(axis=1)
    return found.assign(mean=found.mean(axis=1), seconds=seconds, whole=whole).sort_values(
        ["whole", "mean"], ascending=False
    )


def bars(table: pd.DataFrame) -> str:
    """Return the scores as a table whose cells are bars."""
    made = scores(table)
    names = [str(column) for column in made if column not in ("mean", "seconds", "whole")]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ["policy", *names, "seconds"])
    rows = []
    for policy, line in made.iterrows():
        cells = [_bar(float(line[name])) for name in names]
        seconds = f"{line['seconds']:.1f}" if line["whole"] else f"{line['seconds']:.1f}*"
        rows.append(f'<tr><th scope="row">{escape(str(policy))}</th>{"".join(cells)}<td>{seconds}</td></tr>')
    return (
        '<div class="claims-wrap" tabindex="0" role="region" aria-label="Scores of policies">'
        f'<table class="scores"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _bar(share: float) -> str:
    if pd.isna(share):
        return '<td class="muted">not run</td>'
    width = 100 * min(max(share, 0.0), 1.0)
    text = f"{round(share, 2) + 0.0:.2f}".replace("-", "−")  # no negative zero
    return f'<td><span class="bar"><i style="width:{width:.0f}%"></i></span>{text}</td>'


def modules() -> dict[str, str]:
    """Return the first sentence of each benchmark's docstring, by the name of its module."""
    found = {}
    for file in sorted(FOLDER.glob("*.py")):
        if file.stem not in NO_BENCHMARKS:
            told = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            found[file.stem] = told.partition("\n\n")[0].partition(": ``python")[0].replace("\n", " ").rstrip(".")
    return found


def page() -> str:
    """Return the page of benchmarks."""
    lines = ["# Benchmarks", ""]
    lines += ["## Policies on public screens and pools", ""]
    lines += [
        f"{HOW_TO_READ} Errors, protocol and the rule behind the default: [which policy](/docs/what_to_use.md).",
        "",
    ]
    lines += [raw(bars(what_to_use.read().table()))]
    lines += ["## What else is measured", "", "Each prints its table; `make bench` runs those that need no data of"]
    lines += ["others.", ""]
    lines += ["| command | what it measures |", "| --- | --- |"]
    lines += [f"| `python -m benchmarks.{name}` | {words} |" for name, words in modules().items()]
    lines += ["", "[How often a verdict is wrong](/docs/verdicts.md) and [what an installation takes, hardware and"]
    lines += ["hours](/docs/reproduce.md) have their committed results.", ""]
    return "\n".join(lines)
