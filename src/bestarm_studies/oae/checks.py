r"""What decides the claims of the OAE paper: counts, its theory, and the values that its statistical claims compare.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from bestarm.experiments.experiment import Experiment
from bestarm.policies.oae import NetworkSearch
from bestarm.reporting.claim_cells import Value
from bestarm.reporting.verdicts import Decision
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
from bestarm_studies.oae.experiments import EXPERIMENTS
from bestarm_studies.oae.genedisco.values import GENEDISCO_VALUES
from bestarm_studies.oae.network_counts import networks_per_batch
from bestarm_studies.oae.theory_checks import (
    batch_factor,
    linear_burn_in,
    linear_optimism,
    lipschitz_bound,
    misspecification,
    query_bound,
    wide_arms,
)
from bestarm_studies.oae.uci import UCI_SETS, uci_instance

Tables = Mapping[str, pd.DataFrame]  # experiment to its rows


def uci_sizes(test: Mapping[str, Any], tables: Tables) -> Decision:
    """Compare the numbers of points, or of attributes, with the printed ones."""
    holds, texts, side = True, [], ("points", "attributes").index(test["of"])
    for name, about in UCI_SETS.items():
        found = uci_instance(name).features.shape[side]
        holds &= found == about.printed[side]
        texts.append(f"{name}: {found} (printed {about.printed[side]})")
    return Decision(holds, "; ".join(texts))


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

    ``pairs`` names for each series of the experiment ``sequential`` one of the experiment ``plain``.
    """
    holds, texts = True, []
    for series, base in test["pairs"].items():
        many = networks_per_batch(searching(test["sequential"], series))
        few = networks_per_batch(searching(test["plain"], base))
        holds &= many >= test["at_least"] * few
        texts.append(f"{series} trains {many} networks a batch, {base} {few}")
    return Decision(holds, "; ".join(texts))


def searching(experiment: str, series: str) -> NetworkSearch:
    """Return the policy of a series of an ordinary experiment, at the paper's own scale."""
    found = EXPERIMENTS[experiment]
    assert isinstance(found, Experiment)
    return next(cell.policy for cell in found.cells("paper") if cell.series == series)


CHECKS: dict[str, Callable[[Mapping[str, Any], Tables], Decision]] = {
    "uci_sizes": uci_sizes,
    "hills_seen": hills_seen,
    "cost_of_sequence": cost_of_sequence,
    "linear_burn_in": linear_burn_in,
    "wide_arms": wide_arms,
    "misspecification": misspecification,
    "batch_factor": batch_factor,
    "query_bound": query_bound,
    "lipschitz_bound": lipschitz_bound,
    "linear_optimism": linear_optimism,
    "misfit_explains_gain": misfit_explains_gain,
}
VALUES: dict[str, Value] = {
    "first_hit": Value("batches until a top-1% arm", first_hit, comparable, limit=batch_limit),
    "first_hit_5": Value("batches until a top-5% arm", partial(first_hit, tau=0.05), comparable, limit=batch_limit),
    "first_hit_02": Value("batches until a top-0.2% arm", partial(first_hit, tau=0.002), comparable, limit=batch_limit),
    "first_tried": Value("batches until a top-1% arm is tried", first_tried, comparable, limit=batch_limit),
    "regret_area": Value("regret of the best arm so far over all batches", regret_area, comparable),
    "mean_reward": Value("reward of all batches but the first", mean_reward, comparable),
    "mean_distance": Value("distance of two arms of a batch, batches 2 to 20", mean_distance, comparable),
    "gain": Value("gain on another method in batches until a top-1% arm", gain, comparable),
    "misfit": Value("training error over variance", misfit),
    "own_misfit": Value("training error over variance, each class with its step size", own_misfit),
    "held_out": Value("error on arms that were not seen", held_out),
    **GENEDISCO_VALUES,
}
