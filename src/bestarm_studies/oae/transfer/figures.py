"""Searches of groups of lines against how well other groups tell of them; each figure says that it is not on CMAP."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.figures.figures import line_panels
from bestarm_lab.figures.values import as_values, paired_effects, summarise
from bestarm_studies.oae.cell_lines import BATCH
from bestarm_studies.oae.cell_lines.misfit import chosen_hits
from bestarm_studies.oae.figures import cut_words
from bestarm_studies.oae.first_hits import SMALLEST_TAU, with_top_share, without_broken
from bestarm_studies.oae.values import RANDOM_LAW, batches_until_top, bootstrap_interval

STAND_IN = "DepMap 26Q1, not CMAP"
R_SQUARED = "R² of ridge from the other groups"
_PAPER = {"steps": 5000, "rounds": 20, "members": 10}
FOUND = {
    "found": "share of the 36\nbest genes found",
    "found beyond Greedy": "minus Greedy's share",
    "reward": "mean reward\nof the batch",
    "reward beyond Greedy": "minus Greedy's reward",
}
FOUND_BESIDE_PLAIN = {
    "found": FOUND["found"],
    "found beyond plain": "minus the plain\nform's share",
    "reward": FOUND["reward"],
    "reward beyond plain": "minus the plain\nform's reward",
}
SHORT = {"alk": "ALK", "kmt2b": "KMT2B", "mtap_cdkn2a_codeletion": "MTAP, CDKN2A"}


def scale_words(experiment: Experiment, profile: Profile, series: Sequence[str]) -> str:
    """Return in words at what scale some series were searched, and what the paper's is."""
    return ", ".join([f"batches of {BATCH}", *cut_words([(experiment, profile)], series, _PAPER)])


def group_values(searches: Mapping[str, Sequence[pd.DataFrame]], likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the mean batches until a top-0.2% arm against a group's R2, x, with the column ``group``.
    ``searches`` map panels to the rows of their experiments; ``likeness`` is of `likeness_rows`."""
    at = likeness.set_index("panel")["value"]
    frames = []
    for panel, tables in searches.items():
        for name, mine in ((name, mine) for rows in tables for name, mine in rows.groupby("name", sort=False)):
            values = batches_until_top(mine, panel, profile, batch=BATCH, taus=(SMALLEST_TAU,))
            frames.append(values.assign(x=round(float(at[name]), 3), group=name))
    found = pd.concat(frames, ignore_index=True)
    found = found[found["statistic"].isin(["batches", "censored"])]  # what several tables have is of the first of them
    return found.drop_duplicates(["panel", "group", "series", "statistic"], ignore_index=True)


def group_figure(
    values: pd.DataFrame, order: Any, *, title: str, setting: str, statistic: str = "batches", **style: Any
) -> Figure:
    """Return batches until a top arm against how well other groups tell of a group, a panel for each class."""
    given: dict[str, Any] = {
        "y": "batches until a top-0.2% arm\n(mean)",
        "spread": "95% bootstrap intervals",
        "possible": (0.0, None),
    }
    every = [s for one in order.values() for s in one] if isinstance(order, Mapping) else list(order)
    return line_panels(
        values,
        order,
        title=title,
        setting=f"{STAND_IN}; six groups of lines, 17,786 genes; {setting}",
        statistic=statistic,
        x=R_SQUARED,
        highlight=list(dict.fromkeys(every)),
        **(given | style),
    )


def gain_values(searches: Mapping[str, pd.DataFrame], likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the share of batches that MeanOpt saves on random batches and on Greedy; a class is a series.
    x is the group's R2. MeanOpt takes in each half of the runs the strength that is best in the other half; 95%
    bootstrap intervals over runs, that choice held."""
    at = likeness.set_index("panel")["value"]
    lines = []
    for name, rows in searches.items():
        for group, mine in rows.groupby("name", sort=False):
            hits = chosen_hits(mine)
            for over, panel in (("RandomBatch", "on random batches"), ("Greedy", "on Greedy")):
                ratio = hits["MeanOpt"].mean() / hits[over].mean()
                linear = 1.0 - ratio - (hits["MeanOpt"] - ratio * hits[over]) / hits[over].mean()
                low, high = bootstrap_interval(linear.to_numpy(dtype=np.float64))
                line = {"panel": panel, "series": name, "x": round(float(at[group]), 3), "group": group}
                lines.append(line | {"value": 1.0 - ratio, "low": low, "high": high, "n": len(hits)})
    data = next(iter(searches.values()))["data"].iloc[0]
    table = pd.DataFrame(lines)
    return as_values(table, statistic="gain", profile=profile, data=data).assign(group=table["group"])


def earned_values(searches: Mapping[str, pd.DataFrame], likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return what a batch earns after the first, which is random, in the mean over whole runs; a class is a panel.
    x is the group's R2, with the column ``group``. Statistics are ``reward``, the mean reward of a gene that is chosen,
    and ``gain in reward``, the paired difference to Greedy; 95% t-intervals over runs."""
    at = likeness.set_index("panel")["value"]
    frames = []
    for panel, rows in searches.items():
        for name, mine in rows[rows["round"] > 1].groupby("name", sort=False):
            series = [str(s) for s in mine["series"].unique()]
            own = {s: {"": (s, s)} for s in series}
            beyond = {s: {"": (s, "Greedy")} for s in series if s != "Greedy"}
            for statistic, lines in (("reward", own), ("gain in reward", beyond)):
                found = paired_effects(mine, "reward", statistic=statistic, profile=profile, panel=panel, lines=lines)
                frames.append(found.assign(x=round(float(at[name]), 3), group=name))
    return pd.concat(frames, ignore_index=True)


def earned_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rewards of `earned_values` as text, a row for each class and group."""
    lines = []
    for (panel, group), mine in values.groupby(["panel", "group"], sort=False):
        line = {"class": panel, "group": group, "R²": f"{mine['x'].iloc[0]:.2f}"}
        shown = mine[mine["statistic"] == "reward"][["series", "value", "low", "high"]].itertuples(index=False)
        lines.append(line | {str(name): _with_interval(*numbers) for name, *numbers in shown})
    return pd.DataFrame(lines).fillna("")


def _with_interval(value: float, low: float, high: float) -> str:
    value, low, high = (round(number, 2) + 0.0 for number in (value, low, high))  # no -0.00
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def found_values(
    rows: pd.DataFrame, groups: Sequence[str], profile: str, plain: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return the statistics `FOUND`, or `FOUND_BESIDE_PLAIN`, of each batch, x, over whole runs; ``groups`` are panels.
    Differences are from Greedy, or the form that ``plain`` names for a series, by run and batch; 95% t-intervals over
    runs. Random batches are their exact law: they find the share of genes that they try, and earn 0 in the mean."""
    frames, kinds = [], FOUND if plain is None else FOUND_BESIDE_PLAIN
    for group in [name for name in groups if (rows["name"] == name).any()]:
        own = with_top_share(without_broken(rows[rows["name"] == group]))
        own["series"] = own["series"].astype(str)
        base = plain or {name: "Greedy" for name in own["series"].unique() if name != "RandomBatch"}
        both = pd.concat([own[own["series"] == "Greedy"], own[own["series"].isin(base.keys() - {"Greedy"})]])
        levels = own[own["series"].isin(base.values())].set_index(["series", "replication", "round"])
        of = pd.MultiIndex.from_arrays([both["series"].map(base), both["replication"], both["round"]])
        for kind, beyond in zip(("found", "reward"), list(kinds)[1::2], strict=True):
            both[beyond] = both[kind] - levels[kind].reindex(of).to_numpy()
        found = summarise(both, {name: (name, "mean") for name in kinds}, x="round", panel=group, profile=profile)
        known = own.drop_duplicates("round")
        for kind, law in (("found", known["pulls"] / known["arm_count"]), ("reward", 0.0 * known["pulls"])):
            exact = pd.DataFrame({"x": known["round"], "value": law, "statistic": kind, "data": known["data"]})
            found = pd.concat([found, as_values(exact, panel=group, series=RANDOM_LAW, n=0, profile=profile)])
        frames.append(found)
    return pd.concat(frames, ignore_index=True)


def found_figure(values: pd.DataFrame, likeness: pd.DataFrame, *, title: str, setting: str) -> Figure:
    """Return what each batch finds and earns, and that less what Greedy or a plain form does: a row for each group."""
    at, series = likeness.set_index("panel")["value"], [s for s in values["series"].unique() if s != RANDOM_LAW]
    groups = list(dict.fromkeys(values["panel"]))
    kinds = FOUND if set(FOUND) <= set(values["statistic"]) else FOUND_BESIDE_PLAIN
    cells = {f"{group}: {kind}": (group, kind) for group in groups for kind in kinds}
    beyond = {panel: "beyond" in kind for panel, (_, kind) in cells.items()}
    return line_panels(
        values.assign(panel=values["panel"] + ": " + values["statistic"]),
        {p: [s for s in series if s != "Greedy"] if beyond[p] else [*series, RANDOM_LAW] for p in cells},
        title=title,
        setting=f"{STAND_IN}; {setting}",
        statistic={panel: kind for panel, (_, kind) in cells.items()},
        titles={panel: kinds[kind] if group == groups[0] else "" for panel, (group, kind) in cells.items()},
        x={panel: "batch" for panel, (group, _) in cells.items() if group == groups[-1]},
        y={panel: f"{SHORT[group]}\n(R² {at[group]:.2f})" for panel, (group, kind) in cells.items() if kind == "found"},
        marks="band",
        possible={panel: (0.0, 1.0) if kind == "found" else None for panel, (_, kind) in cells.items()},
        reference={panel: 0.0 for panel in cells if beyond[panel]},
        reference_label="as Greedy" if kinds is FOUND else "as the plain form",
        highlight=series,
        wrap=len(kinds),
        height=1.8,
    )
