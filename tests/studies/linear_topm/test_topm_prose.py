"""Sentences and titles of the notebooks on top-m that take more than `quoted.yaml` can say."""

import json
import re
from functools import partial

import pandas as pd
import pytest
import titles
from prose import prose

from bestarm_lab.paths import NOTEBOOKS


def test_how_wrong_lemma_2_is():
    cells = json.loads((NOTEBOOKS / "linear_topm" / "07_theory.ipynb").read_text(encoding="utf-8"))["cells"]
    printed = "".join("".join(o.get("text", "")) for cell in cells for o in cell.get("outputs", []))
    largest = max(float(number) for number in re.findall(r"right side = ([\d.]+)", printed))
    assert f"the left side is up to {largest:.0f} times the right side" in prose("linear_topm", "07_theory")


Title = partial(titles.Title, "linear_topm")
PLANE = ["feature 1", "feature 2"]


def drawn(values: pd.DataFrame, statistic: str) -> pd.DataFrame:
    """Return the plotted values of one statistic of a figure."""
    return values[values["statistic"] == statistic]


def parts_of_the_network(values: pd.DataFrame) -> bool:
    """Follow the interactions: every gene is reached from another of its part, and there are several parts."""
    pairs = [arrow.split(" → ") for arrow in drawn(values, "sign")["series"]]
    part = {gene: gene for pair in pairs for gene in pair}

    def root(gene: str) -> str:
        return gene if part[gene] == gene else root(part[gene])

    for source, target in pairs:
        part[root(source)] = root(target)
    return len({root(gene) for gene in part}) > 5


def arms_of_the_instance(values: pd.DataFrame) -> bool:
    arms = values.pivot(index="series", columns="statistic", values="value")
    third, apart = arms.loc[3, PLANE], arms.loc[1, PLANE] - arms.loc[2, PLANE]
    along = abs(apart @ third) / ((apart @ apart) * (third @ third)) ** 0.5
    return bool(along > 0.95 and arms.loc[3, "mean"] == 0 < arms.loc[[1, 2], "mean"].min())


@pytest.mark.parametrize(
    "title",
    [
        Title(
            "01_main_results",
            "instance",
            "The two best arms differ mostly along the third, whose mean is 0",
            arms_of_the_instance,
        ),
        Title(
            "05_drug_simulator",
            "fig04",
            "The gene network falls into parts that do not touch each other",
            parts_of_the_network,
        ),
    ],
    ids=lambda title: f"{title.notebook}-{title.file}",
)
def test_titles_say_what_their_tables_say(title):
    title.check()
