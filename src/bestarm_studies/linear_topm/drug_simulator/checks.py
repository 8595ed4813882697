"""Checks and values of the drug simulator."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Rows, Test, Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.datasets.registry import fetch
from bestarm_objectives.drug.data import DrugData, published_drug_data
from bestarm_objectives.drug.rein_model import Observation, read_observations
from bestarm_objectives.drug.simulator import hit_ratio
from bestarm_studies.linear_topm.drug_simulator.log_check import linear_misfit
from bestarm_studies.linear_topm.drug_simulator.values import hit_ratios


def observed_values(test: Test) -> Decision:
    """Count the genes with an initial or a final value in every experiment behind the network."""
    return counted(read_observations(fetch("epilepsy-network-observations")), test)


def counted(observations: Sequence[Observation], test: Test) -> Decision:
    """Return the decision of `observed_values` on some experiments."""
    counts = [len(getattr(observation, test["of"])) for observation in observations]
    most = test["within"] * test["printed"]
    holds = all(abs(n - test["printed"]) <= most for n in counts)
    told = ", ".join(f"{o.knocked_down[0]}: {n}" for o, n in zip(observations, counts, strict=True))
    return Decision(holds, f"{told} (printed {test['printed']})")


def recorded_hit_ratios(test: Test, rows: Rows) -> Decision:
    """Compare the hit ratios of the recorded scores with those of the baseline at every rank that the test names.
    Where the drugs are listed by these very scores they were chosen by the result, and the comparison tells nothing."""
    frame = rows["drug_simulator"]
    ten = frame[frame["in_paper"] & (frame["convention"] == "as_coded")]
    holds, texts = True, []
    for rank in test["ranks"]:
        ours, theirs = float(hit_ratios(ten, [rank])[0, 0]), _baseline(ten, rank)
        holds &= ours > theirs
        texts.append(f"HR@{rank}: {ours:.2f}, baseline {theirs:.2f}")
    chosen = _listed_by_score(ten)
    note = "; the ten drugs are listed by these scores" if chosen else ""
    return Decision(holds, "recorded table: " + "; ".join(texts) + note, informative=not chosen)


def _listed_by_score(drugs: pd.DataFrame) -> bool:
    """Return whether anti-epileptic drugs are listed from the best mean score down, and pro-convulsant ones up."""
    means = drugs.groupby("series", sort=False, observed=True)[["reward", "label"]].mean()
    good, bad = means[means["label"] > 0]["reward"], means[means["label"] < 0]["reward"]
    return bool(good.is_monotonic_decreasing and bad.is_monotonic_increasing)


def drug_misfit(test: Test) -> Decision:
    """Compare how far the drugs' mean rewards are from linear in their features with the printed digit."""
    return misfit_of(published_drug_data(), test)


def misfit_of(data: DrugData, test: Test) -> Decision:
    """Return the decision of `drug_misfit` on some data."""
    rank, misfit = linear_misfit(data)
    size = "below 1e-9" if misfit < 1e-9 else f"{misfit:.3g}"
    text = f"features of {len(data.drugs)} drugs have rank {rank}; least squares misses the means by {size}"
    return Decision(bool(round(misfit, 1) == test["printed"]), f"{text} (printed {test['printed']})")


def _baseline(ten: pd.DataFrame, rank: int) -> float:
    drugs = ten.drop_duplicates("series")
    return float(hit_ratio(drugs["baseline"].to_numpy(), (drugs["label"] > 0).to_numpy(), rank))


def _above(ten: pd.DataFrame, references: Mapping[int, float], name: str) -> pd.DataFrame:
    """Return the hit ratio of each table (rows) at each rank (columns), minus a reference."""
    found = hit_ratios(ten, list(references)) - np.array(list(references.values()))
    columns = [f"HR@{rank}, minus the {name} {value:.2f}" for rank, value in references.items()]
    return pd.DataFrame(found, columns=columns)


def hit_ratio_over_baseline(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return the hit ratios of simulated tables on the paper's ten drugs, minus those of the baseline."""
    ten = rows[rows["in_paper"]]
    return _above(ten, {rank: _baseline(ten, rank) for rank in test["ranks"]}, "baseline's")


def hit_ratio_over_printed(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return the hit ratios of simulated tables on the paper's ten drugs, minus those that Figure 5 prints."""
    return _above(rows[rows["in_paper"]], test["figure_5"], "printed")


CHECKS: dict[str, Check] = {
    "observed_values": Check(observed_values, {"of": "column", "printed": "number", "within": "number"}),
    "drug_misfit": Check(drug_misfit, {"printed": "number"}),
    "recorded_hit_ratios": Check(recorded_hit_ratios, {"ranks": "numbers"}),
}
VALUES: dict[str, Value] = {
    "hit_ratio_over_baseline": Value(
        "hit ratio minus that of the baseline", hit_ratio_over_baseline, needs={"ranks": "numbers"}
    ),
    "hit_ratio_over_printed": Value(
        "hit ratio minus the printed one", hit_ratio_over_printed, needs={"figure_5": "any"}
    ),
}
