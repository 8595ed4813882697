"""``python -m bestarm_paper``: write the findings paper as one HTML file, ``build/paper/paper.html``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bestarm_lab.paths import ROOT
from bestarm_paper.rows import Rows
from bestarm_paper.text import HERE, Paper

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:image/png;base64,">
<style>
{style}
</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def page(rows: Rows) -> str:
    """Return the paper as one HTML page with its style and figures inside.

    Raises
    ------
    ValueError
        See `bestarm_paper.text.Paper.html`.
    """
    text = (HERE / "paper.md").read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    style = (HERE / "style.css").read_text(encoding="utf-8")
    return PAGE.format(title=title, style=style, body=Paper(rows, text).html())


def main(arguments: list[str] | None = None) -> int:
    """Write the paper; return 0 if its rows bear it."""
    parser = argparse.ArgumentParser(prog="python -m bestarm_paper", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "paper" / "paper.html", help="file to write")
    given = parser.parse_args(arguments)
    try:
        text = page(Rows())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(text, encoding="utf-8")
    print(f"{given.output}: {len(text.encode()) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
