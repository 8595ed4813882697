"""What the page says of GeneDisco's wheel, from the files of its screens that the data registry has."""

import re

import numpy as np
import pandas as pd
import pytest
from prose import prose

from bestarm.gene_symbols import approved_symbols
from bestarm_lab.datasets.registry import DataUnavailable, fetch
from bestarm_lab.paths import ROOT

PAGE = " ".join((ROOT / "docs" / "beside_others.md").read_text(encoding="utf-8").split())


def test_genes_with_another_gene_s_row():
    """Names renamed by HGNC's table, then sorted, with the rows left where they were."""
    try:
        donors = [pd.read_csv(fetch(f"genedisco-ifng-donor-{i}"), sep="\t", index_col="id") for i in (1, 2)]
        approved = approved_symbols(fetch("hgnc-outdated-symbols"))
    except DataUnavailable:
        pytest.skip("the screen or HGNC's table can be had nowhere here")
    old = sorted(set(donors[0].index) | set(donors[1].index))  # grouped by name, so that they are sorted
    new = np.array([approved.get(name, name) for name in old])
    names, first = np.unique(np.sort(new), return_index=True)
    wrong = int((new[first] != names).sum())
    shown = re.search(r"([\d,]+) of ([\d,]+) genes of the screen of IFNg get the value of another", PAGE)
    assert shown
    assert [int(number.replace(",", "")) for number in shown.groups()] == [wrong, len(names)]


def test_the_notebook_and_the_page_quote_the_loaders_of_the_release():
    """The counts that the release's own loaders gave, and those of this file's arithmetic for the screen of IFNg."""
    found = pd.read_csv(ROOT / "benchmarks" / "genedisco_loaders.csv").set_index(["loader", "symbols"])
    text = prose("oae", "12_genedisco")
    ifng = found.loc[("IFNg", "of the file")]
    assert f"give {ifng['wrong']:,} of {ifng['kept']:,} genes of IFNg the effect of another gene" in text
    old = found.loc[("Achilles", "of 2019")]
    assert old["kept"] == old["genes"]
    assert f"keeps all {old['kept']:,} genes and gives {old['wrong']:,} another gene's row" in text
    assert f"{ifng['wrong']:,} of {ifng['kept']:,} genes of the screen of IFNg" in PAGE
