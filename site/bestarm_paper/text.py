"""The text of the paper, MyST Markdown with roles for numbers, claims and works, and fences for guarded conclusions.

Roles: ``{row}`` a number of a table, ``{claim}`` a claim by its name, ``{verdict}`` a field of its verdict, ``{count}``
claims with properties, ``{fact}`` what is counted over many rows, ``{cite}`` and ``{citep}`` works. Fences: ``{holds}``
a paragraph that stands if a predicate is true of the rows, ``{figure}``, ``{causes}``, ``{claims}`` and ``{works}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path

import pandas as pd
from bestarm_site.pages import filled
from bestarm_site.records import records
from markdown_it import MarkdownIt

from bestarm_lab.yaml_keys import nearest, read_yaml
from bestarm_paper.facts import said
from bestarm_paper.figures import drawn
from bestarm_paper.measures import counted
from bestarm_paper.predicates import PREDICATES
from bestarm_paper.rows import Rows, abbreviation

HERE = Path(__file__).parents[1] / "findings"
ROLE = re.compile(r"\{(\w+)\}`([^`]+)`")
FENCE = re.compile(r"^:::\{(\w+)\} *([^\n]*)\n(.*?)^:::$", re.DOTALL | re.MULTILINE)
KINDS = re.compile(r"<!-- kinds -->(.*?)<!-- end of kinds -->", re.DOTALL)
OF_VERDICTS = ("effect", "word", "cells", "comparisons", "needed", "against", "n", "runs", "behind")


def works() -> dict[str, dict[str, str]]:
    """Return the works that can be cited: ``who, year, what`` by their keys."""
    file = HERE / "references.yaml"
    found: dict[str, dict[str, str]] = read_yaml(file.read_text(encoding="utf-8"), file.name)
    return found


class Paper:
    """One reading of the text with the rows; it remembers which claims and works were named.

    Parameters
    ----------
    rows : Rows
        What numbers are taken from.
    text : str
        In MyST Markdown.
    name : str
        Of the file, for messages.
    """

    def __init__(self, rows: Rows, text: str, name: str = "paper.md") -> None:
        self.rows, self.text, self.name = rows, text, name
        self.works = works()
        self.claims: list[str] = []
        self.cited: list[str] = []
        self.held: list[str] = []
        self.figures = 0
        self._markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
        self._roles: dict[str, Callable[[str], str]] = {
            "row": self._row,
            "claim": self._claim,
            "verdict": self._verdict,
            "count": self._count,
            "fact": self._fact,
            "cite": self._cite,
            "citep": self._citep,
        }
        self._fences: dict[str, Callable[[str, str], str]] = {
            "holds": self._holds,
            "figure": self._figure,
            "causes": self._causes,
            "claims": self._claims_named,
            "works": self._works_cited,
        }

    def html(self) -> str:
        """Return the body of the page.

        Raises
        ------
        ValueError
            For a role, a fence, a row or a name that there is not, and a conclusion that the rows no longer bear; in
            one line with the place.
        """
        parts, at = [], 0
        for match in FENCE.finditer(self.text):
            parts.append(self._rendered(self.text[at : match.start()], at))
            name, argument, body = match.groups()
            fence = self._known(match.start(), "fence", name, self._fences)
            inner = self._filled(body, match.start(3))
            parts.append(self._at(match.start(), partial(fence, argument.strip(), inner)))
            at = match.end()
        parts.append(self._rendered(self.text[at:], at))
        return KINDS.sub(self._by_effect, "\n".join(parts))

    def _by_effect(self, match: re.Match[str]) -> str:
        """Return the paragraphs on kinds of causes, each after a comment with its kind, the largest effect first."""
        _, *parts = re.split(r"<!-- kind: (.*?) -->", match[1])
        told = dict(zip(parts[::2], parts[1::2], strict=True))
        kinds = list(self.rows.causes["kind"].unique())
        if set(told) != set(kinds):
            wrong = sorted(set(told) ^ set(kinds))
            raise ValueError(
                f"{self.name}: paragraphs and causes.yaml differ in the kinds {', '.join(wrong)}; make them agree."
            )
        return "\n".join(told[kind] for kind in kinds)

    def _rendered(self, text: str, offset: int) -> str:
        return self._markdown.render(self._filled(text, offset))

    def _filled(self, text: str, offset: int) -> str:
        """Return a text with its roles replaced by what they stand for."""

        def value(match: re.Match[str]) -> str:
            place = offset + match.start()
            role = self._known(place, "role", match[1], self._roles)
            return self._at(place, lambda: role(" ".join(match[2].split())))

        return ROLE.sub(value, text)

    def _known(self, place: int, what: str, name: str, known: dict[str, Callable[..., str]]) -> Callable[..., str]:
        def found() -> str:
            if name not in known:
                raise ValueError(f"there is no {what} {name!r}; {nearest(name, known)}.")
            return name

        return known[self._at(place, found)]

    def _at(self, place: int, said: Callable[[], str]) -> str:
        """Return what a function says; what it refuses is refused with the line of the text."""
        try:
            return said()
        except (ValueError, KeyError) as error:
            line = self.text.count("\n", 0, place) + 1
            told = str(error).replace("papers.yaml: ", "")
            raise ValueError(f"{self.name}, line {line}: {told}") from None

    def _row(self, given: str) -> str:
        """Return a number: table :: column = text :: ... :: form; its column is ``value``, or what ``of`` names."""
        name, *pairs, form = (part.strip() for part in given.split("::"))
        line = dict(_pair(pair) for pair in pairs)
        column = line.pop("of", "value")
        found = self.rows.line(name, line, column)[column]
        text = str(found) if form == "text" else format(float(found), form).replace("-", "−")
        return _number(text, f"{name}: {', '.join(line.values())}")

    def _claim(self, given: str) -> str:
        return ", ".join(self._link(name.strip()) for name in given.split(","))

    def _link(self, identity: str) -> str:
        if identity not in records():
            raise ValueError(f"there is no claim {identity!r}; {nearest(identity, records())}.")
        if identity not in self.claims:
            self.claims.append(identity)
        return f'<a class="claim" href="#{identity}">{identity}</a>'

    def _verdict(self, given: str) -> str:
        identity, run, field, *part = given.split(" ", 3)
        self._link(identity)
        self.rows.verdict(identity, run)
        if field not in OF_VERDICTS:
            raise ValueError(f"{identity} has no field {field!r}; {nearest(field, OF_VERDICTS)}.")
        text = filled("{" + "|".join([identity, run, field, *part]) + "}")
        return _number(text, f"results: {identity} as {run}, {field}")

    def _count(self, given: str) -> str:
        return _number(str(counted(self.rows, given)), f"results: claims, {given}")

    def _fact(self, given: str) -> str:
        name, _, argument = (part.strip() for part in given.partition("::"))
        return _number(said(self.rows, name, argument), f"results: {given}")

    def _work(self, key: str) -> dict[str, str]:
        if key not in self.works:
            raise ValueError(f"there is no work {key!r}; {nearest(key, self.works)}.")
        if key not in self.cited:
            self.cited.append(key)
        return self.works[key]

    def _cite(self, given: str) -> str:
        work = self._work(given)
        return f'<a class="cite" href="#{given}">{work["who"]} ({work["year"]})</a>'

    def _citep(self, given: str) -> str:
        keys = [key.strip() for key in given.split(",")]
        links = [f'<a class="cite" href="#{k}">{self._work(k)["who"]} {self._work(k)["year"]}</a>' for k in keys]
        return f"({'; '.join(links)})"

    def _holds(self, given: str, body: str) -> str:
        for name in given.split():
            if name not in PREDICATES:
                raise ValueError(f"there is no predicate {name!r}; {nearest(name, PREDICATES)}.")
            if not PREDICATES[name](self.rows):
                told = (PREDICATES[name].__doc__ or "").partition("\n")[0]
                raise ValueError(f"the rows no longer bear {name!r} ({told}) Write the paragraph anew.")
            self.held.append(name)
        return f'<div data-holds="{given}">{self._markdown.render(body)}</div>'

    def _figure(self, given: str, body: str) -> str:
        """Return a figure; its alternative text stands before an empty line, its caption after it."""
        self.figures += 1
        alternative, _, caption = body.strip().partition("\n\n")
        told = escape(" ".join(_plain(alternative).split()))
        said = self._markdown.render(f"<b>Figure {self.figures}.</b> {caption}")
        image = f'<img src="{drawn(self.rows, given)}" alt="{told}">'
        return f'<figure id="figure-{self.figures}">{image}<figcaption>{said}</figcaption></figure>'

    def _causes(self, given: str, body: str) -> str:
        """Return the table of causes by kind."""
        lines = []
        for kind, group in self.rows.causes.groupby("kind", sort=False):
            head = f"{str(kind).capitalize()}. {group['meaning'].iloc[0]}"
            lines.append(f'<tr class="kind"><th colspan="5" scope="rowgroup">{escape(head)}</th></tr>')
            lines += [self._cause(cause) for _, cause in group.iterrows()]
        heads = ("paper", "changed alone", "quantity", "factor", "claim: text / code")
        head = "".join(f'<th scope="col">{head}</th>' for head in heads)
        return self._table("causes", body, f"<thead><tr>{head}</tr></thead>", lines)

    def _cause(self, cause: pd.Series) -> str:
        words = [self.rows.word(cause["claim"], run) for run in _runs(cause["claim"])]
        return (
            f"<tr><td>{abbreviation(cause['study'])}</td><td>{escape(cause['switch'])}</td>"
            f"<td>{escape(cause['quantity'])}</td><td>{_number(cause['factor'], cause['source'])}</td>"
            f"<td>{self._link(cause['claim'])}: {' / '.join(words)}</td></tr>"
        )

    def _claims_named(self, given: str, body: str) -> str:
        """Return a table of every claim that the text names, in the order of the ledgers."""
        order = {identity: number for number, identity in enumerate(records())}
        lines = []
        for identity in sorted(self.claims, key=order.__getitem__):
            claim = records()[identity]
            words = "<br>".join(
                f"{run}: {escape(verdict.words)}{f' ({verdict.counts})' if verdict.counts else ''}"
                for run, verdict in zip(_runs(identity), claim.verdicts.values(), strict=True)
            )
            whose = f" <i>Ours, on {escape(claim.of) or 'the paper'}.</i>" if claim.ours else ""
            lines.append(
                f'<tr id="{identity}"><th scope="row">{identity}</th><td>{escape(claim.text)}{whose} '
                f'<span class="where">{escape(claim.where)}</span></td><td>{words}</td></tr>'
            )
        return self._table("claims", body, "", lines)

    def _table(self, name: str, caption: str, head: str, lines: list[str]) -> str:
        told = self._markdown.renderInline(caption.strip())
        return f'<table class="{name}"><caption>{told}</caption>{head}<tbody>{"".join(lines)}</tbody></table>'

    def _works_cited(self, given: str, body: str) -> str:
        items = sorted(self.cited, key=lambda key: (self.works[key]["who"], self.works[key]["year"]))
        return (
            "<ul class='works'>" + "".join(f'<li id="{key}">{self.works[key]["what"]}</li>' for key in items) + "</ul>"
        )


def _runs(identity: str) -> list[str]:
    return ["text" if run == "as_written" else "code" for run in records()[identity].verdicts]


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign:
        raise ValueError(f"expected column = text, got {text!r}; write for example series = GSE-Lin.")
    return key.strip(), value.strip()


def _number(text: str, source: str) -> str:
    return f'<span class="row" title="{escape(source)}">{escape(text)}</span>'


def _plain(html: str) -> str:
    return re.sub(r"<[^>]*>", "", html)
