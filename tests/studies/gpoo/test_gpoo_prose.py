"""Sentences and titles of the GPOO notebooks that take more than `quoted.yaml` can say."""

from functools import partial

import pandas as pd
from prose import prose
from titles import titled

from bestarm_studies.gpoo.functions import reward_function
from bestarm_studies.gpoo.theory.assumptions import ranges


def test_how_much_f1_varies():
    (varies,) = ranges(reward_function("f1"))
    assert f"f1 varies by {varies:.2f}" in prose("gpoo", "07_theory")


def drawn(values: pd.DataFrame, statistic: str = "") -> pd.DataFrame:
    """Return the plotted values of a figure, or of one of its statistics."""
    if not pd.api.types.is_numeric_dtype(values["x"]):
        values = values.assign(x=values["x"].fillna(""))
    return values[values["statistic"] == statistic] if statistic else values


def deepest(values: pd.DataFrame, convention: str = "as_written") -> pd.DataFrame:
    """Return the nodes of the greatest depth in each tree of a figure."""
    nodes = drawn(values, "depth").query("convention == @convention")
    return nodes[nodes["value"] == nodes.groupby("series")["value"].transform("max")]


@titled("gpoo/02_tree_and_gpoo/fig01", "After 23 evaluations the tree is deepest under the highest peak")
def test_deepest_under_the_peak(values: pd.DataFrame) -> bool:
    nodes, best = deepest(values), drawn(values, "optimum")["x"].astype(float).item()
    return bool(((nodes["low"] <= best) & (best <= nodes["high"])).any())


@titled(
    "gpoo/02_tree_and_gpoo/fig02", "Round 9 divides cell (2, 3); round 10 evaluates cell (4, 6) and divides nothing"
)
def test_two_rounds(values: pd.DataFrame) -> bool:
    table = drawn(values)
    chosen = table[(table["statistic"] == "chosen") & (table["value"] > 0)].set_index("panel")
    places = {panel: (line["low"], line["high"]) for panel, line in chosen.iterrows()}
    leaves = table[(table["statistic"] == "leaf") & (table["value"] > 0)].groupby("panel").size()
    after = table[(table["panel"] == "tree, t = 10") & (table["statistic"] == "leaf")].set_index("x")["value"]
    return (
        places == {"tree, t = 9": (0.75, 1.0), "tree, t = 10": (0.375, 0.4375)}
        and (after.loc[[0.875]].item() == 0)
        and leaves["tree, t = 10"] == leaves["tree, t = 9"] + 1
    )


def finest_around_the_peak(values: pd.DataFrame, convention: str) -> bool:
    nodes = deepest(values, convention)
    near = ((nodes["x"].astype(float) - 0.956).abs() < 0.02).groupby(nodes["series"]).mean()
    return len(near) == 2 and bool((near > 0.5).all())


test_finest_by_the_text = titled(
    "gpoo/04_aggregation/fig05", "Both searches by the text divide most finely around the narrow peak of f3"
)(partial(finest_around_the_peak, convention="as_written"))
test_finest_by_the_code = titled(
    "gpoo/04_aggregation/fig05_as_coded", "Both searches by the authors' code divide most finely around the peak, too"
)(partial(finest_around_the_peak, convention="as_coded"))
