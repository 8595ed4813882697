"""What decides the claims on the drug simulator (Appendix B of the Top-m paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm.reporting.claim_tests import Comparison, one_sided
from bestarm.reporting.summaries import mean_interval
from bestarm_studies.linear_topm.drug.data import DrugData, anti_epileptic, published_drug_data
from bestarm_studies.linear_topm.drug.log_check import linear_misfit
from bestarm_studies.linear_topm.drug.simulator import hit_ratio
from bestarm_studies.linear_topm.drug.values import hit_ratios


def recorded_hit_ratios(paper: str, test: Mapping[str, Any]) -> tuple[bool, str]:
    """Decide whether the recorded scores rank better than the baseline at every rank that the test names."""
    return _recorded(published_drug_data(), test)


def _recorded(data: DrugData, test: Mapping[str, Any]) -> tuple[bool, str]:
    positive, texts, holds = anti_epileptic(data.drugs), [], True
    means, baselines = data.rewards.mean(axis=0), data.baselines()
    for rank in test["ranks"]:
        ours, theirs = float(hit_ratio(means, positive, rank)), float(hit_ratio(baselines, positive, rank))
        holds &= ours > theirs
        texts.append(f"HR@{rank}: {ours:.2f}, baseline {theirs:.2f}")
    return holds, "recorded table: " + "; ".join(texts)


def drug_misfit(paper: str, test: Mapping[str, Any]) -> tuple[bool, str]:
    """Decide whether the drugs' mean rewards are as far from linear in their features as printed."""
    return _misfit(published_drug_data(), test)


def _misfit(data: DrugData, test: Mapping[str, Any]) -> tuple[bool, str]:
    rank, misfit = linear_misfit(data)
    size = "below 1e-9" if misfit < 1e-9 else f"{misfit:.3g}"
    text = f"features of {len(data.drugs)} drugs have rank {rank}; least squares misses the means by {size}"
    return bool(round(misfit, 1) == test["printed"]), f"{text} (printed {test['printed']})"


def simulated_hit_ratios(test: Mapping[str, Any], rows: Mapping[str, pd.DataFrame]) -> list[Comparison]:
    """Compare the mean hit ratio of a simulated table with that of the baseline, or with what Figure 5 prints.

    Parameters
    ----------
    test : mapping
        ``experiment: name``, and ``ranks: [...]`` (above the baseline), or ``printed: {rank: ratio}`` with
        ``margin`` (two one-sided t-tests).
    rows : mapping of str to DataFrame
        See `bestarm_studies.linear_topm.drug.tables.reward_rows_of`; one table is one replication.
    """
    frame = rows[test["experiment"]]
    ten = frame[frame["in_paper"]]
    drugs = ten.drop_duplicates("series")
    printed = test.get("printed", {})
    found = []
    for rank in printed or test["ranks"]:
        ratios = hit_ratios(ten, [rank])[:, 0]
        if printed:
            reference, margin, name = float(printed[rank]), test["margin"], f"HR@{rank}, minus the printed"
        else:
            baseline = hit_ratio(drugs["baseline"].to_numpy(), (drugs["label"] > 0).to_numpy(), rank)
            reference, margin, name = float(baseline), None, f"HR@{rank}, minus the baseline's"
        found.append(_compare(ratios - reference, margin, f"{name} {reference:.2f}"))
    return found


def _compare(differences: np.ndarray, margin: float | None, name: str) -> Comparison:
    """Test that a mean is positive, or with a margin that it lies within it."""
    n, mean = len(differences), float(differences.mean())
    error = float(differences.std(ddof=1) / np.sqrt(n))
    low, high = mean_interval(pd.Series(differences))[1:]
    if margin is None:
        p_opposite, p = one_sided(mean, error, n)
        return Comparison(name, mean, low, high, p, p_opposite, n)
    below, above_low = one_sided(mean + margin, error, n)
    below_high, above = one_sided(mean - margin, error, n)
    return Comparison(name, mean, low, high, max(above_low, below_high), min(1.0, 2.0 * min(below, above)), n)
