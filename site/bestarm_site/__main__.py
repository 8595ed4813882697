"""``python -m bestarm_site``: write the pages of the site and have Sphinx make it, in ``build/site/html``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from bestarm_paper.__main__ import main as write_paper
from sphinx.cmd.build import build_main

from bestarm_lab.notebooks.runner import notebooks_of
from bestarm_lab.paths import FIGURES, ROOT
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names
from bestarm_site import algorithms, benchmarks, cards, comparisons, decisions, pages, printed, replays, source
from bestarm_site.narrow_figures import draw

HERE = Path(__file__).parents[1]
USE = (  # pages for users, in order
    *("own_arms", "what_to_use", "noisy_pulls", "your_own_screen", "tune_your_own", "bring_your_policy"),
    *("search_files", "beside_others"),
)


def toctree(caption: str, entries: list[str]) -> str:
    """Return a part of the sidebar."""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```", ""])


def root_page() -> str:
    """Return the first page with the sidebar's parts."""
    papers = [f"{load_study(s).paper.abbreviation} <papers/{s}>" for s in pages.studies()]
    docs = {p.stem: f"{source.short_title(p)} <docs/{p.stem}>" for p in source.docs_pages()}
    docs.pop("verdicts", None)  # stands among the findings
    decided = sorted(p.stem for p in decisions.FOLDER.glob("*.md") if p.stem not in study_names())
    under = [f"{decisions.SHORT.get(name, name)} <docs/decisions/{name}>" for name in decided]
    use = [docs.pop(name) for name in USE if name in docs]
    loose = [f"{source.short_title(p)} <notebooks/{p.stem}>" for p in single_notebooks()]
    found = [
        "All claims <claims/index>",
        "Text against code <text_and_code>",
        "How a verdict is reached <docs/verdicts>",
        "The papers' figures <printed>",
        "Replays <replays/index>",
    ]
    parts = {
        "Findings": [*found, "Gallery <gallery>", "Reading paths <paths>"],
        "Papers": papers,
        "Use it": ["Algorithms <algorithms/index>", *use, *loose, "API reference <api/index>"],
        "The project": [*docs.values(), *under, "Rows <rows>", "Benchmarks <benchmarks>"],
    }
    return pages.home() + "\n".join(toctree(caption, entries) for caption, entries in parts.items())


def single_notebooks() -> list[Path]:
    """Return the notebooks that belong to no study."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def write_pages(folder: Path) -> None:
    """Write the source of every page; files that do not change keep their times, so that Sphinx leaves them."""
    written = {
        "index.md": root_page(),
        "claims/index.md": pages.claims_index(),
        "text_and_code.md": pages.text_and_code(),
        "gallery.md": pages.gallery(),
        "printed.md": printed.page(),
        "benchmarks.md": benchmarks.page(),
        "algorithms/index.md": algorithms.index(),
        "paths.md": (HERE / "pages" / "paths.md").read_text(encoding="utf-8"),
        "rows.md": source.docs_page(HERE / "pages" / "rows.md"),
        **algorithms.api_pages(),
        **replays.pages(),
        **decisions.pages(),
    }
    for study in study_names():
        written[f"claims/{study}.md"] = cards.claims_page(study, comparisons.of_study(study))
        written[f"papers/{study}.md"] = pages.summary(study)
        written[f"gallery_all/{study}.md"] = pages.all_figures(study)
        written[f"algorithms/{study}.md"] = algorithms.page(study)
    for file in source.docs_pages():
        written[file.relative_to(ROOT).as_posix()] = source.docs_page(file)
    for file in [*notebooks_of(), *single_notebooks()]:
        written[file.relative_to(ROOT).as_posix()] = source.notebook_page(file)
    for name, text in written.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.relative_to(folder).as_posix() not in written:
            path.unlink()
    if not (folder / "figures").exists():
        (folder / "figures").symlink_to(FIGURES, target_is_directory=True)


def main(arguments: list[str] | None = None) -> int:
    """Make the site; return 0 if there was neither an error nor a warning."""
    parser = argparse.ArgumentParser(prog="python -m bestarm_site", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site", help="folder of sources and pages")
    parser.add_argument("--fresh", action="store_true", help="make every page anew")
    given = parser.parse_args(arguments)
    began = time.perf_counter()
    folder, html = given.output / "source", given.output / "html"
    if given.fresh:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(html, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    draw()
    write_pages(folder)
    options = ["-W", "--keep-going", "-q", "-b", "html", "-j", str(min(4, os.cpu_count() or 1)), "-c", str(HERE)]
    written = time.perf_counter()
    failed = build_main(
        [*options, "-d", str(given.output / "doctrees"), *(["-E"] if given.fresh else []), str(folder), str(html)]
    )
    failed = failed or write_paper(["--output", str(html / "paper.html")])
    if not failed:
        paper = html / "paper.html"
        back = '<body>\n<nav class="back"><a href="index.html">← bestarm</a></nav>'
        paper.write_text(paper.read_text(encoding="utf-8").replace("<body>", back, 1), encoding="utf-8")
    size = sum(p.stat().st_size for p in html.rglob("*") if p.is_file()) / 1e6
    times = f"{written - began:.0f} s for the sources, {time.perf_counter() - written:.0f} s for the pages"
    print(f"{html}: {size:.1f} MB, {times}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
