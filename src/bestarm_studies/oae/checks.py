r"""Claims of the OAE paper that a count decides, and what claims become under other choices where the paper is silent.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.experiments.experiment import Experiment
from bestarm.policies.oae import NetworkSearch
from bestarm.reporting.batch_claims import BATCH_TESTS
from bestarm.reporting.claim_tests import LEVEL, joint_p
from bestarm.reporting.figures import VERDICT_COLOURS
from bestarm_studies.oae.experiments import EXPERIMENTS
from bestarm_studies.oae.network_counts import networks_per_batch
from bestarm_studies.oae.uci import UCI_SETS, uci_instance

Decision = tuple[bool, str]
Tables = Mapping[str, pd.DataFrame]  # experiment to its rows


def uci_sizes(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Compare the numbers of points, or of attributes, with the printed ones."""
    holds, texts, side = True, [], ("points", "attributes").index(test["of"])
    for name, about in UCI_SETS.items():
        found = uci_instance(name).features.shape[side]
        holds &= found == about.printed[side]
        texts.append(f"{name}: {found} (printed {about.printed[side]})")
    return holds, "; ".join(texts)


def hills_seen(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Decide whether the median number of hills on which an arm was pulled reaches four."""
    rows = tables[test["experiment"]]
    hills = rows[rows["statistic"] == "hills"]
    median = hills.groupby("round")["value"].median()
    share = float((hills[hills["round"] == median.index.max()]["value"] == 4).mean())
    texts = ", ".join(f"{value:g} by round {number}" for number, value in median.items())
    return bool(median.iloc[-1] == 4), f"median hills: {texts}; all four in {share:.0%} of the runs"


def cost_of_sequence(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Decide whether a sequential batch trains at least ``at_least`` times as many networks as a plain one.

    ``pairs`` names for each series of the experiment ``sequential`` one of the experiment ``plain``.
    """
    holds, texts = True, []
    for series, base in test["pairs"].items():
        many = networks_per_batch(searching(test["sequential"], series))
        few = networks_per_batch(searching(test["plain"], base))
        holds &= many >= test["at_least"] * few
        texts.append(f"{series} trains {many} networks a batch, {base} {few}")
    return holds, "; ".join(texts)


def searching(experiment: str, series: str) -> NetworkSearch:
    """Return the policy of a series of an ordinary experiment, at the paper's own scale."""
    found = EXPERIMENTS[experiment]
    assert isinstance(found, Experiment)
    return next(cell.policy for cell in found.cells("paper") if cell.series == series)


OAE_CLAIMS: dict[str, Callable[[Mapping[str, Any], Tables], Decision]] = {
    "uci_sizes": uci_sizes,
    "hills_seen": hills_seen,
    "cost_of_sequence": cost_of_sequence,
}
OAE_DESCRIPTIONS = {
    "uci_sizes": "counting rows",
    "hills_seen": "median over runs of the hills on which an arm was pulled",
    "cost_of_sequence": "networks trained for a batch, counted",
}


def variant_verdicts(
    claims: Mapping[str, Any], base: str, variants: Mapping[str, pd.DataFrame], identities: Sequence[str]
) -> pd.DataFrame:
    """Return what claims about one experiment become if it is run under other choices.

    Parameters
    ----------
    claims : mapping
        The ledger's claims.
    base : str
        The experiment that is replaced; comparisons about others are left out.
    variants : mapping of str to DataFrame
        Name of a choice to its rows.
    identities : sequence of str
        Which claims.

    Returns
    -------
    DataFrame
        ``id, variant, verdict, held, comparisons``: verdicts unadjusted for their number, how many of the comparisons
        hold for themselves. A variant without a claim's landscapes is left out.
    """
    table = []
    for identity in identities:
        test = claims[identity]["test"]
        for variant, rows in variants.items():
            there = set(rows["name"])
            cells = []
            for entry in test["cells"]:
                names = entry["name"] if isinstance(entry["name"], list) else [entry["name"]]
                if entry["experiment"] == base and set(names) & there:
                    cells.append(entry | {"name": [n for n in names if n in there]})
            if not cells:
                continue
            found = BATCH_TESTS[test["kind"]](dict(test) | {"cells": cells}, {base: rows})
            p, p_opposite = joint_p(found)
            verdict = "reproduced" if p < LEVEL else "contradicted" if p_opposite < LEVEL else "inconclusive"
            line = {"id": identity, "variant": variant, "verdict": verdict, "held": sum(c.p < LEVEL for c in found)}
            table.append(line | {"comparisons": len(found)})
    return pd.DataFrame(table)


def variant_map(verdicts: pd.DataFrame, title: str) -> Figure:
    """Return the verdicts as a map: a row for each claim, a column for each choice, a letter for each colour."""
    identities, variants = list(dict.fromkeys(verdicts["id"])), list(dict.fromkeys(verdicts["variant"]))
    figure, axis = plt.subplots(figsize=(2.6 + 0.78 * len(variants), 1.3 + 0.42 * len(identities)))
    for _, line in verdicts.iterrows():
        x, y = variants.index(line["variant"]), identities.index(line["id"])
        axis.add_patch(plt.Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=VERDICT_COLOURS[line["verdict"]]))
        text = f"{line['verdict'][0].upper()}\n{line['held']} of {line['comparisons']}"
        axis.text(x, y, text, ha="center", va="center", fontsize=7)
    axis.set_xlim(-0.6, len(variants) - 0.4)
    axis.set_ylim(len(identities) - 0.4, -0.6)
    axis.set_xticks(np.arange(len(variants)), variants, rotation=40, ha="right")
    axis.set_yticks(np.arange(len(identities)), [f"{i} " for i in identities])
    axis.grid(visible=False)
    legend = "R reproduced, C contradicted, I inconclusive; how many comparisons hold for themselves; white: other sets"
    axis.set_title(f"{title}\n{legend}", fontsize=8.5)
    return figure
