"""What the page says of GeneDisco's wheel, from the files of its screens that the data registry has."""

import re

import numpy as np
import pandas as pd
import pytest

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
