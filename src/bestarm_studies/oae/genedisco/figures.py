"""Rows of searches of screens to plotted values, tables and the curves of hits against genes tried."""

from collections.abc import Mapping, Sequence
from itertools import product

import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.experiments.series import algorithm_and_change, name_of_change
from bestarm_lab.figures.figures import line_panels
from bestarm_lab.figures.printed import beside
from bestarm_lab.figures.values import as_values, interval_text, paired_effects, summarise
from bestarm_studies.oae.genedisco.checks import GENES, OF_PAPER, PRINTED, RANDOM, chance, last_rows, n_genes
from bestarm_studies.oae.genedisco.gene_screen import SET_ASIDE, hit_count

LAW = "Random, exact law"
BUDGET = 800  # genes after the paper's 50 batches of 16


def curve_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the mean hit ratio against the number of genes, with 95% t-intervals, and the exact law of random genes.
    Panels are screens, statistics ``hit ratio``; those of the law are its quantiles. The paper's own stand below."""
    kept = rows[rows["series"] != RANDOM]
    found = summarise(kept, {"hit ratio": ("hit_ratio", "mean")}, x="pulls", panel="{name}", profile=profile)
    table = []
    for (name, convention), mine in kept.groupby(["name", "convention"], sort=False):
        for pulls in sorted(mine["pulls"].unique()):
            value, low, high = chance(str(name), str(convention), float(pulls))
            line = {"panel": name, "convention": convention, "x": pulls, "value": value, "low": low, "high": high}
            table.append(line | {"series": LAW, "n": 0})
    law = as_values(pd.DataFrame(table), statistic="hit ratio", profile=profile, data=rows["data"].iloc[0])
    return beside(pd.concat([found, law], ignore_index=True), OF_PAPER)


def table_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return hit ratio, precision and signed recall after the last batch, the exact law, and the printed numbers.
    Printed numbers are a series "OAE, printed" of the convention as coded, which the paper says that it ran."""
    columns = ("hit_ratio", "precision", "recall_one_split", "recall_two_splits", "recall_rising")
    names = ("hit ratio", "precision", "one split", "two splits", "signed")
    kinds = {name: (column, "mean") for name, column in zip(names, columns, strict=True)}
    kept = last_rows(rows)
    found = summarise(kept[kept["series"] != RANDOM], kinds, panel="{name}", profile=profile)
    table = []
    for name, convention in kept[["name", "convention"]].drop_duplicates().itertuples(index=False):
        value, low, high = chance(str(name), str(convention), float(kept["pulls"].max()))
        line = {"panel": name, "convention": convention, "statistic": "hit ratio", "n": 0}
        table.append(line | {"series": LAW, "value": value, "low": low, "high": high})
        for series, printed in PRINTED.items():
            if convention == "as_coded":
                table.append(line | {"series": f"{series}, printed", "value": printed[str(name)], "n": 5})
    exact = as_values(pd.DataFrame(table), profile=profile, data=rows["data"].iloc[0])
    return pd.concat([found, exact], ignore_index=True)


def hits_table(values: pd.DataFrame, order: Sequence[str], statistic: str = "hit ratio") -> pd.DataFrame:
    """Return one statistic as text, series by screens, the conventions one below the other."""
    mine = values[(values["statistic"] == statistic) & values["series"].isin(order)]
    texts = mine.assign(text=[_text(line) for _, line in mine.iterrows()])
    table = texts.pivot(index=["convention", "series"], columns="panel", values="text")
    places = [place for place in product(mine["convention"].unique(), order) if place in table.index]
    table = table.reindex(places, columns=mine["panel"].unique()).fillna("").rename_axis(columns=None).reset_index()
    return table.assign(convention=table["convention"].str.replace("_", " "))


def today_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the hit ratio of the benchmark as it runs today after the last batch, with 95% intervals over runs."""
    return summarise(last_rows(rows), {"hit ratio": ("hit_ratio", "mean")}, panel="{name}", profile=profile)


def today_table(values: pd.DataFrame, earlier: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Return hit ratios as text: today's screens, what the paper prints, and what `earlier` values have as coded."""
    coded = earlier[(earlier["convention"] == "as_coded") & (earlier["statistic"] == "hit ratio")]
    rows, before = values.set_index(["series", "panel"]), coded.set_index(["series", "panel"])["value"]
    lines = []
    for panel, series in product(values["panel"].unique(), order):
        line = {"screen": panel, "search": series, "today": _text(rows.loc[(series, panel)])}
        line["as coded"] = f"{before[series, panel]:.3f}" if (series, panel) in before else ""
        printed = PRINTED[series].get(panel)
        lines.append(line | {"printed": "" if printed is None else f"{printed:.3f}"})
    return pd.DataFrame(lines)


def _text(line: pd.Series) -> str:
    if pd.isna(line["low"]):
        return f"{line['value']:.3f}"
    return interval_text(float(line["value"]), float(line["low"]), float(line["high"]))


def gains(rows: pd.DataFrame, groups: Mapping[str, Sequence[str]], over: str, profile: str) -> pd.DataFrame:
    """Return what searches gain in hit ratio over one of them, paired by run, with 95% t-intervals; a panel a screen.
    ``groups`` maps headings to series; the hit ratio of ``over`` is the heading's line."""
    frames = []
    for name, mine in last_rows(rows).groupby("name", sort=False):
        there = set(mine["series"])
        lines = {h: {"": (over, over)} | {s: (s, over) for s in named if s in there} for h, named in groups.items()}
        frames.append(
            paired_effects(mine, "hit_ratio", statistic="gain", profile=profile, panel=str(name), lines=lines)
        )
    return pd.concat(frames, ignore_index=True)


def fault_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return what each fault alone changes in the hit ratio, the second split of the hit list among them."""
    last = last_rows(rows)
    plain = last[[not algorithm_and_change(name)[1] for name in last["series"]]]
    names = [name_of_change(name, "second split of the hits") for name in plain["series"]]
    split = plain.assign(series=names, hit_ratio=plain["recall_two_splits"])
    frames = [
        paired_effects(mine, "hit_ratio", statistic="change", profile=profile, panel=str(name))
        for name, mine in pd.concat([last, split], ignore_index=True).groupby("name", sort=False)
    ]
    return pd.concat(frames, ignore_index=True)


def size_values(profile: str) -> pd.DataFrame:
    """Return, for each screen, genes, hits, and the exact chance of both conventions after the paper's 800 genes."""
    table = []
    for convention in ("as_written", "as_coded"):
        for name in GENES:
            genes = n_genes(name, convention)
            value, low, high = chance(name, convention, BUDGET)
            line = {"panel": name, "series": "screen", "convention": convention}
            table.append(line | {"statistic": "genes", "value": genes})
            table.append(line | {"statistic": "pool", "value": genes - int(SET_ASIDE * genes)})
            table.append(line | {"statistic": "hits", "value": hit_count(genes)})
            table.append(line | {"statistic": "chance", "value": value, "low": low, "high": high})
    return as_values(pd.DataFrame(table), profile=profile, data="real")


def size_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `size_values` as text, a row for each screen and convention."""
    wide = values.pivot(index=["convention", "panel"], columns="statistic", values="value")
    wide = wide.loc[list(values[["convention", "panel"]].drop_duplicates().itertuples(index=False, name=None))]
    table = wide[["genes", "pool", "hits"]].map("{:.0f}".format).assign(chance=wide["chance"].map("{:.4f}".format))
    table = table.rename_axis(columns=None).reset_index().rename(columns={"panel": "screen"})
    return table.assign(convention=table["convention"].str.replace("_", " "))


def hit_curves(values: pd.DataFrame, order: Sequence[str], *, title: str, setting: str) -> Figure:
    """Return `curve_values` against the number of genes; the exact law of random genes is dotted, without a band."""
    law = values["series"] == LAW
    drawn = values.assign(low=values["low"].mask(law), high=values["high"].mask(law))
    return line_panels(
        drawn,
        [*order, LAW],
        title=title,
        setting=setting,
        statistic="hit ratio",
        x="genes tried",
        y="share of the hits found",
        marks="band",
        possible=(0.0, None),
        share_y=False,
    )
