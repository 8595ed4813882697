r"""The DPP-BBO paper's statements on k-DPPs, on sets small enough to enumerate, and what one sample costs.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Sections 2.2 and 3.3, appendix.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bestarm.designs.k_dpp import greedy_map, log_determinants, subset_law
from bestarm.designs.k_dpp_chains import sample_chain
from bestarm.designs.k_dpp_exact import log_elementary, sample_exact
from bestarm.designs.k_dpp_mixing import (
    Chain,
    down_up_steps,
    exchange_steps,
    greedy_deficit,
    transition_matrix,
)
from bestarm.interface import FloatArray
from bestarm.streams import Streams
from bestarm_studies.dpp_bbo.gp_draws import kernel_matrix
from bestarm_studies.dpp_bbo.theory import log_binomial

_CHAIN_NAMES = {"down-up": "down-up chain", "exchange": "exchange chain"}


def batch_kernel(n: int, noise: float, seed: int, item: int, lengthscale: float = 0.3, n_known: int = 3) -> FloatArray:
    """Return the DPP kernel I + K / noise of random points in the plane, of which a few neighbours were observed."""
    x = np.random.default_rng([seed, item, n]).random((n + n_known, 2))
    prior = kernel_matrix(x, lengthscale)
    cross, own = prior[n:, :n], prior[n:, n:] + noise * np.eye(n_known)
    return np.asarray(np.eye(n) + (prior[:n, :n] - cross.T @ np.linalg.solve(own, cross)) / noise)


def set_rows(
    replications: int, sizes: Sequence[tuple[int, int]], noises: Sequence[float], *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return the entropy of small k-DPPs by enumeration, with what Theorem 3.4 makes of it.

    Parameters
    ----------
    replications : int
        Kernels of each kind.
    sizes : sequence of (n, k)
        Points, and points of a set.
    noises : sequence of float
        Noise variances.

    Returns
    -------
    DataFrame
        ``convention, series, replication, points, k``; ``expected``, :math:`E\log\det L_S`; ``entropy``, H;
        ``log_sets``, :math:`\log\binom nk`; ``greedy`` and ``largest``, log determinants of these sets; ``identity``,
        the error of :math:`E\log\det L_S=-H+\log Z`; ``sums``, the largest error of :math:`\log Z` by
        :math:`e_k(\lambda(L))` and by :math:`\sum_je_j(M)\binom{n-j}{k-j}`.
    """
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


def chain_rows(
    replications: int, n: int, ks: Sequence[int], noise: float, n_steps: int, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return how far both chains are from their k-DPP after every number of steps, by transition matrices.

    Parameters
    ----------
    replications : int
        Kernels.
    n : int
        Points.
    ks : sequence of int
        Points of a set.
    noise : float
        Noise variance.
    n_steps : int
        Steps that are followed.

    Returns
    -------
    DataFrame
        ``convention, series`` (the chain), ``replication, k, step``; ``from_greedy`` and ``from_worst``, distances in
        total variation; ``stated``, steps that suffice for 0.01 from the greedy set by the bounds of
        `bestarm.designs.k_dpp_mixing`; ``stationary``, the largest entry of :math:`\pi P-\pi`.
    """
    frames = []
    for item in range(replications):
        kernel = batch_kernel(n, noise, seed, item)
        for k in ks:
            deficit = greedy_deficit(n, k)
            stated = {"down-up": down_up_steps(deficit, k, 0.01), "exchange": exchange_steps(deficit, n, k, 0.01)}
            greedy = np.sort(greedy_map(kernel, k)[0])
            for chain in get_args(Chain):
                moves, law = transition_matrix(kernel, k, chain)
                start = int(np.flatnonzero((subset_law(kernel, k)[0] == greedy).all(axis=1))[0])
                after, away = np.eye(len(law)), np.empty((n_steps + 1, 2))
                for t in range(n_steps + 1):
                    distance = 0.5 * np.abs(after - law).sum(axis=1)
                    away[t] = distance[start], distance.max()
                    after = after @ moves
                frames.append(
                    pd.DataFrame(
                        {
                            "series": _CHAIN_NAMES[chain],
                            "replication": item,
                            "k": k,
                            "step": np.arange(n_steps + 1),
                            "from_greedy": away[:, 0],
                            "from_worst": away[:, 1],
                            "stated": stated[chain],
                            "stationary": float(np.abs(law @ moves - law).max()),
                        }
                    )
                )
    return pd.concat(frames, ignore_index=True).assign(convention="as_written")


def sampling_times(
    replications: int, sizes: Sequence[int], ks: Sequence[int], noise: float, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return the processor seconds of one sample of a k-DPP whose kernel is given, whatever ``workers``.

    Exactly by eigen-decomposition, and by both chains from the greedy set with as many steps as their bounds ask for
    at a distance of 0.01. Each is timed on other points in every replication, after one that compiles.

    Parameters
    ----------
    replications : int
        Repeats.
    sizes, ks : sequence of int
        n and k.
    noise : float
        Noise variance.

    Returns
    -------
    DataFrame
        ``convention, series, replication, points, k, seconds``.
    """
    samplers: dict[str, Callable[..., Any]] = {
        "exact": sample_exact,
        "exchange chain": sample_chain,
        "down-up chain": sample_chain,
    }
    given = {"exchange chain": {"chain": "exchange"}, "down-up chain": {"chain": "down-up"}}
    lines = []
    for n in (16, *sizes):
        for item in range(1 if n == 16 else replications):
            kernel = batch_kernel(n, noise, seed, item)
            streams = Streams(seed, "times", np.array([item]))
            for k in ks:
                for series, sampler in samplers.items():
                    began = time.process_time()
                    sampler(kernel, k, streams, **given.get(series, {}))
                    seconds = time.process_time() - began
                    lines.append({"series": series, "replication": item, "points": n, "k": k, "seconds": seconds})
    rows = pd.DataFrame(lines)
    return rows[rows["points"] > 16].reset_index(drop=True).assign(convention="as_written")
