r"""Checks behind the claims of the OAE paper: counts, its theory, and the values that its statistical claims compare.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.oae.cell_lines.claim_values import held_out, misfit_explains_gain, own_misfit
from bestarm_studies.oae.claim_values import (
    batch_limit,
    comparable,
    first_hit,
    first_tried,
    gain,
    mean_distance,
    mean_reward,
    misfit,
    regret_area,
)
from bestarm_studies.oae.genedisco.values import GENEDISCO_VALUES
from bestarm_studies.oae.theory_checks import (
    batch_factor,
    linear_burn_in,
    linear_optimism,
    lipschitz_bound,
    misspecification,
    query_bound,
    wide_arms,
)
from bestarm_studies.oae.uci import UCI_SETS

Tables = Mapping[str, pd.DataFrame]  # experiment to its rows


def uci_sizes(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Compare the numbers of points, or of attributes, with the printed ones."""
    (name,) = test["experiments"]
    found = tables[name].set_index("series")[test["of"]]
    side = ("points", "attributes").index(test["of"])
    printed = {series: about.printed[side] for series, about in UCI_SETS.items()}
    texts = [f"{series}: {found[series]} (printed {number})" for series, number in printed.items()]
    return Decision(all(found[series] == number for series, number in printed.items()), "; ".join(texts))


def hills_seen(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Check that the median number of hills on which an arm was pulled reaches four."""
    (name,) = test["experiments"]
    rows = tables[name]
    hills = rows[rows["statistic"] == "hills"]
    median = hills.groupby("round")["value"].median()
    share = float((hills[hills["round"] == median.index.max()]["value"] == 4).mean())
    texts = ", ".join(f"{value:g} by round {number}" for number, value in median.items())
    return Decision(bool(median.iloc[-1] == 4), f"median hills: {texts}; all four in {share:.0%} of the runs")


def cost_of_sequence(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Check that a sequential batch trains at least ``at_least`` times as many networks as a plain one.

    ``pairs`` names for each sequential series a plain one.
    """
    (name,) = test["experiments"]
    counts = tables[name].set_index("series")["networks"]
    holds, texts = True, []
    for series, base in test["pairs"].items():
        many, few = counts[series], counts[base]
        holds &= bool(many >= test["at_least"] * few)
        texts.append(f"{series} trains {many} networks a batch, {base} {few}")
    return Decision(holds, "; ".join(texts))


CHECKS: dict[str, Check] = {
    "uci_sizes": Check(uci_sizes, {"experiments": "experiments", "of": "points|attributes"}),
    "hills_seen": Check(hills_seen, {"experiments": "experiments"}),
    "cost_of_sequence": Check(cost_of_sequence, {"experiments": "experiments", "pairs": "any", "at_least": "number"}),
    "linear_burn_in": Check(
        linear_burn_in,
        {"experiments": "experiments", "instance": "text", "series": "series", "slack": "number", "late": "number"},
        may={"attained": "flag"},
    ),
    "wide_arms": Check(wide_arms, {"experiments": "experiments", "constant": "number"}),
    "misspecification": Check(
        misspecification,
        {"experiments": "experiments"},
        may={"ratio": "number", "proportional": "flag", "slack": "number"},
    ),
    "batch_factor": Check(
        batch_factor,
        {
            "experiments": "experiments",
            "instance": "text",
            "vanilla": "series",
            "spread": "series",
            "slack": "number",
            "most": "number",
        },
        may={"n_features": "numbers"},
    ),
    "query_bound": Check(
        query_bound,
        {"experiments": "experiments", "bound": "printed|squared"},
        may={"part": "small|large", "series": "series"},
    ),
    "lipschitz_bound": Check(lipschitz_bound, {"experiments": "experiments", "bound": "printed|quarter"}),
    "linear_optimism": Check(linear_optimism, {"experiments": "experiments"}, may={"model": "constrained|regularised"}),
    "misfit_explains_gain": Check(misfit_explains_gain, {"experiments": "experiments"}),
}
VALUES: dict[str, Value] = {
    "first_hit": Value("batches until a top-1% arm", first_hit, comparable, limit=batch_limit),
    "first_hit_5": Value("batches until a top-5% arm", partial(first_hit, tau=0.05), comparable, limit=batch_limit),
    "first_hit_02": Value("batches until a top-0.2% arm", partial(first_hit, tau=0.002), comparable, limit=batch_limit),
    "first_tried": Value("batches until a top-1% arm is tried", first_tried, comparable, limit=batch_limit),
    "regret_area": Value("regret of the best arm so far over all batches", regret_area, comparable),
    "mean_reward": Value("reward of all batches but the first", mean_reward, comparable),
    "mean_distance": Value("distance of two arms of a batch, batches 2 to 20", mean_distance, comparable),
    "gain": Value(
        "gain on another method in batches until a top-1% arm", gain, comparable, needs={"of": "side", "over": "side"}
    ),
    "misfit": Value("training error over variance", misfit),
    "own_misfit": Value("training error over variance, each class with its step size", own_misfit),
    "held_out": Value("error on arms that were not seen", held_out),
    **GENEDISCO_VALUES,
}
