"""The pages that the site makes of claims, papers and figures; each function returns one page in Markdown."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from bestarm_lab.claims.records import LEVELS
from bestarm_lab.claims.verdicts import VERDICTS
from bestarm_lab.notebooks.pages import REACH, SAID, disagreements, score_values, shares
from bestarm_lab.notebooks.runner import notebooks_of
from bestarm_lab.paths import FIGURES, ROOT
from bestarm_lab.results import read_comparisons, read_verdicts
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names
from bestarm_site import comparisons
from bestarm_site.cards import because, chip, chips, figure_anchor, paper_link, raw
from bestarm_site.records import CONVENTIONS, Record, Verdict, number, of_study, records
from bestarm_site.source import in_repository, picture_of, short_title

HERE = Path(__file__).parents[1]
CODES = {word: convention for convention, word in CONVENTIONS.items()}
WEIGHTS = {  # of a claim in its paper, by its level
    "headline": "main claims",
    "section": "findings of a section",
    "detail": "details",
    "theorem": "theorems",
}
SHOWN_AT_ONCE = 8  # claims of one list of a summary; the others are folded
ORDER = ("linear_topm", "gpoo", "gse", "oae", "dpp_bbo")


def studies() -> list[str]:
    """Return the studies in the order of the site; those that it does not know come last."""
    return sorted(study_names(), key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


@cache
def told() -> dict[str, dict[str, Any]]:
    """Return what people wrote of each paper, in ``papers.yaml``."""
    table: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "papers.yaml").read_text(encoding="utf-8"))
    return table


def _cells(verdict: Verdict) -> str:
    found = re.match(r"\d+ of \d+", verdict.decided_by)
    return found.group() if found else f"{verdict.confirming} of {verdict.comparisons}"


def _behind(identity: str, convention: str) -> str:
    """Return by how much the mean effect over the comparisons of a claim is below zero."""
    dots = comparisons.of_study(records()[identity].study)[f"{identity}|{convention}"]["dots"]
    return number(-sum(dot["effect"] for dot in dots) / len(dots))


def _runs(identity: str, convention: str, part: str) -> str:
    """Return in how many runs something happened, in the comparison whose name has a part: 3 of 500."""
    dots = comparisons.of_study(records()[identity].study)[f"{identity}|{convention}"]["dots"]
    (dot,) = (dot for dot in dots if part in dot["name"])
    return f"{round(dot['effect'] * dot['n'])} of {dot['n']}"


FIELDS = {
    "effect": lambda v: number(v.effect),
    "word": lambda v: v.word,
    "cells": _cells,
    "confirming": lambda v: str(v.confirming),
    "comparisons": lambda v: f"{v.confirming} of {v.comparisons}",
    "needed": lambda v: str(v.needed),
    "against": lambda v: str(v.against),
    "n": lambda v: str(v.n),
}


def filled(text: str) -> str:
    """Return a text with its numbers taken from the verdicts and their comparisons.

    Raises
    ------
    ValueError
        For a claim, a run, a field or a comparison that there is not.
    """

    def value(match: re.Match[str]) -> str:
        identity, run, field, part = match.groups()
        claim, convention = records().get(identity), CODES.get(run, "")
        try:
            if claim is None:
                raise KeyError(identity)
            if field == "runs":
                return _runs(identity, convention, part or "")
            if field == "behind":
                return _behind(identity, convention)
            return str(FIELDS[field](claim.verdicts[convention]))
        except (KeyError, ValueError, ZeroDivisionError):
            named = f"papers.yaml: {match.group()} names a claim, a run, a field or a comparison that there is not."
            raise ValueError(named) from None

    return re.sub(r"\{([\w.-]+)\|(\w+)\|(\w+)(?:\|([^}]*))?\}", value, text)


def home() -> str:
    """Return the first page: what this is, five stories, the score, where to go on."""
    theirs = [r for r in records().values() if not r.ours]
    lines = ["# Do best-arm papers do what they say?", ""]
    lines += [
        f"We rebuilt five papers on finding the best of many options with few measurements, turned their {len(theirs)} "
        "claims into statistical tests, and ran the authors' code beside their text. Every number here comes from a "
        "run that you can repeat with one command.",
        "",
    ]
    lines += [(HERE / "pages" / "home_start.md").read_text(encoding="utf-8")]
    lines += ["## Five stories", ""]
    for study in studies():
        entry = told().get(study, {})
        if "story" in entry:
            paper = load_study(study).paper
            words = [records()[identity] for identity in entry["decides"] if identity in records()]
            lines += [raw(f'<div class="story"><h3><a href="papers/{study}.html">{escape(paper.title)}</a></h3>')]
            lines += [filled(entry["story"].strip()), ""]
            if words:
                lines += [
                    raw(
                        f'<p class="story-chips"><a href="{words[0].page}.html#{words[0].id}">{words[0].id}</a> '
                        f"{chips(words[0])}</p>"
                    )
                ]
            lines += [raw("</div>")]
    lines += ["", "## The score", "", raw(score_figure()), ""]
    lines += [(HERE / "pages" / "home_end.md").read_text(encoding="utf-8")]
    return "\n".join(lines)


STATES = ("for", "open", "against")


@cache
def verdict_tables() -> dict[str, pd.DataFrame]:
    """Return the committed verdicts of each study that has some, in the order of the site."""
    found = {study: read_verdicts(study) for study in studies()}
    return {study: table for study, table in found.items() if table is not None}


def score_figure() -> str:
    """Return the score in HTML: headline claims with all comparisons, and all claims of a paper by their words."""
    tables = verdict_tables()
    compared = {study: table for study in tables if (table := read_comparisons(study)) is not None}
    shorts = {i: claim.short for study in tables for i, claim in load_study(study).claims.items() if claim.short}
    values, overview = score_values(tables, compared, shorts), shares(tables)
    parts = []
    for study in tables:
        bars = "".join(_share_bar(line) for _, line in overview[overview["study"] == study].iterrows())
        mine = values[values["study"] == study]
        mine = mine.sort_values("id", key=lambda ids: ids.map(list(dict.fromkeys(ids)).index), kind="stable")
        rows = "".join(_headline(line, compared[study]) for _, line in mine.iterrows())
        name = escape(load_study(study).paper.abbreviation)
        head = f'<a class="score-name" href="papers/{study}.html">{name}</a><span class="score-bars">{bars}</span>'
        parts.append(f'<div class="score-paper">{head}</div>{rows}')
    legend = "".join(f'<span class="key"><i class="bar-{state}"></i>{SAID[state]}</span>' for state in STATES)
    return (
        f'<figure class="score" aria-label="Headline claims by their comparisons">{"".join(parts)}'
        f'<figcaption>{legend}<span class="muted">A line is a headline claim, a mark one of its comparisons by its '
        "distance from the claim's margin, in standard deviations of a run; right of the dashed line is for the claim, "
        f"and what lies beyond {REACH} stands at the edge. The dot is their mean with its 95% interval, filled for the "
        "paper's text, hollow for the authors' code; * are objectives of ours. "
        "The bars beside a paper's name are all its claims that statistics decide, by the count of their comparisons "
        "and on average over them.</span></figcaption></figure>"
    )


def _share_bar(line: pd.Series) -> str:
    run = CONVENTIONS[str(line["convention"])]
    parts = "".join(
        f'<i class="bar-{state}" style="flex:{line[state]:.4f}"></i>' for state in STATES if line[state] > 0
    )
    told = ", ".join(f"{line[state]:.0%} {SAID[state]}" for state in STATES)
    link = f"claims/index.html?paper={line['study']}&amp;run={run}&amp;kind=test"
    return (
        f'<a class="share" href="{link}"><span>{line["claims"]} claims, {run}'
        f"{', on average' * (line['by'] == 'average')}</span>"
        f'<span class="score-bar" role="img" aria-label="{told}" title="{told}">{parts}</span></a>'
    )


def _headline(line: pd.Series, compared: pd.DataFrame) -> str:
    """Return one headline claim under one convention: its words, its comparisons as marks, its verdict."""
    mine = compared[(compared["id"] == line["id"]) & (compared["convention"] == line["convention"])]

    def at(value: float) -> str:
        return f"{50 + 49 * min(max(value / REACH, -1.0), 1.0):.1f}%"

    marks = "".join(
        f'<line class="mark-{state}" x1="{at(x)}" x2="{at(x)}" y1="4" y2="18"/>'
        for x, state in zip(mine["strength"], mine["state"], strict=True)
    )
    claim = records()[str(line["id"])]
    convention = str(line["convention"])
    word = claim.verdicts[convention]
    run = f" <em>{CONVENTIONS[convention]}</em>" if len(claim.verdicts) > 1 else ""
    picture = (
        f'<svg class="strip" height="22" role="img" aria-label="{word.confirming} for, {word.undecided} open, '
        f'{word.against} against"><line class="zero" x1="50%" x2="50%" y1="0" y2="22"/>{marks}'
        f'<line class="reach" x1="{at(line["low"])}" x2="{at(line["high"])}" y1="11" y2="11"/>'
        f'<circle class="mean {convention}" cx="{at(line["value"])}" cy="11" r="4"/></svg>'
    )
    link = f'<a href="{claim.page}.html#{claim.id}" title="{escape(claim.text)}">{escape(str(line["short"]))}</a>'
    return (
        f'<div class="score-row"><span class="score-claim">{link}{run}</span>{picture}'
        f"{chip(word, convention, named=False, brief=True)}</div>"
    )


def claims_index() -> str:
    """Return the table of all claims, which is filtered in the browser."""
    columns = {"claim": "", "statement": "", "text": "", "code": "", "for / open / against": "number"}
    head = "".join(
        f'<th scope="col" aria-sort="none" data-sort="{kind}"><button type="button">{words}</button></th>'
        for words, kind in columns.items()
    )
    body = "".join(
        _claim_row(claim) for study in studies() for claim in [*of_study(study), *of_study(study, ours=True)]
    )
    words = [w for w in VERDICTS if any(v.word == w for r in records().values() for v in r.verdicts.values())]
    words += sorted({v.word for r in records().values() for v in r.verdicts.values()} - set(VERDICTS))
    levels = [level for level in LEVELS if any(r.level == level for r in records().values())]
    papers = {study: load_study(study).paper.abbreviation for study in studies()}
    form = "".join(
        [
            _select("paper", "Paper", papers),
            _select("verdict", "Verdict", {w: w for w in words}),
            _select("run", "Algorithm as in", {"text": "the paper's text", "code": "the authors' code"}),
            _select("level", "Weight in the paper", {level: WEIGHTS[level] for level in levels}),
            _select("kind", "Checked by", {"test": "runs and a test", "exact": "calculation"}),
            _select("parts", "Text and code give", {"yes": "different verdicts"}),
            _select("whose", "Stated by", {"paper": "the paper", "ours": "us, about it"}, "paper"),
            '<label class="search-words">With the words <input type="search" name="words" autocomplete="off"></label>',
            '<button type="reset">Reset</button>',
        ]
    )
    text = (
        "# All claims\n\nOne line for each claim of the five papers, in our words. The state of the filters is in the "
        "address of this page, so that it can be shared. *Confirmed*: significant in as many comparisons as the claim "
        "speaks of. *Refuted*: significantly fewer. *Mixed*: refuted as stated, true in some. *Undecided*: neither; "
        "beside it the runs that would decide. *At the margin*: a hundred times the runs would not. *Not informative*: "
        "nothing that was run could have contradicted it. *Not run*: the data are not public, or the authors' code "
        "has no such series. Behind these words is [a rule, and how often it is wrong](/docs/verdicts.md).\n\n"
    )
    table = (
        f'<form id="claim-filters" class="filters" aria-label="Filters">{form}</form>'
        '<p id="claim-count" role="status" aria-live="polite"></p>'
        '<div class="claims-wrap" tabindex="0" role="region" aria-label="Claims">'
        f'<table id="claims" class="claims"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        '<script defer src="../_static/claims.js"></script>'
    )
    children = "\n".join(f"{load_study(s).paper.abbreviation} <{s}>" for s in studies())
    return text + raw(table) + f"\n```{{toctree}}\n:hidden:\n\n{children}\n```\n"


def _select(name: str, label: str, options: dict[str, str], chosen: str = "") -> str:
    every = f'<option value="all"{"" if chosen else " selected"}>all</option>'
    rest = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(words)}</option>'
        for value, words in options.items()
    )
    return f'<label>{label} <select name="{name}">{every}{rest}</select></label>'


def _claim_row(claim: Record) -> str:
    verdicts = {c: claim.verdicts.get(c) for c in CONVENTIONS}
    data = {
        "paper": claim.study,
        "text": verdicts["as_written"].word if verdicts["as_written"] else "",
        "code": verdicts["as_coded"].word if verdicts["as_coded"] else "",
        "kind": "exact" if claim.exact else "test",
        "whose": "ours" if claim.ours else "paper",
        "parts": "yes" if claim.parts else "no",
        "level": claim.level,
    }
    attributes = " ".join(f'data-{key}="{escape(value)}"' for key, value in data.items())
    shown = "".join(
        f'<td data-run="{CONVENTIONS[c]}">{chip(v, c, named=False, brief=True)}</td>' if v else "<td></td>"
        for c, v in verdicts.items()
    )
    link = f'<a href="{claim.study}.html#{claim.id}">{claim.id}</a>'
    counts = "<br>".join(dict.fromkeys(verdict.counts for verdict in claim.verdicts.values()))
    return (
        f'<tr {attributes}><th scope="row">{link}</th><td class="statement">{escape(claim.text)}<br>'
        f'<span class="muted">{escape(claim.where)}</span></td>{shown}<td class="effect">{counts}</td></tr>'
    )


def text_and_code() -> str:
    """Return the page of claims that were run as text and as code, different verdicts first, then by effect."""
    counts = disagreements(verdict_tables())
    run = [r for r in records().values() if not r.ours and len(r.verdicts) == 2]
    both = [r for r in run if all(v.word != "not run" for v in r.verdicts.values())]
    apart = sorted((r for r in both if r.parts), key=_moved, reverse=True)
    alike = sorted((r for r in both if not r.parts), key=_moved, reverse=True)
    lines = ["# Text against code", ""]
    lines += [
        f"Of {counts['claims'].sum()} claims that could be run both as the paper's text states the algorithms and as "
        f"the authors' code does, {counts['differ'].sum()} have different verdicts. Both runs share instances and, "
        "where they can, noise. The lists are sorted by how far the code moves the effect, in half-widths of the "
        "interval of the text.",
        "",
        "| paper | claims run as both | different verdicts |",
        "| --- | --: | --: |",
    ]
    for _, line in counts.iterrows():
        name = load_study(line["study"]).paper.abbreviation
        lines += [f"| [{name}](/papers/{line['study']}.md) | {line['claims']} | {line['differ']} |"]
    lines += [
        "",
        "## Different verdicts",
        "",
        raw(_pairs(apart)),
        "",
        "## The same verdict",
        "",
        raw(_pairs(alike)),
        "",
    ]
    return "\n".join(lines)


def _moved(claim: Record) -> float:
    text, code = claim.verdicts["as_written"], claim.verdicts["as_coded"]
    if text.effect is None or code.effect is None or text.low is None or text.high is None:
        return -1.0
    return abs(code.effect - text.effect) / max((text.high - text.low) / 2, 1e-9)


def _pairs(claims: list[Record]) -> str:
    body = "".join(
        f'<tr><th scope="row"><a href="{r.page}.html#{r.id}">{r.id}</a></th>'
        f'<td class="statement">{escape(r.text)}<br><span class="muted">{escape(r.first.unit)}</span></td>'
        + "".join(
            f'<td data-run="{CONVENTIONS[c]}">{chip(r.verdicts[c], c, named=False, brief=True)}<br>'
            f'<span class="effect">{escape(r.verdicts[c].numbers)}</span><br>'
            f'<span class="muted">{r.verdicts[c].counts}</span></td>'
            for c in CONVENTIONS
        )
        + "</tr>"
        for r in claims
    )
    head = "".join(
        f'<th scope="col">{c}</th>'
        for c in ("claim", "statement, and what the effect is", "text: effect, for / open / against", "code")
    )
    return (
        '<div class="claims-wrap" tabindex="0" role="region" aria-label="Text against code">'
        f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def summary(study: str) -> str:
    """Return the summary of one paper, with the notebooks as its chapters below it."""
    paper, entry, theirs = load_study(study).paper, told().get(study, {}), of_study(study)
    citation, address = paper_link(study)
    lines = [f"# {paper.title}", "", f"[{citation}]({address})" if address else citation, ""]
    if "story" in entry:
        lines += [filled(entry["story"].strip()), ""]
    lines += ["## Scope", "", f"{entry.get('scope', paper.short)} Scale: {paper.scale.strip()}"]
    tested = [r for r in theirs if any(v.word != "not run" for v in r.verdicts.values())]
    lines += [f" {len(theirs)} claims, {len(tested)} of them run; {sum(r.exact for r in tested)} are exact checks.", ""]
    lines += ["## What holds", "", _list([r for r in theirs if _words(r) == {"confirmed"}]), ""]
    lines += ["## What does not hold, and why", ""]
    lines += [f"* {filled(why)}" for why in entry.get("why", [])]
    lines += ["", _list([r for r in theirs if _words(r) & {"refuted", "mixed"}]), ""]
    lines += ["## What stays open", "", _list([r for r in theirs if _words(r) & {"undecided", "at the margin"}]), ""]
    differ = [r for r in theirs if r.parts]
    if differ:
        lines += ["## Differences between text and code that change a verdict", "", _list(differ), ""]
    lines += ["## What was easy", "", entry.get("easy", "Not told."), ""]
    lines += ["## What was difficult", "", entry.get("hard", "Not told."), ""]
    absent = [r for r in theirs if _words(r) == {"not run"}]
    if absent:
        lines += ["## What is not covered", "", _list(absent), ""]
    chapters = "\n".join(f"{short_title(p)} </notebooks/{study}/{p.stem}>" for p in notebooks_of(study))
    lines += ["## Chapters", "", "Each section of the paper is a notebook with its equations, figures and claims.", ""]
    lines += ["```{toctree}", ":maxdepth: 1", "", chapters, "```", ""]
    lines += [
        "```{toctree}",
        ":hidden:",
        "",
        f"Algorithms </algorithms/{study}>",
        f"Figures </gallery_all/{study}>",
        f"Decisions </docs/decisions/{study}>",
        "```",
        "",
    ]
    lines += [
        f"[Every claim of this paper](/claims/{study}.md) · [Its algorithms](/algorithms/{study}.md) · "
        f"[All its figures](/gallery_all/{study}.md) · [Decisions and differences](/docs/decisions/{study}.md)",
        "",
    ]
    return "\n".join(lines)


def _words(claim: Record) -> set[str]:
    return {v.word for v in claim.verdicts.values()}


def _list(claims: list[Record]) -> str:
    """Return claims as a list with their verdicts; headlines first."""
    if not claims:
        return "None.\n"
    main = sorted(claims, key=lambda r: r.level != "headline")
    items = [
        f'<li><a href="../{r.page}.html#{r.id}">{r.id}</a> {escape(r.text)} {chips(r)}'
        + (f'<br><span class="muted">{escape(why)}</span></li>' if (why := because(r)) else "</li>")
        for r in main
    ]
    text = f'<ul class="claim-list">{"".join(items[:SHOWN_AT_ONCE])}</ul>'
    if len(items) > SHOWN_AT_ONCE:
        rest = "".join(items[SHOWN_AT_ONCE:])
        text += (
            f'<details><summary>{len(items) - SHOWN_AT_ONCE} more</summary><ul class="claim-list">{rest}</ul></details>'
        )
    return raw(text)


def gallery() -> str:
    """Return the gallery: the pictures that show most, with their numbers and their command."""
    lines = ["# Gallery", "", "A few figures of each study, each with its numbers and the command that redraws it.", ""]
    lines += ["[The papers' own figures and tables, one by one](/printed.md).", ""]
    for study in studies():
        paper = load_study(study).paper
        lines += [f"## {paper.title}", ""]
        for shown in paper.figures.values():
            picture = FIGURES / study / shown.notebook / f"{shown.file}.png"
            if shown.gallery and picture.is_file():
                path, numbers = picture.relative_to(ROOT).as_posix(), picture.with_suffix(".csv")
                csv = f" · {{download}}`CSV </{path[:-4]}.csv>`" if numbers.is_file() else ""
                notebook = f"/notebooks/{study}/{shown.notebook}.ipynb"
                lines += [f"### {shown.title}", "", f"[![{shown.alt}](/{picture_of(path)})]({notebook})", ""]
                lines += [f"[Notebook]({notebook}){csv} · `dvc repro -s -f {study}@{shown.notebook}`", ""]
    return "\n".join(lines)


def all_figures(study: str) -> str:
    """Return the page of every figure and table that a study makes, in the order of its notebooks."""
    paper = load_study(study).paper
    titles = {(e.notebook, e.file): (t, e) for t, e in paper.figures.items()}
    lines = [
        f"# {paper.abbreviation}: figures",
        "",
        "Every figure and table, with the notebook that makes it, its numbers and the command that redraws it.",
        "",
    ]
    for notebook in notebooks_of(study):
        files = sorted((FIGURES / study / notebook.stem).glob("*"))
        pictures = {f.stem for f in files if f.suffix == ".png"}
        shown = [f for f in files if f.suffix == ".png" or (f.suffix == ".md" and f.stem not in pictures)]
        if not shown:
            continue
        lines += [
            f"## {short_title(notebook)}",
            "",
            f"[Notebook](/notebooks/{study}/{notebook.stem}.ipynb) · `dvc repro -s -f {study}@{notebook.stem}`",
            "",
        ]
        for file in shown:
            title, entry = titles.get((notebook.stem, file.stem), (file.stem.replace("_", " "), None))
            lines += [f"({figure_anchor(study, notebook.stem, file.stem)})=", f"### {title}", ""]
            if entry is not None and entry.title:
                lines += [entry.title, ""]
            if file.suffix == ".png":
                alt = entry.alt if entry is not None and entry.alt else title
                lines += [f"![{alt}](/{picture_of(file.relative_to(ROOT).as_posix())})", ""]
            numbers = file.with_suffix(".csv").relative_to(ROOT).as_posix()
            address = in_repository(numbers)
            lines += [f"Numbers: [`{numbers}`]({address})" if address else f"Numbers: `{numbers}`", ""]
    return "\n".join(lines)
