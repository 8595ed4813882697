"""Sentences and titles of the notebooks on top-m that take more than `quoted.yaml` can say."""

import re

import pandas as pd
from prose import printed, prose
from titles import titled

PLANE = ["feature 1", "feature 2"]


def test_how_wrong_lemma_2_is():
    largest = max(float(number) for number in re.findall(r"right side = ([\d.]+)", printed("linear_topm", "07_theory")))
    assert f"the left side is up to {largest:.0f} times the right side" in prose("linear_topm", "07_theory")


@titled("linear_topm/05_drug_simulator/fig04", "The gene network falls into parts that do not touch each other")
def test_parts_of_the_network(values: pd.DataFrame) -> bool:
    """Follow the interactions: every gene is reached from another of its part, and there are several parts."""
    pairs = [arrow.split(" → ") for arrow in values.loc[values["statistic"] == "sign", "series"]]
    part = {gene: gene for pair in pairs for gene in pair}

    def root(gene: str) -> str:
        return gene if part[gene] == gene else root(part[gene])

    for source, target in pairs:
        part[root(source)] = root(target)
    return len({root(gene) for gene in part}) > 5


@titled("linear_topm/01_main_results/instance", "The two best arms differ mostly along the third, whose mean is 0")
def test_arms_of_the_instance(values: pd.DataFrame) -> bool:
    arms = values.pivot(index="series", columns="statistic", values="value")
    third, apart = arms.loc[3, PLANE], arms.loc[1, PLANE] - arms.loc[2, PLANE]
    along = abs(apart @ third) / ((apart @ apart) * (third @ third)) ** 0.5
    return bool(along > 0.95 and arms.loc[3, "mean"] == 0 < arms.loc[[1, 2], "mean"].min())
