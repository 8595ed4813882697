"""Laws of batches: determinants of sets, how many arms of a sample M chooses, and distances of chains."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bestarm.designs.k_dpp import greedy_map
from bestarm.designs.k_dpp_mixing import Chain
from bestarm.interface import FloatArray
from bestarm.streams import Streams
from bestarm_lab.figures.styles import DOTS_AND_DASHES, Style
from bestarm_lab.figures.values import QUANTILES, as_values
from bestarm_studies.dpp_bbo.k_dpp_laws import (
    distances,
    log_determinants,
    low_rank,
    mixture_law,
    sample_mixture,
    subset_law,
    transition_matrix,
)

NOISE_STYLES = {
    "σ² = 0.01": Style("#0072B2", "s"),
    "σ² = 0.1": Style("#009E73", "o", "--"),
    "σ² = 1": Style("#C17C00", "^", "-."),
    "σ² = 10": Style("#882255", "D", DOTS_AND_DASHES),
}
STAGE_STYLES = {
    "5 observations": Style("0.0", "o"),
    "25 observations": Style("0.3", "s", "--"),
    "100 observations": Style("0.5", "^", "-."),
}
PROBLEM_STYLES = {
    "draws of the process": Style("#0072B2", "P"),
    "Cosines": Style("#D55E00", "v", "--"),
    "Branin-Hoo": Style("#009E73", "X", "-."),
}


def volume_values(kernel: FloatArray, k: int, streams: Streams, panel: str, profile: str) -> pd.DataFrame:
    """Return quantiles and mean of the log determinant of greedy, exactly sampled and uniform sets of one kernel."""
    n = len(kernel)
    sets = {
        "UCB-DPP-MAX": greedy_map(kernel, k),
        "UCB-DPP-SAMPLE": sample_mixture(low_rank(kernel - np.eye(n)), k, streams),
        "UCB-UNIFORM": sample_mixture(np.zeros((0, n)), k, streams, item=1),  # the k-DPP of I
    }
    table = []
    for label, found in sets.items():
        volumes = log_determinants(kernel, found)
        statistics = {name: float(np.quantile(volumes, q)) for name, q in QUANTILES.items()}
        statistics |= {"largest": float(volumes.max()), "mean": float(volumes.mean())}
        table += [{"series": label, "statistic": s, "value": v, "n": len(found)} for s, v in statistics.items()]
    return as_values(pd.DataFrame(table), panel=panel, profile=profile)


def mixture_values(kernel: FloatArray, k: int, panel: str, series: str, profile: str) -> pd.DataFrame:
    """Return the law of how many of k points M chooses if the kernel is I + M, and its mean, as plotted values."""
    eigenvalues = np.asarray(np.linalg.eigvalsh(kernel) - 1.0, dtype=np.float64)
    law = mixture_law(eigenvalues[eigenvalues > 1e-9 * eigenvalues[-1]], len(kernel), k)
    table = [{"x": j, "statistic": "probability", "value": p} for j, p in enumerate(law)]
    table.append({"x": np.nan, "statistic": "mean", "value": float(np.arange(k + 1) @ law)})
    return as_values(pd.DataFrame(table), panel=panel, series=series, profile=profile)


def chain_values(kernel: FloatArray, k: int, n_steps: Mapping[Chain, int], profile: str) -> pd.DataFrame:
    """Return distances of chains to the k-DPP after each step, from the greedy and from the least likely set."""
    sets, table = subset_law(kernel, k)[0], []
    first = int((sets == np.sort(greedy_map(kernel, k)[0])).all(axis=1).argmax())
    for chain, most in n_steps.items():
        moves, law = transition_matrix(kernel, k, chain)
        for name, start in (("greedy start", first), ("worst start", int(law.argmin()))):
            for t, value in enumerate(distances(moves, law, start, most)):
                table.append({"series": f"{chain}, {name}", "x": t, "value": value})
    return as_values(pd.DataFrame(table), panel="distance", statistic="total variation", profile=profile)
