"""``python -m bestarm_site.frames``: the frame that each replay begins with, as SVG, drawn by the made site.

A page shows it until its script runs, and in its place where scripts are off. Needs the made site and a Chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil

from playwright.sync_api import Page, sync_playwright

from bestarm_lab.paths import ROOT
from bestarm_site.replays import HERE, TITLES

WIDTH = 1280  # of the window


def drawn(page: Page) -> str:
    """Return the picture of a replay's page as it stands, with what it shows in words."""
    return str(page.evaluate("document.querySelector('.replay > svg:not(.first)').outerHTML"))


def main() -> None:
    """Write ``site/replays/<name>.svg`` for each replay."""
    argparse.ArgumentParser(prog="python -m bestarm_site.frames", description=__doc__).parse_args()
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        for name in TITLES:
            page.goto((ROOT / "build" / "site" / "html" / "replays" / f"{name}.html").as_uri())
            page.wait_for_selector(".replay [name=step]")
            (HERE / "replays" / f"{name}.svg").write_text(drawn(page) + "\n", encoding="utf-8")
        browser.close()


if __name__ == "__main__":
    main()
