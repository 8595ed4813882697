"""A search in words: in a few lines, also for notebooks, and in one HTML page that needs no network and no script."""

import base64
import html
import io
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm import __version__
from bestarm.search.atomic_files import checked_path, write_file
from bestarm.search.rounds import ASKED, FAILED, MEASURED, STATES, UNMEASURED, of_prediction, reward
from bestarm.search.tables import counted, listed

_QUICK = 200_000  # numbers in a table of candidates
_AIMS = {"max": "large rewards", "min": "small rewards", "both": "rewards of large size"}
_MOST_ROWS = 2000  # of a table on the page
_DPI = 130
_CSS = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --line: #d0d0d0; --soft: #595959 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181b; --line: #44484d; --soft: #b0b0b0 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { font-size: 1.25rem; margin-top: 2.2rem }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
.wide { overflow-x: auto } .soft, figcaption { color: var(--soft); font-size: .9rem }
figure { margin: 1rem 0 1.6rem } img { max-width: 100%; background: #fff; border-radius: 6px; padding: 6px }
summary { cursor: pointer }
"""


def lines_of(search: Any, *, patient: bool = True) -> list[tuple[str, str]]:
    """Return what a person first wants to know, not escaped; what takes more than a second for the patient alone."""
    if search._sequential is not None:
        step = "none: the search has ended" if search.finished else "ask(), measure, tell(table)"
        told = counted(search._sequential.round, "round")
        return [("search", f"by {search.policy.label}, {told} told"), ("next step", step)]
    aim = search.aim if isinstance(search.aim, str) else f"rewards near {search.aim:g}"
    named = f"by {search._choice.name} among {counted(len(search.candidates.names), 'candidate')}"
    counts = search.states.value_counts()
    known = {state: int(counts.get(state, 0)) for state in STATES}
    there = [f"{known[MEASURED]} measured", f"{known[FAILED]} failed", f"{known[ASKED]} asked and still to come"]
    there += [f"{n} {state}" for state, n in known.items() if n and state not in (MEASURED, FAILED, ASKED)]
    small = len(search.candidates.names) * len(search.candidates.columns) <= _QUICK
    return [
        ("search", f"{named}, for {_AIMS.get(aim, aim)}; {counted(len(search.rounds), 'batch')}"),
        ("candidates", ", ".join(there)),
        *(("learns from", said) for said in search._some_learned(known=True)),
        ("best so far", best_of(search)),
        ("left to find", str(search.left()) if patient or small else "search.left() says it"),
        ("next step", next_step(search, known)),
    ]


def best_of(search: Any) -> str:
    means = search._status.means()
    if not (ranked := search._ranked(means)):
        return "every measurement failed" if means else "nothing was measured yet"
    found = f"{ranked[0]}: {means[ranked[0]]:.6g}"
    if search.aim == "both" or not isinstance(search.aim, str):
        what = "size" if search.aim == "both" else "distance"
        found += f" ({what} {of_prediction(reward(means[ranked[0]], search.aim), search.aim):.6g})"
    return found


def next_step(search: Any, known: dict[str, int]) -> str:
    """Return what a person does next."""
    if waiting := search.pending:
        return f"measure {listed(waiting)}, and tell the results (an empty cell is still to come)"
    if search.finished:
        return "none: the search has ended" if known[UNMEASURED] else "none: no candidate is left"
    return f"{'ask for a' if search._status.means() else 'tell what is known, or ask for a first'} batch: ask(8)"


def as_html(search: Any) -> str:
    rows = "".join(
        f'<tr><th style="text-align:left;vertical-align:top">{html.escape(label)}</th>'
        f'<td style="text-align:left">{html.escape(text)}</td></tr>'
        for label, text in lines_of(search, patient=False)
    )
    return f"<table><tbody>{rows}</tbody></table>"


def write(search: Any, path: str | Path, refits: int | None) -> None:
    """Write the report of a search, see `bestarm.Search.report`."""
    if (path := checked_path(path)).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"a report is an HTML page, got {path}; name it {path.with_suffix('.html')}.")
    if path.is_file() and zipfile.is_zipfile(path):
        raise ValueError(f"{path} holds a saved search or another archive; give the page another name.")
    write_file(path, page_of(search, refits).encode())


def page_of(search: Any, refits: int | None) -> str:
    from bestarm.search import plots  # refuses at once where Matplotlib is not there

    known = search.history["reward"].notna().any()
    parts = [
        ("State", _table(pd.DataFrame(lines_of(search)), header=False)),
        ("Next batch", _next_batch(search)),
        *(_figures(plots, search, refits) if known else [("Plots", _soft("They come with the first result."))]),
        ("Log", _log_of(search)),
        ("What was done to the tables", _decisions(search)),
    ]
    body = "\n".join(f"<section><h2>{html.escape(title)}</h2>\n{content}</section>" for title, content in parts)
    title = f"Search among {counted(len(search.candidates.names), 'candidate')}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>{html.escape(title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{html.escape(title)}</h1>\n{body}\n</main>\n"
        f"<footer>{_soft(f'Written by bestarm {__version__}.')}</footer>\n</body>\n</html>\n"
    )


def _soft(text: str) -> str:
    return f'<p class="soft">{html.escape(text)}</p>'


def _table(table: pd.DataFrame, *, header: bool = True) -> str:
    """Return a table as HTML, its texts escaped, at most so many rows."""
    shown = table.head(_MOST_ROWS)
    with pd.option_context("display.max_colwidth", None):
        found = shown.to_html(index=False, header=header, border=0, na_rep="", float_format="{:.4g}".format)
    more = _soft(f"{len(table) - len(shown)} more rows are left out.") if len(table) > len(shown) else ""
    return f'<div class="wide">{found}</div>{more}'


def _next_batch(search: Any) -> str:
    """Return the batch that waits, with the reasons by which its candidates were chosen."""
    if not (waiting := search.pending):
        return _soft("No batch waits for results.")
    reasons = search.why() if search.rounds and search.rounds[-1].suggested else pd.DataFrame({"name": []})
    reasons = reasons[reasons["name"].isin(waiting)]
    features = search.candidates.shown(search.candidates.places(reasons["name"]))
    if features.shape[1] <= 6:
        for column in features.select_dtypes(np.float64):  # conditions for the bench, whole
            features[column] = ["" if value != value else f"{value:.15g}" for value in features[column]]
        reasons = pd.concat([reasons.reset_index(drop=True), features.reset_index(drop=True)], axis=1)
    earlier = [name for name in waiting if name not in set(reasons["name"])]
    own = [f"{counted(len(reasons), 'candidate')} of batch {len(search.rounds)} to be measured."] * bool(len(reasons))
    where = "besides" if own else "to be measured"
    others = [f"{counted(len(earlier), 'candidate')} {where}: {listed(earlier)}."] if earlier else []
    table = _table(reasons.dropna(axis=1, how="all")) if own else ""
    return f"<p>{html.escape(' '.join([*own, *others]))}</p>{table}"


def _figures(plots: Any, search: Any, refits: int | None) -> Iterable[tuple[str, str]]:
    """Yield a section for each panel: the picture with its alternative text, which is its caption, too."""
    shown = plots.Shown(search, refits=refits)
    for name, (title, _) in plots.PANELS.items():
        figure = plots.figure_of(shown, [name], width=7.2)
        text = plots.describe(figure)
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # names in a script that the font has not
            figure.savefig(file, format="png", dpi=_DPI, metadata={"Software": None, "Description": None})
        data = base64.b64encode(file.getvalue()).decode("ascii")
        picture = f'<img alt="{html.escape(text, quote=True)}" src="data:image/png;base64,{data}">'
        yield title, f"<figure>{picture}<figcaption>{html.escape(text)}</figcaption></figure>"


def _log_of(search: Any) -> str:
    """Return the batches, and all measurements, folded."""
    policies = [each.settings["policy"] for each in search.rounds]
    columns = {
        "batch": [each.number for each in search.rounds],
        "policy": [policy if isinstance(policy, str) else "of a constructor" for policy in policies],
        "told before": [len(each.told) for each in search.rounds],
        "corrected": [len(each.revised) for each in search.rounds],
        "candidates": [", ".join(each.names) for each in search.rounds],
        "version": [each.version for each in search.rounds],
    }
    rounds = pd.DataFrame(columns)
    history = search.history
    history["reward"] = [f"{value:.6g}" if value == value else "failed" for value in history["reward"]]
    batches = _soft("No batch was asked for.") if rounds.empty else _table(rounds)
    label = f"{counted(len(history), 'measurement')} in the order of telling (round 0: before the first batch)"
    return f"{batches}<details><summary>{label}</summary>{_table(history)}</details>"


def _decisions(search: Any) -> str:
    """Return the sentences about the table of candidates and the one that was told last."""
    found = ""
    for title, sentences in (("Candidates", search.candidates.report), ("Results told last", search.notes)):
        items = (
            "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
            or "<li>Nothing that this session was told.</li>"
        )
        found += f"<h3>{title}</h3><ul>{items}</ul>"
    return found
