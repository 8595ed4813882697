"""Sphinx's configuration of the site; `python -m bestarm_site` writes the pages and calls Sphinx."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from html import unescape
from importlib.metadata import distribution
from pathlib import Path

from bestarm_site import links, runs
from bestarm_site.narrow_figures import narrow_of
from bestarm_site.records import records
from sphinx.application import Sphinx

import bestarm

HERE = Path(__file__).parent

project = "bestarm"
author = "The bestarm developers"
version = release = bestarm.__version__
extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["figures/**"]

# Notebooks are shown as they are committed.
nb_execution_mode = "off"
nb_render_markdown_format = "gfm"  # tables in outputs
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
nb_number_source_lines = False
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath", "html_image"]
myst_heading_anchors = 4
suppress_warnings = ["mystnb.unknown_mime_type"]

# Docstrings.
autodoc_typehints = "none"  # they stand in the docstrings
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "code"

# One file for formulas, served from here: fonts as paths, so that nothing is fetched.
mathjax_path = "mathjax/tex-svg.js"
mathjax_options = {"defer": "defer"}
mathjax3_config = {
    "svg": {"fontCache": "local"},
    "options": {"enableMenu": False, "enableAssistiveMml": True},
}

html_theme = "furo"
html_title = "bestarm"
html_short_title = "bestarm"
html_static_path = [str(HERE / "static")]
templates_path = [str(HERE / "templates")]
html_favicon = str(HERE / "static" / "favicon.svg")
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_permalinks_icon = "#"
html_baseurl = os.environ.get("BESTARM_SITE", "")
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_theme_options = {
    "navigation_with_keys": True,
    "top_of_page_buttons": [],
    "light_css_variables": {
        "color-brand-primary": "#005b94",
        "color-brand-content": "#005b94",
        "color-brand-visited": "#5b3a8c",
        "font-stack": "'Source Sans 3', 'Segoe UI', system-ui, -apple-system, 'Helvetica Neue', Arial, sans-serif",
        "font-stack--monospace": "ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, 'DejaVu Sans Mono', monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6fb7ea",
        "color-brand-content": "#6fb7ea",
        "color-brand-visited": "#c0a3ee",
    },
}


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Put MathJax's one file beside the pages."""
    if exception is None:
        found = distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static/mathjax/tex-svg.js")
        target = Path(app.outdir) / "_static" / "mathjax" / "tex-svg.js"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(found), target)


CHANGED = {  # in every page
    "<img alt=": '<img loading="lazy" alt=',  # a picture is loaded when it comes into view
    ' role="list" class="citation-list"': ' class="citation-list"',  # roles of citations that have been withdrawn
    ' role="doc-biblioentry"': "",
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
}
ONCE = r'(?<!\.narrow\.svg">)'  # a page that is not made anew has its pictures changed already


def copy_narrow_figures(app: Sphinx) -> dict[str, str]:
    """Copy the narrow variants of the figures that pages show; return their names by those of the figures."""
    narrow = {}
    for place, name in app.builder.images.items():
        drawn = narrow_of(Path(app.srcdir) / place)
        if drawn.is_file():
            narrow[name] = f"{Path(name).stem}.narrow.svg"
            shutil.copyfile(drawn, Path(app.outdir) / app.builder.imagedir / narrow[name])
    return narrow


def cut_figures(app: Sphinx) -> dict[str, dict[str, list[str]]]:
    """Write the figures of notebooks that show text and code as pictures of each alone; return these by the figure."""
    pictures = Path(app.outdir) / app.builder.imagedir
    drawn = {name: (Path(app.srcdir) / place).resolve() for place, name in app.builder.images.items()}
    return {name: made for name, file in drawn.items() if (made := runs.write_alone(file, pictures, name))}


EXCERPT = 6000  # letters of a page that the search page can quote


def write_search(app: Sphinx, exception: Exception | None) -> None:
    """Write what the search page knows beside its index: where each claim's card is, and how each page begins."""
    if exception is not None:
        return
    pages = {}
    for page in Path(app.outdir).rglob("*.html"):
        found = re.search(r'<article role="main"[^>]*>(.*)</article>', page.read_text(encoding="utf-8"), re.DOTALL)
        if found:
            text = re.sub(r"<(script|style|svg|nav)\b.*?</\1>|<[^>]*>", " ", found.group(1), flags=re.DOTALL)
            name = page.relative_to(app.outdir).with_suffix("").as_posix()
            pages[name] = " ".join(unescape(text).replace("#", " ").split())[:EXCERPT]
    claims = {claim.id.lower(): f"{claim.page}.html#{claim.id}" for claim in records().values()}
    told = json.dumps({"claims": claims, "pages": pages}, ensure_ascii=False, separators=(",", ":"))
    (Path(app.outdir) / "_static" / "search_pages.js").write_text(f"window.BESTARM_SEARCH={told};", encoding="utf-8")


def add_search(app: Sphinx, page: str, template: str, context: dict[str, object], tree: object) -> None:
    """Give the search page its two scripts."""
    if page == "search":
        app.add_js_file("search_pages.js", priority=100)
        app.add_js_file("search.js", priority=101)


def change_pages(app: Sphinx, exception: Exception | None) -> None:
    """Change in the made pages what Sphinx has no setting for."""
    if exception is None:
        narrow, alone = copy_narrow_figures(app), cut_figures(app)

        def for_phones(found: re.Match[str]) -> str:
            """Return a picture of which a phone loads the narrow variant, where there is one."""
            image, folder, name = found.groups()
            if name not in narrow:
                return image
            source = f'<source media="(max-width: 34em)" srcset="{folder}{narrow[name]}">'
            return f"<picture>{source}{image}</picture>"

        def with_switch(found: re.Match[str]) -> str:
            """Return a picture with the names of those of text and code alone, where there are such."""
            picture, folder, name = found.groups()
            kinds = ("text", "text-narrow", "code", "code-narrow")
            if name not in alone:
                return picture
            names = [file for convention in ("as_written", "as_coded") for file in alone[name][convention]]
            told = " ".join(f'data-{kind}="{folder}{file}"' for kind, file in zip(kinds, names, strict=True))
            return f'<span class="two-runs" {told}>{picture}</span>'

        for page in Path(app.outdir).rglob("*.html"):
            before = text = page.read_text(encoding="utf-8")
            for old, new in CHANGED.items():
                text = text.replace(old, new)
            text = re.sub(ONCE + r'(<img [^>]*src="([^"]*_images/)([^"/]+)"[^>]*>)', for_phones, text)
            if page.is_relative_to(Path(app.outdir) / "notebooks"):
                text = re.sub(
                    ONCE + r'(<picture>.*?<img [^>]*src="([^"]*_images/)([^"/]+)"[^>]*></picture>)', with_switch, text
                )
            if text != before:
                page.write_text(text, encoding="utf-8")


def add_references(app: Sphinx, what: str, name: str, of: object, options: object, lines: list[str]) -> None:
    """Give a docstring that cites by number the references of its module."""
    told = sys.modules[getattr(of, "__module__", None) or "bestarm"].__doc__ or ""
    cites = any(re.search(r"\[\d+\]_", line) for line in lines)
    if cites and "References" not in lines and "References\n------" in told:
        lines += ["", "References", "----------", *told.partition("References\n----------\n")[2].splitlines(), ""]


def setup(app: Sphinx) -> None:
    """Connect the link of each claim, the meaning of each algorithm's name, and the files that Sphinx does not copy."""
    app.connect("autodoc-process-docstring", add_references, priority=400)  # before numpydoc
    app.connect("doctree-resolved", links.link_claims)
    app.connect("doctree-resolved", links.explain_names)
    app.connect("html-page-context", add_search)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", write_search)
    app.connect("build-finished", change_pages)
