"""Links on every page: names of claims lead to their cards, names of algorithms say what they are when pointed at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx

from bestarm_site.records import CLAIM, records

APART = (nodes.reference, nodes.literal, nodes.literal_block, nodes.raw, nodes.title, nodes.math, nodes.math_block)


def texts(tree: nodes.document) -> Iterator[nodes.Text]:
    """Yield the texts of a page that may get links: neither titles, code and formulas nor what is a link already."""
    for text in list(tree.findall(nodes.Text)):
        node = text.parent
        while node is not None and not isinstance(node, APART):
            node = node.parent
        if node is None:
            yield text


def link_claims(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Make the name of a claim a link to its card, except on the card itself."""
    known = records()
    for text in texts(tree):
        parts, at = [], 0
        for match in CLAIM.finditer(text.astext()):
            claim = known.get(match.group())
            if claim is None or page == claim.page:
                continue
            uri = f"{app.builder.get_relative_uri(page, claim.page)}#{claim.id}"
            parts += [nodes.Text(text.astext()[at : match.start()])]
            parts += [nodes.reference("", claim.id, refuri=uri, internal=True, classes=["claim-link"])]
            at = match.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text.astext()[at:])])


@cache
def meanings() -> dict[str, str]:
    """Return what each algorithm's name means, in a sentence."""
    table = yaml.safe_load((Path(__file__).parents[1] / "algorithms.yaml").read_text(encoding="utf-8"))
    return {name: entry["idea"] for entry in table.values() for name in entry["names"]}


def explain_names(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Give the first mention of each algorithm in a paragraph its meaning, shown when it is pointed at or focused."""
    if not page.startswith(("notebooks/", "papers/", "claims/")):
        return
    names = sorted(meanings(), key=len, reverse=True)
    pattern = re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, names)) + r")(?![\w-])")
    seen: set[tuple[int, str]] = set()
    for text in texts(tree):
        if not isinstance(text.parent, nodes.paragraph):
            continue
        parts, at = [], 0
        for match in pattern.finditer(text.astext()):
            key = (id(text.parent), match.group())
            if key in seen:
                continue
            seen.add(key)
            word = nodes.abbreviation("", match.group(), explanation=meanings()[match.group()])
            parts += [nodes.Text(text.astext()[at : match.start()]), word]
            at = match.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text.astext()[at:])])
