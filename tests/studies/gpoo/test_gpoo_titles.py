"""Titles of figures stand in the notebooks that draw them, and are true of the figures' CSV files."""

from functools import partial

import pandas as pd
import pytest
import titles

Title = partial(titles.Title, "gpoo")
TREE, REGRET, AGGREGATION = "02_tree_and_gpoo", "03_regret", "04_aggregation"
CODE, CHANGES, THEORY = "05_paper_against_code", "06_what_changes_when", "07_theory"
BOTH = ["f1", "f2"]


def drawn(values: pd.DataFrame, statistic: str = "") -> pd.DataFrame:
    """Return the plotted values of a figure, or of one of its statistics."""
    if not pd.api.types.is_numeric_dtype(values["x"]):
        values = values.assign(x=values["x"].fillna(""))
    return values[values["statistic"] == statistic] if statistic else values


def deepest(values: pd.DataFrame, convention: str = "as_written") -> pd.DataFrame:
    """Return the nodes of the greatest depth in each tree of a figure."""
    nodes = drawn(values, "depth").query("convention == @convention")
    return nodes[nodes["value"] == nodes.groupby("series")["value"].transform("max")]


def bands_of_feedback(values: pd.DataFrame) -> bool:
    means = drawn(values, "mean")
    width = (means["high"] - means["low"]).groupby(means["panel"]).mean()
    prior = 4 * 0.1**0.5
    return bool(abs(width["averages"] / width["points"] - 1) < 0.05 and width["integrals"] > 0.95 * prior)


def deepest_under_the_peak(values: pd.DataFrame) -> bool:
    nodes, best = deepest(values), drawn(values, "optimum")["x"].astype(float).item()
    return bool(((nodes["low"] <= best) & (best <= nodes["high"])).any())


def two_rounds(values: pd.DataFrame) -> bool:
    table = drawn(values)
    chosen = table[(table["statistic"] == "chosen") & (table["value"] > 0)].set_index("panel")
    places = {panel: (line["low"], line["high"]) for panel, line in chosen.iterrows()}
    leaves = table[(table["statistic"] == "leaf") & (table["value"] > 0)].groupby("panel").size()
    after = table[(table["panel"] == "tree, t = 10") & (table["statistic"] == "leaf")].set_index("x")["value"]
    divided = after.loc[[0.875]].item() == 0
    return (
        places == {"tree, t = 9": (0.75, 1.0), "tree, t = 10": (0.375, 0.4375)}
        and divided
        and leaves["tree, t = 10"] == leaves["tree, t = 9"] + 1
    )


def stuck_as_coded(values: pd.DataFrame) -> bool:
    ends = drawn(values, "mean").query("x == 80")
    regret = ends.pivot(index=["convention", "panel"], columns="series", values="value")
    ours, theirs = regret["GPOO (S = 1)"], regret["GPTree"]
    far = theirs["as_coded"] > 5 * ours["as_coded"]
    return bool(far.all() and (theirs["as_written"] - ours["as_written"] < 0.01).all())


def ahead_of_gpoo(values: pd.DataFrame) -> bool:
    table = drawn(values, "difference")
    early = table[table["x"].between(25, 40) & (table["convention"] == "as_written")]
    coded = table[table["convention"] == "as_coded"]
    return len(early) == 64 and bool((early["high"] < 0).all() and (coded["low"] > 0).all())


def finest_around_the_peak(values: pd.DataFrame) -> bool:
    nodes = pd.concat(deepest(values, convention) for convention in ("as_written", "as_coded"))
    near = nodes.assign(near=(nodes["x"].astype(float) - 0.956).abs() < 0.02)
    return len(near.groupby(["convention", "series"])) == 4 and bool(
        (near.groupby(["convention", "series"])["near"].mean() > 0.5).all()
    )


def averages_on_f3(values: pd.DataFrame) -> bool:
    table = drawn(values, "difference")
    early, late = table[table["x"].between(25, 40)], table[(table["x"] >= 54) & (table["panel"] == "paper")]
    return len(early) == 64 and len(late) == 54 and bool((early["high"] < 0).all() and (late["low"] > 0).all())


def best_number_of_children(values: pd.DataFrame) -> bool:
    table = drawn(values).pivot(index=["convention", "panel", "x"], columns="series", values="value")
    best = table.idxmin(axis=1)
    return bool((best["as_coded"] == "K = 3").all() and (best["as_written"] != "K = 3").all())


def three_changes_to_gptree(values: pd.DataFrame) -> bool:
    table = drawn(values, "mean over N = 10-80").query("series == 'GPTree' and x != ''")
    alone = table[~table["x"].str.startswith("all")]
    worse = (alone["low"] > 0).groupby(alone["x"]).agg(["all", "size"])
    return set(worse.index[worse["all"] & (worse["size"] == 3)]) == {
        "constants of the code",
        "β of the code",
        "first divided",
    }


def causes(values: pd.DataFrame) -> bool:
    table = drawn(values, "mean over N = 10-80").set_index(["series", "x", "convention", "panel"]).sort_index()
    growing = table.loc[("GPTree", "growing β", "as_coded")]
    constant = table.xs("constant β", level="x")
    return len(growing) == 2 and bool((growing["low"] > 0).all() and (constant["value"].abs() < 0.01).all())


def grid_and_slopes(values: pd.DataFrame) -> bool:
    table = drawn(values)
    leaves = table[table["panel"] == "leaves"].set_index("x")["value"]
    means = table[(table["statistic"] == "mean") & (table["series"] == "GPTree")]
    regret = means.pivot(index="x", columns="panel", values="value")
    return leaves[6.32] == 64 and bool((regret.loc[:1.0] > regret.loc[6.32]).all(axis=None))


def scales(values: pd.DataFrame) -> bool:
    table = drawn(values).assign(c=lambda t: t["x"].str.removeprefix("c = ").astype(int))
    keys = ["convention", "panel", "series", "statistic"]
    wide = table.pivot(index=keys, columns="c", values="value")
    smooth = wide[
        wide.index.get_level_values("panel").isin(BOTH) & (wide.index.get_level_values("statistic") == "N = 80")
    ]
    above = smooth[[8, 14, 28]].max(axis=1) - smooth[[8, 14, 28]].min(axis=1)
    on_f3 = wide.xs("f3", level="panel").xs("N = 80", level="statistic")
    return bool(above.max() < 0.03 and (smooth[1] - smooth[8]).max() > 0.2 and (on_f3[8] - on_f3[28]).max() > 0.05)


def choices_that_cost_most(values: pd.DataFrame) -> bool:
    table = drawn(values, "N = 80").query("x != ''")
    order = {
        panel: {
            series: mine.sort_values("value", ascending=False)["x"].tolist()[:2]
            for series, mine in part.groupby("series")
        }
        for panel, part in table.groupby("panel")
    }
    narrow, wide = "ℓ = 0.01", "ℓ = 0.1"
    low = table.set_index(["panel", "x"])["low"]
    return (
        all(first == ["integral", narrow] for first in order["f1"].values())
        and all(first[0] == wide and first[1] == narrow for first in order["f2"].values())
        and all(first == ["integral", wide] for first in order["f3"].values())
        and bool((low.loc[[("f1", narrow), ("f2", narrow), ("f2", wide), ("f3", wide)]] > 0).all())
    )


def events(values: pd.DataFrame) -> bool:
    share = drawn(values, "share of runs in the event").set_index("series")["value"]
    code = share.index.str.contains("|", regex=False)
    return bool((share[~code] > 0.95).all() and (share[code] == 0).all() and code.any())


def rates(values: pd.DataFrame) -> bool:
    means = drawn(values, "mean").pivot(index="x", columns=["panel", "series"], values="value")
    bounds = drawn(values, "Corollary 1, mended").pivot(index="x", columns="panel", values="value")
    falls = all(
        means.loc[1024, line] / means.loc[32, line] < bounds.loc[1024, line[0]] / bounds.loc[32, line[0]]
        for line in means
    )
    return falls and bool(means["f2", "GPOO (S = 1)"].loc[128:512].is_monotonic_increasing)


TITLES = [
    Title(
        "01_aggregated_feedback",
        "feedback",
        "Eight averages narrow the band of f like eight points; eight integrals leave it wide",
        bands_of_feedback,
    ),
    Title(TREE, "fig01", "After 23 evaluations the tree is deepest under the highest peak", deepest_under_the_peak),
    Title(TREE, "fig02", "Round 9 divides cell (2, 3); round 10 evaluates cell (4, 6) and divides nothing", two_rounds),
    Title(
        REGRET, "fig04", "As coded GPTree stays far above GPOO; as written it falls to GPOO's regret", stuck_as_coded
    ),
    Title(
        REGRET,
        "fig04_differences",
        "From N = 25 to 40 GPTree and a plain grid have less regret than GPOO as written; "
        "as coded GPTree has more regret",
        ahead_of_gpoo,
    ),
    Title(
        AGGREGATION,
        "fig05",
        "All four searches divide most finely around the narrow peak of f3",
        finest_around_the_peak,
    ),
    Title(
        AGGREGATION,
        "fig05_differences",
        "From N = 25 to 40 averages have less regret on f3; by the paper's measure they have more from N = 54 on",
        averages_on_f3,
    ),
    Title(AGGREGATION, "fig06", "K = 3 is best for every S as coded, and for no S as written", best_number_of_children),
    Title(
        CODE,
        "fig_audit",
        "Three of the changes to GPTree, each alone, raise its regret on every function",
        three_changes_to_gptree,
    ),
    Title(CODE, "fig_causes", "A growing β does not free GPTree as coded, and a constant β does not trap GPOO", causes),
    Title(
        CODE,
        "gptree_slopes",
        "With the slope of this kernel GPTree is a grid of 64 cells; with a slope of 1 or less its regret is higher",
        grid_and_slopes,
    ),
    Title(
        CHANGES,
        "sensitivity_scale",
        "A scale c below 8 can cost a large regret; above 8 little changes except on f3",
        scales,
    ),
    Title(
        CHANGES,
        "sensitivity",
        "Integrals cost GPOO the most regret, then a narrow model on f1 and f2 and a wide one on f2 and f3",
        choices_that_cost_most,
    ),
    Title(
        THEORY,
        "theory_event",
        "With Lemma 1's β nearly all runs keep their intervals; with the code's β none does",
        events,
    ),
    Title(
        THEORY,
        "theory_rate",
        "From N = 32 to 1024 the regret falls faster than the bounds; on f2 it rises in between",
        rates,
    ),
]


@pytest.mark.parametrize("title", TITLES, ids=lambda title: f"{title.notebook}-{title.file}")
def test_titles_say_what_their_tables_say(title):
    title.check()
