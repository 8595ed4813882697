"""The scoreboard, the score as a line and as a figure, and hours by study, all written by `bestarm pages`.

The score has every headline claim of the papers with all its comparisons, and how all claims of a paper fare.
Everything else that is made of verdicts, figures and tables is a page of the site (`make site`).
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy import special

from bestarm_lab.claims import verdicts
from bestarm_lab.claims.records import LEVELS
from bestarm_lab.claims.robustness import MARGINS
from bestarm_lab.claims.verdicts import CONVENTIONS, OWN, VERDICTS, markdown
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.figures.styles import use_style
from bestarm_lab.lineage import processors_of
from bestarm_lab.paths import DATA, ROOT, rows_file
from bestarm_lab.quoted import reason
from bestarm_lab.results import read_comparisons, read_robustness, read_verdicts
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names

README = ROOT / "README.md"
DOCS = ROOT / "docs"
SCOREBOARD = DOCS / "scoreboard.md"
RULE = DOCS / "verdicts.md"
FAMILIES = (*LEVELS, OWN)
REPRODUCE = DOCS / "reproduce.md"
TABLES = {  # of a study's results, in words
    "every verdict": "verdicts",
    "every comparison": "comparisons",
    "other margins and open choices": "robustness",
}
WORDS_OF_SCORE = {  # verdicts in the order of the README's line
    "confirmed": "are confirmed",
    "refuted": "refuted",
    "mixed": "hold in part",
    "undecided": "are undecided",
    "at the margin": "lie at the margin",
    "not informative": "could be contradicted by no run",
    "not run": "could not be run",
}

SAID = {"for": "confirmed", "open": "open", "against": "refuted or mixed"}
REACH = 1.6  # standard deviations of a run that are drawn; farther is at the edge
COLOURS = {"for": "#0072B2", "open": "#CCCCCC", "against": "#D55E00"}
STATES = {"confirmed": "for", "refuted": "against", "mixed": "against"}  # other words are open
HATCHES = {"against": "///"}


def all_verdicts() -> dict[str, pd.DataFrame]:
    """Return the table of verdicts of every study that has one."""
    return {name: table for name in study_names() if (table := read_verdicts(name)) is not None}


def scoreboard_table() -> str:
    """Return the scoreboard in Markdown: a paper's own claims by verdict, for its text and for its authors' code."""
    counts = verdicts.scoreboard(all_verdicts())
    kinds = [v for v in VERDICTS if counts[v].sum()]
    differ = disagreements(all_verdicts()).set_index("study")
    head = ["claims of", "run as", "sentences", *kinds, "exact: holds", "fails", "text and code differ"]
    lines = []
    for _, line in counts.iterrows():
        study, coded = line["study"], line["convention"] == CONVENTIONS["as_coded"]
        paper = f"[{load_study(study).paper.abbreviation}](#{study})"
        both = f"{differ['differ'][study]} of {differ['claims'][study]}" if coded and study in differ.index else ""
        lines.append([paper, line["convention"], *[line[key] for key in ("sentences", *kinds, "holds", "fails")], both])
    return markdown(head, lines, range(2, len(head)))


def score() -> Figure:
    """Return the score figure of all studies."""
    tables = all_verdicts()
    comparisons = {name: table for name in tables if (table := read_comparisons(name)) is not None}
    studies = {name: load_study(name) for name in tables}
    shorts = {i: claim.short for study in studies.values() for i, claim in study.claims.items() if claim.short}
    overview = shares(tables)
    order = overview.groupby("study")["for"].mean().sort_values(ascending=False).index
    names = {name: studies[name].paper.abbreviation for name in order}
    return score_figure(score_values(tables, comparisons, shorts), comparisons, overview, names)


def score_lines() -> tuple[str, str]:
    """Return the score, the papers' claims as their texts state them by verdict in percent, and what it leaves out."""
    table = pd.concat(all_verdicts())
    lines = table[(table["ours"].fillna("") == "") & (table["convention"] == "as_written")]
    parts = _percent(lines["verdict"], list(WORDS_OF_SCORE))
    beside = int(((lines["verdict"] == "confirmed") & (lines["against"] > 0)).sum())
    averaged, both = lines[lines["on_average"].notna()], disagreements(all_verdicts())
    mean = _percent(averaged["on_average"], ["confirmed", "refuted", "undecided"])
    text = f"Of the confirmed claims {beside} have comparisons against them."
    text += f" By the mean of the {len(averaged)} claims that have one, {', '.join(mean[:-1])} and {mean[-1]}."
    text += f" Of {both['claims'].sum()} also run as coded, {both['differ'].sum()} get another verdict."
    return f"Of {len(lines)} claims, run as the texts state them, {', '.join(parts[:-1])} and {parts[-1]}.\n", text


def _percent(words: pd.Series, named: list[str]) -> list[str]:
    percent = (100 * words.value_counts() / len(words)).round().astype(int)
    return [f"{percent[word]}% {WORDS_OF_SCORE[word]}" for word in named if word in percent.index]


def margin_line() -> str:
    """Return how many words of the papers' claims another margin changes, in a sentence."""
    theirs = {name: table.loc[table["ours"].isna(), "id"] for name, table in all_verdicts().items()}
    found = [(read_robustness(name), claims) for name, claims in theirs.items()]
    moved = pd.concat([table[table["claim"].isin(claims) & table["choice"].isin(MARGINS)] for table, claims in found])
    changed = (moved["word"] != moved["word_then"]).groupby([moved["claim"], moved["convention"]]).any()
    return f"Half or twice the margin changes {changed.sum()} of {len(changed)} verdicts."


def family_table() -> str:
    """Return the table of families: of each its claims, and below which two-sided p one is decided, and its mean."""
    lines = []
    for name, table in all_verdicts().items():
        tested = table[table["p"].notna()].fillna({"ours": "", "level": "", "of": ""})
        levels, means = (verdicts.adjust(tested, of)["level"] for of in ("", "average_"))
        family = verdicts.families(tested)
        for convention, words in CONVENTIONS.items():
            told = []
            for each in FAMILIES:
                mine = (tested["convention"] == convention) & (family == each)
                limits = [found[mine].mode() for found in (levels, means)]
                told.append(f"{mine.sum()}: {limits[0][0]:.3f}, {limits[1][0]:.3f}" if mine.any() else "")
            if any(told):
                lines.append([load_study(name).paper.abbreviation, words, *told])
    return markdown(["paper", "run as", *FAMILIES], lines, range(2, 2 + len(FAMILIES))) + "\n"


def named_claims(text: str) -> list[str]:
    """Return the claims that a text leads to on the page of the score, in their order."""
    return list(dict.fromkeys(re.findall(r"docs/scoreboard\.md#([A-Z]+-[\w.]+)\)", text)))


def scoreboard_page(named: list[str]) -> str:
    """Return the page of the score: the table, a line for each study, an anchor for each of the named claims."""
    lines = [
        "# Scoreboard",
        "",
        "The papers' own claims by verdict. Written by `bestarm pages`; [how a verdict is reached](verdicts.md). The",
        "site (`make site`, then `build/site/html/claims/index.html`) has a card for each claim, with every comparison",
        "and what other margins would say; `bestarm verdict GSE-C1` prints the same on a terminal.",
        "",
        scoreboard_table(),
        "",
        f"{score_lines()[1]} {margin_line()}",
        "",
        "![Headline claims of five papers: each comparison by its distance from the margin, all claims by count and on "
        "average](score.png)",
        "",
        "*Confirmed*: significant in as many comparisons as the claim speaks of. *Refuted*: significantly fewer.",
        "*Mixed*: refuted as stated, true in some. *At the margin*: a hundred times the runs would not decide. *Not",
        "informative*: nothing that was run could contradict it. *Exact*: theorems, arithmetic. *Paper's text* is what",
        "the paper states, *authors' code* the same with the deviations of the code that the authors published.",
    ]
    for name, table in all_verdicts().items():
        study = load_study(name)
        lines += ["", f'<a id="{name}"></a>', "", f"## {study.paper.title}", ""]
        theirs = table[table["ours"].fillna("") == ""]
        files = ", ".join(f"[{words}](../results/{name}/{file}.csv)" for words, file in TABLES.items())
        lines += [f"{theirs['id'].nunique()} claims, {len(set(table['id']) - set(theirs['id']))} statements of ours:"]
        lines += [f"{files}. [Notebooks](../notebooks/{name}), [figures with their numbers](../figures/{name})."]
        for identity in (i for i in named if i in set(table["id"])):
            mine = table[table["id"] == identity]
            said = "; ".join(_said(dict(line), len(mine) > 1) for _, line in mine.iterrows())
            first, told = mine.iloc[0], study.claims[identity].because
            why = f"Why: {reason(name, first['notebook'], told)} " if told else ""
            notebook = f"[notebook](../notebooks/{name}/{first['notebook']}.ipynb)"
            lines += ["", f'* <a id="{identity}"></a>**{identity}** {first["claim"]} {said}. {why}({notebook})']
    if missing := set(named) - {i for table in all_verdicts().values() for i in table["id"]}:
        raise ValueError(f"README.md leads to claims that no study has: {sorted(missing)}.")
    return "\n".join(lines) + "\n"


def _said(line: dict[str, Any], both: bool) -> str:
    counts = f" ({verdicts.counts_text(line)} for / open / against)" if line["comparisons"] > 1 else ""
    run = f"{CONVENTIONS[line['convention']]}: " if both else ""
    return f"{run}**{verdicts.verdict_text(line)}**{counts}, {verdicts.effect_text(line)}".strip()


def hardware() -> str:
    """Return the table of what the rows cost, as last measured, and on which processors they were made."""
    costs = pd.read_csv(DATA / "core_seconds.csv")
    lines = []
    for (study, profile), mine in costs.groupby(["study", "profile"], sort=True):
        made = processors_of(str(study))
        used = sorted(set(made.loc[made["profile"] == profile, "processor"]))
        loaded, hours = load_study(str(study)), mine["core_seconds"].sum() / 3600
        name, names = loaded.paper.abbreviation, list(loaded.experiments)
        there = sum(rows_file(str(study), experiment, cast(Profile, profile)).is_file() for experiment in names)
        measured = f"{mine['experiment'].isin(names).sum()} of {there}"
        lines.append((name, profile, measured, f"{hours:.2f}", "; ".join(used) or "not recorded"))
    return markdown(["study", "scale", "experiments measured", "core-hours", "processors"], lines, (2, 3)) + "\n"


def planned_runs() -> str:
    """Return the table of runs of every experiment, and of the looks at claims where there was more than one."""
    lines, looks = [], []
    for name in study_names():
        study, alike = load_study(name), dict[tuple[int, int], list[str]]()
        for experiment, made in study.experiments.items():
            runs = (made.scale("laptop").replications, made.scale("paper").replications)
            alike.setdefault(runs, []).append(experiment)
        for (laptop, paper), names in sorted(alike.items()):
            lines.append((study.paper.abbreviation, laptop, paper, ", ".join(f"`{n}`" for n in names)))
        looks += [f"`{experiment}` with {', then '.join(map(str, runs))}" for experiment, runs in study.plan.items()]
    table = markdown(["study", "laptop", "paper", "experiments"], lines, (1, 2))
    return f"{table}\n\nClaims on {len(looks)} experiments were decided more than once: {'; '.join(looks)}.\n"


def rebuilt(page: Path, made: Mapping[str, str]) -> str:
    """Return a page with parts made anew by their subjects; a ValueError says that it has no place for one."""
    text = page.read_text(encoding="utf-8")
    for subject, part in made.items():
        start, end = f"<!-- {subject}: written by bestarm pages -->\n", f"<!-- end of {subject} -->"
        if start not in text or end not in text:
            raise ValueError(f"{page.name} has no place for the {subject}: {start.strip()!r} ... {end!r}.")
        before, _, rest = text.partition(start)
        text = f"{before}{start}{part}{end}{rest.partition(end)[2]}"
    return text


def generated() -> dict[Path, str]:
    """Return the text of the page of the score, and of the pages of which a part is written here."""
    readme = rebuilt(README, {"score": score_lines()[0]})
    reproduce = rebuilt(REPRODUCE, {"hardware": hardware(), "runs": planned_runs()})
    rule = rebuilt(RULE, {"families": family_table()})
    return {README: readme, REPRODUCE: reproduce, RULE: rule, SCOREBOARD: scoreboard_page(named_claims(readme))}


def write_pages() -> None:
    """Bring every generated page up to date."""
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
    figure = score()
    figure.savefig(DOCS / "score.png", metadata={"Software": None})
    plt.close(figure)


def score_values(
    tables: Mapping[str, pd.DataFrame], comparisons: Mapping[str, pd.DataFrame], shorts: Mapping[str, str]
) -> pd.DataFrame:
    """Return the headline claims that statistics decide, one line for each and its convention.

    ``tables`` (of verdicts) and ``comparisons`` are by study; ``shorts`` has headline claims in a few words. The
    columns are ``study, id, short, convention, verdict, for, open, against, value, low, high``: the mean over
    comparisons of their distance from the margin, in standard deviations of a run, positive for the claim, with its 95%
    interval by the t-distribution; of one comparison that of its runs.
    """
    lines = []
    for study, table in tables.items():
        for _, line in table[(table["level"] == "headline") & table["comparisons"].notna()].iterrows():
            there = comparisons[study]
            found = there[(there["id"] == line["id"]) & (there["convention"] == line["convention"])]
            strengths = found["strength"].to_numpy(dtype=np.float64)
            m, n = len(strengths), int(found["n"].iloc[0])
            error = strengths.std(ddof=1) / np.sqrt(m) if m > 1 else 1.0 / np.sqrt(n)
            reach = -float(special.stdtrit((m if m > 1 else n) - 1, 0.025)) * error
            mean = float(strengths.mean())
            about = {key: line[key] for key in ("id", "convention", "verdict", "for", "open", "against")}
            numbers = {"value": mean, "low": mean - reach, "high": mean + reach}
            lines.append({"study": study, "short": shorts[str(line["id"])]} | about | numbers)
    return pd.DataFrame(lines)


def shares(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return how the claims of a paper fare that statistics decide, by the count of comparisons and on average.

    Columns are ``study, convention, by, claims`` and the shares of these claims that are ``for`` (confirmed),
    ``against`` (refuted or mixed) and ``open``. A claim on one comparison, all or some has its word on average.
    """
    lines = []
    for study, table in tables.items():
        theirs = table[(table["ours"].fillna("") == "") & table["comparisons"].notna()]
        for convention, mine in theirs.groupby("convention", sort=False):
            for by, words in {"count": mine["verdict"], "average": mine["on_average"].fillna(mine["verdict"])}.items():
                part = words.map(STATES).fillna("open").value_counts(normalize=True)
                about = {"study": study, "convention": convention, "by": by, "claims": len(mine)}
                lines.append(about | {state: float(part.get(state, 0.0)) for state in COLOURS})
    return pd.DataFrame(lines)


def disagreements(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return in how many of a paper's claims with both conventions text and code differ: ``study, claims, differ``."""
    lines = []
    for study, table in tables.items():
        theirs = table[(table["ours"].fillna("") == "") & (table["verdict"] != "not run")]
        both = theirs.set_index(["id", "convention"])["verdict"].unstack().reindex(columns=list(CONVENTIONS)).dropna()
        if len(both):
            differ = int((both["as_written"] != both["as_coded"]).sum())
            lines.append({"study": study, "claims": len(both), "differ": differ})
    return pd.DataFrame(lines, columns=["study", "claims", "differ"])


def score_figure(
    values: pd.DataFrame, comparisons: Mapping[str, pd.DataFrame], overview: pd.DataFrame, names: Mapping[str, str]
) -> Figure:
    """Return the score: headline claims with all their comparisons on the left, all claims of a paper on the right.

    ``values`` and ``overview`` are of `score_values` and `shares`, ``names`` the papers' short names in order.
    """
    use_style()
    heads = values.drop_duplicates("id")
    n = [max((table["study"] == study).sum() for table in (heads, overview)) for study in names]  # bars stand beside
    figure, axes = plt.subplots(
        *(len(names), 2),
        figsize=(8.0, 0.9 + 0.15 * sum(n) + 0.25 * len(n)),
        layout="constrained",
        sharex="col",
        squeeze=False,
        gridspec_kw={"height_ratios": [k + 1 for k in n], "width_ratios": [2.3, 1]},
    )
    for (study, name), rows, (left, right) in zip(names.items(), n, axes, strict=True):
        _claims(left, values[values["study"] == study], comparisons[study])
        left.set_title(name, loc="left", fontsize=9, fontweight="bold", x=0.0)
        _bars(right, overview[overview["study"] == study])
        for axis in (left, right):
            axis.set_ylim(rows - 0.4, -0.6)
            axis.tick_params(axis="y", length=0)
            axis.grid(visible=False, axis="y")
    axes[-1, 0].set_xlim(-REACH * 1.04, REACH * 1.04)
    axes[-1, 0].set_xlabel("distance from the margin, standard deviations of a run\n← against the claim     for it →")
    axes[-1, 1].set(xlim=(0.0, 1.0), xlabel="all claims, by count\nand on average")
    axes[-1, 1].xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    mean: dict[str, Any] = {"mec": "black", "marker": "o", "ms": 4.5, "color": "black", "lw": 1.2}
    handles = [
        Line2D([], [], color="0.6", marker="|", ls="", ms=7, label="one comparison (* objectives of ours)"),
        Line2D([], [], mfc="black", label="mean, paper's text", **mean),
        Line2D([], [], mfc="white", label="mean, authors' code", **mean),
        *(Patch(fc=c, hatch=HATCHES.get(s), ec="white", label=SAID[s]) for s, c in COLOURS.items()),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, handlelength=1.4)
    return figure


def _claims(axis: Axes, values: pd.DataFrame, comparisons: pd.DataFrame) -> None:
    order = list(dict.fromkeys(values["id"]))
    there = comparisons[comparisons["id"].isin(order)]
    coded = set(values.loc[values["convention"] == "as_coded", "id"])

    def place(line: pd.Series) -> float:  # where a claim has both conventions they stand side by side
        return order.index(line["id"]) + (line["id"] in coded) * (-0.2 if line["convention"] == "as_written" else 0.2)

    for _, line in there.iterrows():
        y = place(line)
        axis.plot(np.clip(line["strength"], -REACH, REACH), y, marker="|", ms=6, color="0.6", mew=0.8, zorder=1)
    for _, line in values.iterrows():
        y = place(line)
        x = line[["value", "low", "high"]].astype(np.float64).clip(-REACH, REACH)
        axis.plot([x["low"], x["high"]], [y, y], color="black", lw=1.2, zorder=2)
        fill = "black" if line["convention"] == "as_written" else "white"
        axis.plot(x["value"], y, marker="o", ms=4.5, mfc=fill, mec="black", ls="", zorder=3)
    axis.axvline(0.0, color="0.3", lw=0.9, ls="--", zorder=0)
    axis.set_yticks(range(len(order)), values.drop_duplicates("id")["short"], fontsize=8)


def _bars(axis: Axes, overview: pd.DataFrame) -> None:
    """Draw the shares of all claims of one paper by their words, two bars for each convention."""
    labels = [
        f"{CONVENTIONS[c].split()[-1]}, {f'{n} claims' if by == 'count' else 'on average'}"
        for c, by, n in overview[["convention", "by", "claims"]].itertuples(index=False)
    ]
    left, style = np.zeros(len(overview)), dict[str, Any](height=0.6, edgecolor="white", lw=0.4)
    for state, colour in COLOURS.items():
        widths = overview[state].to_numpy(dtype=np.float64)
        axis.barh(labels, widths, left=left, color=colour, hatch=HATCHES.get(state), **style)
        left = left + widths
    axis.tick_params(axis="y", labelsize=8)
