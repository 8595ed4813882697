"""The card of a claim, and the page of all cards of a study."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from bestarm_lab.paths import ROOT
from bestarm_lab.quoted import reason
from bestarm_lab.study import load_study
from bestarm_site.comparisons import Dots, first_rows
from bestarm_site.records import CONVENTIONS, Record, Verdict, controls, figure_of, number, of_study
from bestarm_site.source import in_repository, picture_of

RUN_AS = {"as_written": "the paper's text", "as_coded": "the authors' code"}
OF_PLACE = {"reading": "another reading of", "control": "a control of", "prediction": "a prediction about"}


def raw(html: str) -> str:
    """Return HTML as a block of a page."""
    return f"```{{raw}} html\n{html}\n```\n"


def chip(verdict: Verdict, convention: str, *, named: bool = True, brief: bool = False) -> str:
    """Return a verdict as a small coloured word; a brief one without what belongs to it."""
    kind = verdict.word.replace(" ", "-")
    label = f'<span class="chip-of">{CONVENTIONS[convention]}</span>' if named else ""
    words = verdict.word if brief else verdict.words
    return f'<span class="chip chip-{escape(kind)}" title="{escape(verdict.words)}">{label}{escape(words)}</span>'


def chips(claim: Record, *, brief: bool = False) -> str:
    """Return the verdicts of a claim as chips; text and code are named where there are both."""
    both = len(claim.verdicts) > 1
    return " ".join(chip(v, c, named=both or c == "as_coded", brief=brief) for c, v in claim.verdicts.items())


def paper_link(study: str) -> tuple[str, str]:
    """Return the citation of a study's paper and its address, by the number of arXiv or of a volume of proceedings."""
    citation = " ".join(load_study(study).paper.citation.split())
    if found := re.search(r"arXiv[: ]*(\d{4}\.\d{4,5})", citation):
        return citation, f"https://arxiv.org/abs/{found.group(1)}"
    volume = re.search(r"PMLR (\d+)", citation)
    return citation, f"https://proceedings.mlr.press/v{volume.group(1)}/" if volume else ""


def claims_page(study: str, dots: Dots) -> str:
    """Return the page of all cards of a study."""
    paper = load_study(study).paper
    citation, address = paper_link(study)
    named = f"[{citation}]({address})" if address else citation
    lines = [f"# {paper.abbreviation}: claims", "", named, ""]
    lines += [f"Each claim of the paper in our words, with every comparison behind its verdict. {HOW_TO_READ}", ""]
    theirs = of_study(study)
    if any("as_coded" in claim.verdicts for claim in theirs):
        lines += [raw(SWITCH)]
    for claim in theirs:
        lines += [card(claim, dots)]
    alone = [c for c in of_study(study, ours=True) if not c.of or c.of not in {t.id for t in theirs}]
    if alone:
        lines += ["## Statements of this project", ""]
        lines += [card(claim, dots) for claim in alone]
    return "\n".join(lines) + "\n" + raw(_data(study, dots))


HOW_TO_READ = (
    "A dot is one comparison with its 95% interval; the shaded side is what the claim says. Drag the margin, or move "
    "it with the arrow keys, to see how many comparisons would still be for the claim; the verdict itself uses the "
    "margin that was set beforehand and adjusts p over all claims of the paper."
)
SWITCH = """<div class="switch-bar" role="group" aria-label="Which run is shown on all cards">
<span>Show runs of</span>
<button type="button" data-convention="as_written" aria-pressed="true">the paper's text</button>
<button type="button" data-convention="as_coded" aria-pressed="false">the authors' code</button>
</div>"""


def card(claim: Record, dots: Dots) -> str:
    """Return the card of a claim with this project's statements about it, folded."""
    opening = f'<div class="card-head" id="{claim.id}"><div class="card-chips">{chips(claim)}</div></div>'
    lines = [f"## {claim.id}", "", raw(opening), claim.text, "", why(claim)]
    lines += [raw(body(claim, dots)), details_of(claim, dots)]
    mine = controls(claim)
    if mine:
        lines += [raw(f'<details class="controls"><summary>{_count(mine)} on this claim</summary>')]
        for other in mine:
            kind = OF_PLACE.get(other.ours, f"a {other.ours} of")
            head = (
                f'<div class="control" id="{other.id}"><div class="card-chips"><strong>{other.id}</strong> '
                f'<span class="muted">{kind} {claim.id}</span> {chips(other)}</div>'
            )
            lines += [raw(head), other.text, "", raw(body(other, dots)), details_of(other, dots), raw("</div>")]
        lines += [raw("</details>")]
    return "\n".join(lines)


def because(claim: Record) -> str:
    """Return why a claim is refuted or holds in part, in words; nothing of other claims, or where nothing is said."""
    told = load_study(claim.study).claims[claim.id].because
    fails = {verdict.word for verdict in claim.verdicts.values()} & {"refuted", "mixed"}
    return reason(claim.study, claim.notebook, told) if told and fails else ""


def why(claim: Record) -> str:
    """Return why a claim is refuted or holds in part, with the figure that shows it; unfolded on a headline's card."""
    words = because(claim)
    named = load_study(claim.study).claims[claim.id].because if words else {}
    told = named.get("figure", "" if "." in named.get("from", ".") else named.get("from"))
    lines = [f"**Why:** {words}", ""] if words else []
    if told:
        notebook, _, file = told.rpartition("/")
        path = f"figures/{claim.study}/{notebook or claim.notebook}/{file}.png"
        anchor = figure_anchor(claim.study, notebook or claim.notebook, file)
        link = f"[The numbers behind it](/gallery_all/{claim.study}.md#{anchor})"
        if (ROOT / path).is_file():
            opened = " open" if claim.level == "headline" else ""
            lines += [raw(f'<details class="why"{opened}><summary>The figure behind it</summary>')]
            lines += [f"![{words}](/{picture_of(path)})", "", link, "", raw("</details>")]
        else:
            lines += [link, ""]
    return "\n".join(lines)


def _count(mine: list[Record]) -> str:
    return "One statement of ours" if len(mine) == 1 else f"{len(mine)} statements of ours"


def body(claim: Record, dots: Dots) -> str:
    """Return the part of a card that is drawn: one panel for each convention."""
    panels = [_panel(claim, convention, dots) for convention in claim.verdicts]
    return f'<div class="card-body" data-claim="{claim.id}">{"".join(panels)}</div>'


def _panel(claim: Record, convention: str, dots: Dots) -> str:
    verdict, key = claim.verdicts[convention], f"{claim.id}|{convention}"
    entry = dots.get(key, {})
    facts = _facts(claim, verdict, entry)
    plot = ""
    if entry.get("dots") and entry.get("relation"):
        # room for the picture, so that a link to a later card arrives there
        n = len(entry["dots"])
        room = 210 + round(max(34, n * (28 if 1 < n <= 12 else max(4, min(18, 330 / n)))))
        plot = f'<div class="plot" data-key="{escape(key)}" style="min-height:{room}px"></div>'
    elif verdict.decided_by:
        plot = f'<p class="found">{escape(verdict.decided_by)}</p>'
    words = f'<span class="panel-of">Run as {RUN_AS[convention]}</span>' if len(claim.verdicts) > 1 else ""
    return f'<div class="panel" data-convention="{convention}">{words}{plot}{facts}</div>'


NEEDS = {  # words of sentences, by how many comparisons they speak of
    "all": "all",
    "most": "most",
    "typical": "most; the sentence has no number word",
    "exists": "one",
}


def _facts(claim: Record, verdict: Verdict, entry: dict[str, Any]) -> str:
    pairs = []
    if verdict.margin:
        pairs.append(("claimed", f"{verdict.unit}: {verdict.margin}"))
    if verdict.comparisons:
        needs = "as the claim names it" if entry.get("named") else NEEDS.get(claim.quantifier, claim.quantifier)
        counts = f"{verdict.confirming} for, {verdict.undecided} open, {verdict.against} against the claim"
        held = re.match(r"(\d+ of \d+) cells by their estimates", verdict.decided_by)
        counts = f"by their estimates {held.group(1)} are as claimed; significantly {counts}" if held else counts
        pairs.append(("comparisons", f"{counts}; it needs {verdict.needed} of {verdict.comparisons} ({needs})"))
    if verdict.on_average and verdict.average_p is not None:
        mean = f"{verdict.on_average}: {verdict.average} over comparisons, adjusted p {_p(verdict.average_p)}"
        pairs.append(("on average", f"{mean}; another statement, which leaves the verdict as it is"))
    if verdict.numbers:
        share = "share " if entry.get("counts") else ""
        interval = f"{share}{verdict.numbers}, {verdict.confidence} interval"
        pairs.append(("decided by", f"{verdict.decided_by}: {interval}"))
    if verdict.direction:
        lies = f"{verdict.direction} than claimed" if verdict.direction in ("better", "worse") else verdict.direction
        pairs.append(("direction", lies))
    if verdict.p is not None and verdict.p_opposite is not None and verdict.p_adjusted is not None:
        one_sided = f"{_p(verdict.p)} for the claim, {_p(verdict.p_opposite)} against it"
        ps = f"{one_sided}; two-sided and adjusted over the claims {_p(verdict.p_adjusted)}"
        pairs.append(("p", ps))
    if verdict.n:
        pairs.append(("runs", f"{verdict.n:,}" + (f", {verdict.scale} scale" if verdict.scale else "")))
    becomes = [f"{choice}: {word}" for choice, word in verdict.moved.items()]
    if becomes:
        none = "" if len(becomes) > 1 else "no margin to move; "
        pairs.append(("other margins", none + ", ".join(becomes)))
    lines = [f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in pairs]
    first = sum(name in ("claimed", "comparisons") for name, _ in pairs)
    if len(lines) > first + 1:
        more = f'<summary>Statistics</summary><dl class="facts">{"".join(lines[first:])}</dl>'
        return f'<dl class="facts">{"".join(lines[:first])}</dl><details class="more">{more}</details>'
    return f'<dl class="facts">{"".join(lines)}</dl>'


def _robustness(claim: Record) -> str:
    """Return under how many choices that the paper leaves open a claim is confirmed, and what changes it."""
    text = ""
    for told, name, how, why in (
        (claim.choices, "Open choices", "each is changed alone", "What differs"),
        (claim.draws, "All choices together", "their levels are drawn at random", "What decides most"),
    ):
        if told is not None:
            extent = f"{told['fewest']} to {told['most']}" if told["fewest"] < told["most"] else told["most"]
            counts = f"confirmed under {told['confirmed']} of {told['choices']}, refuted under {told['refuted']}"
            text += f" **{name}:** by itself {counts}; {how}, on {extent} of its {told['of']} comparisons."
            text += f" {why}: {told['differs']}." if told["differs"] else ""
    return text


def _p(value: float) -> str:
    if value < 1e-4:
        return "below 0.0001"
    return number(value)


def details_of(claim: Record, dots: Dots) -> str:
    """Return what a card says below its picture: place, test, caveat, figure, notebook, command and how to cite."""
    citation, address = paper_link(claim.study)
    place = f"[{claim.where}]({address})" if address and claim.where else claim.where
    first = next(iter(claim.verdicts))
    entry = dots.get(f"{claim.id}|{first}", {})
    level = f" ({claim.level})" if claim.level else ""
    lines = [f"**In the paper{level}:** {place}." if place else ""]
    if others := same_sentence(claim):
        links = ", ".join(f'<a href="#{other.id}">{other.id}</a>' for other in others)
        lines += [f" **Of the same sentence:** {links}."]
    lines += [f" **Tested as:** {claim.first.test.rstrip('.')}."]
    if claim.caveat:
        lines += [f" **Rests on:** {claim.caveat.strip()}"]
    text = "".join(lines) + _robustness(claim) + "\n\n"
    notebook = f"/notebooks/{claim.study}/{claim.notebook}.ipynb"
    found = figure_of(claim)
    pointers = [f"[Notebook {claim.notebook[:2]}]({notebook})"]
    if found:
        anchor = figure_anchor(claim.study, found[1].notebook, found[1].file)
        pointers.insert(
            0,
            f"[{found[0]}](/gallery_all/{claim.study}.md#{anchor})",
        )
    pointers.append(f"`bestarm verdict {claim.id}`")
    text += " · ".join(pointers) + "\n\n"
    queries = "\n".join(entry.get("queries", []))
    files = ", ".join(_file_link(file) for file in entry.get("files", []))
    more = ""
    if files:
        more += f"<p>Rows: {files}</p>" + "".join(map(first_rows, entry["files"][:1]))
    if queries:
        more += f'<pre class="queries">{escape(queries)}</pre>'
    folded = f'<details class="behind"><summary>The rows behind it</summary>{more}</details>' if more else ""
    return text + raw(folded + _cite(claim, citation))


def same_sentence(claim: Record) -> list[Record]:
    """Return the other claims that are parts of the sentence, by its fingerprint."""
    mine = of_study(claim.study) if claim.sentence else []
    return [r for r in mine if r.sentence == claim.sentence and r.id != claim.id]


def figure_anchor(study: str, notebook: str, file: str) -> str:
    """Return the anchor of a figure on the page of all figures of its study."""
    return f"{study}-{notebook}-{file}".replace("_", "-").lower()


def _file_link(file: str) -> str:
    address = in_repository(file)
    return f'<a href="{escape(address)}"><code>{file}</code></a>' if address else f"<code>{file}</code>"


def _cite(claim: Record, citation: str) -> str:
    words = "; ".join(f"{CONVENTIONS[c]}: {v.words}" for c, v in claim.verdicts.items())
    text = f'bestarm, claim {claim.id}, "{claim.text}" ({words}), on: {citation}'
    return (
        f'<details class="cite"><summary>Cite this claim</summary><p class="citation">{escape(text)} '
        f'<span class="cite-link" data-anchor="{claim.id}"></span></p></details>'
    )


def _data(study: str, dots: Dots) -> str:
    kept = {
        key: {name: value for name, value in entry.items() if name not in ("files", "queries")}
        for key, entry in dots.items()
        if entry.get("dots")
    }
    units = {
        f"{claim.id}|{convention}": verdict.unit
        for ours in (False, True)
        for claim in of_study(study, ours=ours)
        for convention, verdict in claim.verdicts.items()
    }
    for key, entry in kept.items():
        entry["unit"] = units.get(key, "")
    text = json.dumps(kept, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
    script = '<script defer src="../_static/cards.js"></script>'
    return f'<script type="application/json" id="claims-data">{text}</script>\n{script}'
