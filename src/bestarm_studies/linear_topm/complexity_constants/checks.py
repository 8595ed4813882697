"""Checks of gaps and complexity constants."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm.designs.l1_design import l1_designs
from bestarm.problems.linear_bandit import LinearBandit
from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.study import project_seed
from bestarm_studies.linear_topm.complexity import (
    lucb_complexity,
    m_lingape_complexity,
    m_lingape_optimised_complexity,
    random_linear_instance,
    ugape_complexity,
)
from bestarm_studies.linear_topm.complexity_constants.printed_constants import nine_eighths, order_of_constants, table5
from bestarm_studies.linear_topm.problems import parts_of

Rows = Mapping[str, pd.DataFrame]
Test = Mapping[str, Any]


def gap(test: Test) -> Decision:
    """Compare the gap between the m-th and the next mean with the printed number of decimals."""
    holds, texts = True, []
    for name, (printed, decimals) in test["printed"].items():
        problem, _ = parts_of(name)
        means = np.sort(problem.means[0])[::-1]
        m = int(test["n_best"][name])
        found = means[m - 1] - means[m]
        holds &= bool(round(found, decimals) == printed)
        texts.append(f"{name}: {found:.5f} (printed {printed})")
    return Decision(holds, "; ".join(texts))


def no_worse(test: Test) -> Decision:
    """Compare m-LinGapE's constants of Table 2 with that of LUCB, which it extends, on some instances."""
    settings = {"epsilon": test["epsilon"], "sigma": test["sigma"]}
    ratios: dict[str, list[float]] = {"m-LinGapE (1)": [], "m-LinGapE (2)": []}
    for name, m in test["n_best"].items():
        problem, _ = parts_of(name)
        assert isinstance(problem, LinearBandit)
        means, designs = problem.means[0], l1_designs(problem.features).weights
        classical = lucb_complexity(means, int(m), epsilon=test["epsilon"])
        ratios["m-LinGapE (1)"].append(m_lingape_complexity(means, int(m), **settings) / classical)
        ratios["m-LinGapE (2)"].append(m_lingape_optimised_complexity(means, int(m), designs, **settings) / classical)
    text = "; ".join(f"H({name}) is {min(r):.3g} to {max(r):.3g} times H(LUCB)" for name, r in ratios.items())
    largest = max(max(found) for found in ratios.values())
    return Decision(bool(largest <= 1.0 + 1e-9), f"{text}, on {len(test['n_best'])} instances")


def hard_where_worse(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by instance whether H(UGapE) is above its median over all of a size, where the other constant is larger.
    Elsewhere the value is missing. Instances are drawn again, as `complexity_ratios` draws them."""
    mine = rows[rows["series"] == test["size"]].set_index("replication")
    n_arms, n_best, n_features = (int(part.split("=")[1]) for part in test["size"].split(", "))
    constants, seed = [], project_seed()
    for instance in mine.index:
        rng = np.random.default_rng(np.random.SeedSequence([seed, n_arms, n_best, n_features, int(instance)]))
        bandit = random_linear_instance(rng, n_arms, n_features, mine["normalisation"].iloc[0])
        constants.append(ugape_complexity(bandit.means[0], n_best))
    hard = pd.Series(constants, index=mine.index)
    return (hard > hard.median()).astype(np.float64).where(mine["holds"] == 0.0).to_frame(test["size"])


CHECKS: dict[str, Check] = {
    "gap": Check(gap, {"printed": "any", "n_best": "any"}),
    "table5": Check(table5, {"sigma": "number", "printed": "any"}),
    "order_of_constants": Check(order_of_constants, {"sigma": "number", "epsilon": "number"}),
    "nine_eighths": Check(nine_eighths),
    "no_worse": Check(no_worse, {"sigma": "number", "epsilon": "number", "n_best": "any"}),
}

VALUES: dict[str, Value] = {
    "holds": Value("H(m-LinGapE (2)) at most H(UGapE)"),
    "hard_where_worse": Value(
        "H(UGapE) above its median, where H(m-LinGapE (2)) is larger", hard_where_worse, needs={"size": "series"}
    ),
}
