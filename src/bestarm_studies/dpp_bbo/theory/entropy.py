r"""Theorem 3.4: entropies of k-DPPs, on sets small enough to enumerate and in runs, and the bracket of its bound."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln, logsumexp

from bestarm.designs.k_dpp import greedy_map
from bestarm.designs.k_dpp_exact import log_elementary
from bestarm.interface import FloatArray
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.gp_state import BatchGPState
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.observed import watched
from bestarm_lab.figures.values import as_values, summarise
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms, Maker
from bestarm_studies.dpp_bbo.gp_draws import BLOCK, batch_kernel
from bestarm_studies.dpp_bbo.k_dpp_laws import log_determinants, subset_law
from bestarm_studies.dpp_bbo.moments import dpp_kernel, hallucinated, relevance_regions
from bestarm_studies.dpp_bbo.theory.information import (
    BATCH,
    DELTA,
    N_ARMS,
    NOISE,
    draw_information,
    per_information,
    ucb_beta,
)
from bestarm_studies.dpp_bbo.values import ROUNDING


def log_binomial(n: Any, k: Any) -> Any:
    """Return the logarithm of the number of sets of size k out of n."""
    return gammaln(np.asarray(n) + 1.0) - gammaln(np.asarray(k) + 1.0) - gammaln(np.asarray(n) - k + 1.0)


def three_points(noise: float, spacing: float, lengthscale: float, known: float) -> pd.DataFrame:
    """Return the determinants of the pairs of three points on a line, and which pair is greedy.
    The points are at ``-spacing, 0, spacing``; arms at plus and minus ``known`` were observed, so that the middle one
    has the largest variance and is taken first."""
    x, seen = np.array([-spacing, 0.0, spacing]), np.array([-known, known])

    def kernel(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-0.5 * ((a[:, None] - b[None]) / lengthscale) ** 2))

    own = kernel(seen, seen) + noise * np.eye(2)
    left = np.eye(3) + (kernel(x, x) - kernel(x, seen) @ np.linalg.solve(own, kernel(seen, x))) / noise
    determinants = np.array([np.linalg.det(left[np.ix_(p, p)]) for p in [(0, 1), (1, 2), (0, 2)]])
    names = ["left and middle (greedy)", "middle and right (greedy)", "both ends"]
    law = determinants / determinants.sum()
    return pd.DataFrame({"pair": names, "log det": np.log(determinants), "probability": law})


def set_rows(
    replications: int, sizes: Sequence[tuple[int, int]], noises: Sequence[float], *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return the entropy of small k-DPPs by enumeration, with what Theorem 3.4 makes of it.
    ``expected``, :math:`E\log\det L_S`; ``entropy``, H; ``log_sets``, :math:`\log\binom nk`; ``greedy`` and
    ``largest``, log determinants of these sets; ``identity``, the error of :math:`E\log\det L_S=-H+\log Z`; ``sums``,
    the largest error of :math:`\log Z` by :math:`e_k(\lambda(L))` and by :math:`\sum_je_j(M)\binom{n-j}{k-j}`."""
    lines = []
    for noise in noises:
        for item in range(replications):
            for n, k in sizes:
                kernel = batch_kernel(n, noise, seed, item)
                sets, law = subset_law(kernel, k)
                logs = log_determinants(kernel, sets)
                log_z, entropy = float(logsumexp(logs)), float(-(law * np.log(law)).sum())
                values = np.maximum(np.linalg.eigvalsh(kernel), 1.0)
                j = np.arange(k + 1)
                mixed = float(logsumexp(log_elementary(values - 1.0, k) + log_binomial(n - j, k - j)))
                lines.append(
                    {
                        "series": f"noise variance {noise:g}",
                        "replication": item,
                        "points": n,
                        "k": k,
                        "expected": float(law @ logs),
                        "entropy": entropy,
                        "log_sets": float(log_binomial(n, k)),
                        "greedy": float(log_determinants(kernel, greedy_map(kernel, k)[0])),
                        "largest": float(logs.max()),
                        "identity": abs(float(law @ logs) + entropy - log_z),
                        "sums": max(abs(float(log_elementary(values, k)[k]) - log_z), abs(mixed - log_z)),
                    }
                )
    return pd.DataFrame(lines).assign(convention="as_written")


def entropy_rows(
    policy: BatchGP, problem: Maker, replications: int, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    """Return the terms of Theorem 3.4 in every batch of a search that samples its batches.
    ``log_z`` is by the kernel's eigenvalues, ``log_det`` of the sampled set: ``log_z - log_det`` has the mean H."""
    k = policy.batch - 1

    def look(state: BatchGPState, part: CandidateArms) -> list[dict[str, Any]] | None:
        batch = hallucinated(state)
        if not batch:
            return None
        inside, best, lines = relevance_regions(policy, state), part.means.max(axis=1), []
        for r, replication in enumerate(state.replications):
            region = np.flatnonzero(inside[r])
            kernel = dpp_kernel(state, r, region)
            log_z = greedy = np.nan
            if len(region) >= k:
                log_z = float(log_elementary(np.maximum(np.linalg.eigvalsh(kernel), 1.0), k)[k])
                greedy = float(log_determinants(kernel, greedy_map(kernel, k)[0]))
            arms = state.conditioned[r, batch.start : batch.stop]
            lines.append(
                {
                    "replication": int(replication),
                    "batch": state.round,
                    "region": len(region),
                    "log_z": log_z,
                    "log_det": float(state.log[r, 4]),
                    "greedy": greedy,
                    "first": float(2.0 * np.log(state.pivots[r, batch.start]) - np.log(state.noise[r])),
                    "regret": float((best[r] - part.means[r, arms]).sum()),
                }
            )
        return lines

    functions = problem(replications=replications)
    seen = watched(policy, functions, look, replications, seed=seed, block=BLOCK)
    return seen.assign(convention="as_written", series=policy.label)


def entropy_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    r"""Return the terms of Theorem 3.4's bracket after 1, ..., T batches, and the bracket as printed and as proved.
    H is the mean of :math:`\log Z-\log\det L_S` over runs. As printed :math:`B\log|X|` is added once, in the proof
    :math:`(B-1)\log|X|` for every batch."""
    runs = rows.assign(entropy=rows["log_z"] - rows["log_det"]).fillna({"entropy": 0.0})
    sums = runs.pivot(index="replication", columns="batch", values="entropy").cumsum(axis=1)
    batches = sums.columns.to_numpy()
    information, entropy = draw_information(BATCH * int(batches[-1]))[BATCH * batches - 1], sums.mean().to_numpy()
    log_arms = np.log(N_ARMS)
    lines = {
        "information γ": information,
        "sum of entropies": entropy,
        "bracket as printed": information - entropy + BATCH * log_arms,
        "bracket as proved": information - entropy + batches * (BATCH - 1) * log_arms,
    }
    table, n = pd.DataFrame(lines | {"x": batches}).melt("x", var_name="series"), runs["replication"].nunique()
    return as_values(table, panel="Theorem 3.4", statistic="mean", n=n, profile=profile)


def printed_bounds(rows: pd.DataFrame) -> pd.DataFrame:
    """Return ``batch, regret, squared_bound``: mean regret so far, Theorem 3.4 as printed, which can be negative."""
    values = entropy_values(rows, "").set_index(["series", "x"])["value"]
    regret = rows.pivot(index="replication", columns="batch", values="regret").cumsum(axis=1).mean()
    batches = regret.index.to_numpy()
    factor = 2.0 * BATCH * batches * per_information(36.0, NOISE) * ucb_beta(N_ARMS, batches, DELTA)
    bracket = values["bracket as printed"].to_numpy()
    return pd.DataFrame({"batch": batches, "regret": regret.to_numpy(), "squared_bound": factor * bracket})


def set_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return what enumeration finds of small k-DPPs, by noise and size, averaged over kernels."""
    runs = rows.assign(
        slack=rows["k"] * np.log(rows["points"]) - rows["entropy"],
        short=(rows["greedy"] < rows["largest"] - 1e-9).astype(float),
        above=(rows["expected"] > rows["greedy"]).astype(float),
    )
    names = {
        "E log det": "expected",
        "H": "entropy",
        "log of the number of sets": "log_sets",
        "log det, greedy": "greedy",
        "log det, largest": "largest",
        "k log n - H": "slack",
        "greedy not largest": "short",
        "E above greedy": "above",
    }
    statistics: dict[str, tuple[str, str | float]] = {name: (column, "mean") for name, column in names.items()}
    return summarise(runs, statistics, panel="n = {points}, k = {k}", profile=profile)


def enumeration(test: Test, rows: Rows) -> Decision:
    """Check by enumeration that E log det = -H + log Z, that H is in [0, log n choose k], and three forms of Z."""
    frame = rows[test["experiments"][0]]
    error = float(frame[["identity", "sums"]].max().max())
    inside = bool(frame["entropy"].between(0.0, frame["log_sets"] + ROUNDING).all())
    below = bool((frame["expected"] <= frame["largest"] + ROUNDING).all())
    text = f"{len(frame)} k-DPPs, identities to {error:.0e}"
    return Decision(error < ROUNDING and inside and below, text, checked=f"{len(frame)} k-DPPs")


def entropy_form(test: Test, rows: Rows) -> Decision:
    """Check whether Theorem 3.4's form -H + k log n + max log det is ever below the largest log det itself."""
    frame = rows[test["experiments"][0]]
    more = frame["k"] * np.log(frame["points"]) - frame["entropy"]
    text = f"larger by {more.min():.2f} to {more.max():.2f} nats in {int((more > 0).sum())} of {len(frame)} k-DPPs"
    return Decision(bool((more <= 0).all()), text)


def mean_below_greedy(test: Test, rows: Rows) -> Decision:
    """Check by enumeration that the mean log determinant of samples is at most that of the set which MAX takes."""
    frame = rows[test["experiments"][0]]
    short = frame["greedy"] - frame["expected"]
    text = f"the mean is above the greedy set in {int((short < -ROUNDING).sum())} of {len(frame)} k-DPPs, "
    text += f"{short.min():.2g} to {short.max():.2g} nats below it"
    return Decision(bool((short >= -ROUNDING).all()), text, len(frame) > 0, checked=f"{len(frame)} k-DPPs")


def sample_bound(test: Test, rows: Rows) -> Decision:
    """Check Theorem 3.4 as printed: the square of the mean regret of T batches against its bound, for every T."""
    table = printed_bounds(rows[test["experiments"][0]])
    beyond = table[table["regret"] ** 2 > table["squared_bound"]]
    if beyond.empty:
        return Decision(True, f"within for T = 1 to {len(table)}")
    last = table.iloc[-1]
    text = f"exceeded from T = {int(beyond['batch'].min())} on; at T = {int(last['batch'])} the bound on the squared "
    text += f"regret is {last['squared_bound']:.3g}, the square {last['regret'] ** 2:.3g}"
    return Decision(False, text)


CHECKS = {
    "entropy_form": Check(entropy_form),
    "enumeration": Check(enumeration),
    "mean_below_greedy": Check(mean_below_greedy),
    "sample_bound": Check(sample_bound),
}
