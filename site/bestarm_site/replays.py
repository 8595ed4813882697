"""Pages of the replays: single runs, recorded by `bestarm_site.record`, played in the browser."""

from __future__ import annotations

from pathlib import Path

from bestarm_site.cards import raw

HERE = Path(__file__).parents[1]
TITLES = {
    "gse": "Stages that keep their rewards, and stages that do not",
    "tree": "From a tree to a grid",
    "oae": "Optimism on four hills",
    "topm": "A stale pair stops too soon",
}


def first_frame(name: str) -> str:
    """Return the frame that a replay begins with, its end, drawn by `bestarm_site.frames`."""
    picture = (HERE / "replays" / f"{name}.svg").read_text(encoding="utf-8").strip()
    return picture.replace("<svg ", '<svg class="first" ', 1)


def page(name: str) -> str:
    """Return the page of one replay: its text, its data, and the place where it is drawn."""
    data = (HERE / "replays" / f"{name}.json").read_text(encoding="utf-8").strip().replace("</", "<\\/")
    text = (HERE / "pages" / "replays" / f"{name}.md").read_text(encoding="utf-8")
    place = (
        f'<div class="replay" id="replay" data-replay="{name}" role="group" aria-label="{TITLES[name]}">'
        f"{first_frame(name)}<noscript>This is the last frame; the others are drawn by a script.</noscript></div>"
        f'<script type="application/json" id="replay-data">{data}</script>'
        '<script defer src="../_static/replays.js"></script>'
    )
    return f"# {TITLES[name]}\n\n" + text.replace("(replay)\n", raw(place))


def pages() -> dict[str, str]:
    """Return the page of each replay, and the page that leads to them."""
    found = {f"replays/{name}.md": page(name) for name in TITLES}
    size = {name: (HERE / "replays" / f"{name}.json").stat().st_size for name in TITLES}
    lines = [
        "# Replays",
        "",
        "Single runs of the studies, step by step: what an algorithm knew, and what it did next. ",
    ]
    lines += ["Use the buttons, or the arrow keys on a slider.", ""]
    for name, title in TITLES.items():
        first = (HERE / "pages" / "replays" / f"{name}.md").read_text(encoding="utf-8").strip().split("\n\n")[0]
        frame = f'<div class="replay"><a href="{name}.html" aria-label="{title}">{first_frame(name)}</a></div>'
        lines += [f"## [{title}](/replays/{name}.md)", "", first, "", raw(frame)]
    lines += [f"Each replay is a file of at most {max(size.values()) // 1000 + 1} kB, made from the library by "]
    lines += ["`python -m bestarm_site.record`.", "", "```{toctree}", ":hidden:", ""]
    lines += [f"{title} <{name}>" for name, title in TITLES.items()]
    return found | {"replays/index.md": "\n".join([*lines, "```", ""])}
