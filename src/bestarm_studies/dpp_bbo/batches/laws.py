"""Laws of batches: determinants of sets, how many arms of a sample M chooses, distances of chains, pure exploration."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm.designs.k_dpp import greedy_map
from bestarm.designs.k_dpp_mixing import Chain
from bestarm.interface import FloatArray
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.gp_state import BatchGPState
from bestarm.streams import Streams
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.observed import watched
from bestarm_lab.figures.styles import DOTS_AND_DASHES, Style
from bestarm_lab.figures.values import QUANTILES, as_values
from bestarm_studies.dpp_bbo import k_dpp_laws
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms, Maker
from bestarm_studies.dpp_bbo.moments import dpp_kernel, hallucinated, relevance_regions
from bestarm_studies.dpp_bbo.values import ROUNDING

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
        "UCB-DPP-SAMPLE": k_dpp_laws.sample_mixture(k_dpp_laws.low_rank(kernel - np.eye(n)), k, streams),
        "UCB-UNIFORM": k_dpp_laws.sample_mixture(np.zeros((0, n)), k, streams, item=1),  # the k-DPP of I
    }
    table = []
    for label, found in sets.items():
        volumes = k_dpp_laws.log_determinants(kernel, found)
        statistics = {name: float(np.quantile(volumes, q)) for name, q in QUANTILES.items()}
        statistics |= {"largest": float(volumes.max()), "mean": float(volumes.mean())}
        table += [{"series": label, "statistic": s, "value": v, "n": len(found)} for s, v in statistics.items()]
    return as_values(pd.DataFrame(table), panel=panel, profile=profile)


def mixture_values(kernel: FloatArray, k: int, panel: str, series: str, profile: str) -> pd.DataFrame:
    """Return the law of how many of k points M chooses if the kernel is I + M, and its mean, as plotted values."""
    eigenvalues = np.asarray(np.linalg.eigvalsh(kernel) - 1.0, dtype=np.float64)
    law = k_dpp_laws.mixture_law(eigenvalues[eigenvalues > 1e-9 * eigenvalues[-1]], len(kernel), k)
    table = [{"x": j, "statistic": "probability", "value": p} for j, p in enumerate(law)]
    table.append({"x": np.nan, "statistic": "mean", "value": float(np.arange(k + 1) @ law)})
    return as_values(pd.DataFrame(table), panel=panel, series=series, profile=profile)


def chain_values(kernel: FloatArray, k: int, n_steps: Mapping[Chain, int], profile: str) -> pd.DataFrame:
    """Return distances of chains to the k-DPP after each step, from the greedy and from the least likely set."""
    sets, table = k_dpp_laws.subset_law(kernel, k)[0], []
    first = int((sets == np.sort(greedy_map(kernel, k)[0])).all(axis=1).argmax())
    for chain, most in n_steps.items():
        moves, law = k_dpp_laws.transition_matrix(kernel, k, chain)
        for name, start in (("greedy start", first), ("worst start", int(law.argmin()))):
            for t, value in enumerate(k_dpp_laws.distances(moves, law, start, most)):
                table.append({"series": f"{chain}, {name}", "x": t, "value": value})
    return as_values(pd.DataFrame(table), panel="distance", statistic="total variation", profile=profile)


def exploration_rows(
    policy: BatchGP, problem: Maker, replications: int, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return, for each batch of pure exploration, whether its arms are those of greedy maximisation.
    The DPP kernel is formed from the prior, and has :math:`1+\sigma_{t-1}^2/\sigma^2` as the gain of an arm.
    ``repeats``: an arm is asked for twice, as a subset cannot be."""

    def look(state: BatchGPState, part: CandidateArms) -> list[dict[str, Any]] | None:
        batch, lines = hallucinated(state), []
        if not batch:
            return None
        first, last = batch.start, batch.stop
        inside = relevance_regions(policy, state)
        for r, replication in enumerate(state.replications):
            region, arms = np.flatnonzero(inside[r]), state.conditioned[r, first + 1 : last]
            line = {"replication": int(replication), "batch": state.round, "gain_error": np.nan, "beyond": np.nan}
            lines.append(line | {"repeats": len(set(arms)) < len(arms)})
            if lines[-1]["repeats"]:
                continue
            kernel, places = dpp_kernel(state, r, region), np.searchsorted(region, arms)
            gains, taken = np.diagonal(kernel).copy(), np.zeros((0, len(region)))
            errors, beyond = [], []
            for b, place in enumerate(places):
                gain = state.pivots[r, first + 1 + b] ** 2 / state.noise[r]
                errors.append(abs(gains[place] / gain - 1.0))
                beyond.append(float(np.delete(gains, places[:b]).max() / gain - 1.0))
                row = (kernel[place] - taken[:, place] @ taken) / np.sqrt(gains[place])
                taken, gains = np.vstack([taken, row]), gains - row**2
            lines[-1] |= {"gain_error": max(errors), "beyond": max(beyond)}
        return lines

    return watched(policy, problem(replications=replications), look, replications, seed=seed)


def exploration_is_greedy(test: Test, rows: Rows) -> Decision:
    """Check that every arm of pure exploration has the largest gain in determinant, as greedy maximisation takes it.
    Each gain must be 1 + variance / noise, and the largest of the region's arms that are not in the batch yet."""
    (name,) = test["experiments"]
    repeats = rows[name]["repeats"].to_numpy(dtype=np.bool_)
    mine = rows[name][~repeats]
    beyond, largest = max(0.0, float(mine["beyond"].max())), float(mine["gain_error"].max())
    text = f"{len(mine)} batches: no arm has a gain larger by more than {beyond:.0e}, gains are 1 + variance / noise "
    text += f"to {largest:.0e}; {repeats.sum()} more batches in which exploration repeats an arm, as a subset cannot"
    return Decision(max(beyond, largest) < ROUNDING, text, informative=len(mine) > 0, checked=f"{len(mine)} batches")
