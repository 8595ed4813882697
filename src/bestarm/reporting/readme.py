"""The generated parts of README.md: scoreboard, gallery and the table from figure to command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd

from bestarm.experiments.definitions import ledger
from bestarm.paths import FIGURES, PAPERS, ROOT
from bestarm.reporting.figures import CONVENTION_TITLES, VERDICT_COLOURS, effect_text
from bestarm.reporting.pipeline import load_pipeline, notebook_of_stage

README = ROOT / "README.md"


def papers_with_verdicts() -> list[str]:
    """Return the papers that have verdicts, in alphabetical order."""
    return [p.stem for p in sorted(PAPERS.glob("*.yaml")) if (FIGURES / p.stem / "verdicts.csv").is_file()]


def scoreboard() -> str:
    """Return the number of claims with each verdict, for every paper and convention that it has, in Markdown."""
    kinds = list(VERDICT_COLOURS)
    lines = ["| paper | convention | " + " | ".join(kinds) + " |", "| --- | --- |" + " --: |" * len(kinds)]
    for paper in papers_with_verdicts():
        verdicts = pd.read_csv(FIGURES / paper / "verdicts.csv")
        for convention, title in CONVENTION_TITLES.items():
            counts = verdicts.loc[verdicts["convention"] == convention, "verdict"].value_counts()
            if counts.empty:
                continue
            numbers = " | ".join(str(counts.get(kind, 0)) for kind in kinds)
            lines.append(f"| [{ledger(paper)['title']}](figures/{paper}/verdicts.md) | {title} | {numbers} |")
    return "\n".join(lines)


def findings() -> str:
    """Return the claims that are contradicted as written, or whose verdict depends on the convention, by paper."""
    lines = []
    for paper in papers_with_verdicts():
        verdicts = pd.read_csv(FIGURES / paper / "verdicts.csv").set_index(["id", "convention"])
        lines += ["", f"**{ledger(paper)['title']}.** {ledger(paper).get('scale', '')}".strip(), ""]
        for identity in verdicts.index.unique("id"):
            mine = verdicts.loc[identity]
            labels = {c: mine.loc[c, "verdict"] for c in mine.index}
            if len(set(labels.values())) > 1 or labels.get("as_written") in ("contradicted", "fails"):
                parts = [
                    f"{CONVENTION_TITLES[c]}: **{v}** {effect_text(mine.loc[c])}".strip() for c, v in labels.items()
                ]
                lines.append(f"* {identity}. {mine['claim'].iloc[0]} {'; '.join(parts)}.")
    return "\n".join(lines[1:])


def gallery() -> str:
    """Return the published figures as images with alternative text."""
    lines = []
    for paper in papers_with_verdicts():
        for entry in ledger(paper)["figures"].values():
            path = Path("figures") / paper / f"{entry['file']}.png"
            if (ROOT / path).is_file() and entry.get("gallery"):
                lines.append(f"[![{entry['alt']}]({path})]({entry['notebook']})\n\n*{entry['title']}*")
    return "\n\n".join(lines)


def figure_table() -> str:
    """Return the table figure → notebook → command → seconds of simulation."""
    lines = ["| figure or table | notebook | redraw it with | simulated in |", "| --- | --- | --- | --: |"]
    for stage in load_pipeline()["stages"].values():
        notebook = notebook_of_stage(stage).relative_to(ROOT)
        paper = notebook.parent.name
        outs = [next(iter(o)) if isinstance(o, dict) else o for o in stage["outs"]]
        for name in sorted({Path(o).stem for o in outs if o.startswith("figures/") and o.endswith(".json")}):
            made = json.loads((FIGURES / paper / f"{name}.json").read_text(encoding="utf-8"))
            seconds = sum(e["simulation_seconds"] for e in made["experiments"].values())
            number = re.sub(r"^fig0*(\d+)$", r"\1", name)
            command = f"`make figure PAPER={paper} FIG={number}`"
            lines.append(f"| {paper} {name} | [{notebook.name}]({notebook}) | {command} | {seconds:.0f} core s |")
    return "\n".join(lines)


PARTS = {"scoreboard": scoreboard, "findings": findings, "gallery": gallery, "figures": figure_table}


def generated(text: str) -> str:
    """Return a README with its generated parts made anew; each stands between two comment lines."""
    for name, make in PARTS.items():
        start, end = f"<!-- {name}: generated -->\n", f"<!-- end {name} -->"
        if start not in text or end not in text:
            raise ValueError(f"README.md has no place for {name!r}: {start.strip()!r} ... {end!r}.")
        before, _, rest = text.partition(start)
        text = f"{before}{start}{make()}\n{end}{rest.partition(end)[2]}"
    return text


def write_readme() -> None:
    """Bring the generated parts of README.md up to date."""
    README.write_text(generated(README.read_text(encoding="utf-8")), encoding="utf-8")
