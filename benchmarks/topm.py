"""Top-m identification: microseconds a pull through `simulate`, against a plain NumPy loop over runs.

The naive loop is what one would write from the paper: one run after another, Sherman and Morrison's update of the
inverse design matrix, the matrix of gap indices by broadcasting. Both run m-LinGapE (greedy) on the instance of
Figure 1(a).
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

from bestarm.policies.linear.gifa import Gifa, LinGifa, Lucb, MLinGape
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import correct
from bestarm_studies.linear_topm.drug_instance import stand_in_drug_instance
from bestarm_studies.linear_topm.instances import classic_instance

REPEATS = 5


def naive_m_lingape(
    bandit: LinearBandit, policy: Gifa, max_pulls: int, rng: np.random.Generator
) -> tuple[set[int], int]:
    """Run m-LinGapE (greedy) once, in feature space, in plain NumPy."""
    x, m = bandit.features, policy.n_best
    n_arms, n_features = x.shape
    means = bandit.means[0]
    inverse, b = np.eye(n_features) / policy.design_regulariser, np.zeros(n_features)
    longest, rho = (x**2).sum(axis=1).max(), policy.design_regulariser
    pulls = list(range(n_arms))
    differences = x[:, None, :] - x[None, :, :]
    t = 0
    while True:
        for arm in pulls:
            v = inverse @ x[arm]
            inverse -= np.outer(v, v) / (1.0 + x[arm] @ v)
            b += x[arm] * (means[arm] + bandit.sigma * rng.standard_normal())
            t += 1
        estimates = x @ (inverse @ b)
        c = np.sqrt(2 * np.log(1 / policy.delta) + n_features * np.log1p((t + 1) * longest / (rho * n_features)))
        c += np.sqrt(rho) * policy.norm_bound / bandit.sigma
        widths = np.sqrt(np.einsum("ijn,nk,ijk->ij", differences, inverse, differences))
        index = estimates[:, None] - estimates[None, :] + c * bandit.sigma * widths
        order = np.argsort(-estimates)
        inside, outside = order[:m], order[m:]
        block = index[np.ix_(outside, inside)]
        i, j = np.unravel_index(block.argmax(), block.shape)
        if block[i, j] <= policy.epsilon or t >= max_pulls:
            return set(inside.tolist()), t
        gap = x[inside[j]] - x[outside[i]]
        reach = x @ inverse
        pulls = [int(np.argmax((reach @ gap) ** 2 / (1.0 + (reach * x).sum(axis=1))))]


def _seconds_per_pull(policy: Gifa, bandit: LinearBandit, n_replications: int, max_pulls: int) -> float:
    streams = Streams.first(n_replications)
    began = time.perf_counter()
    rows = simulate(policy, bandit, streams, metrics={"correct": correct}, max_pulls=max_pulls)
    return (time.perf_counter() - began) / rows["pulls"].sum()


def against_the_naive_loop() -> pd.DataFrame:
    """Return microseconds a pull of both for 1, 50 and 500 replications: interleaved medians, and their ratio."""
    bandit, policy = classic_instance(4, 2, np.pi / 6), MLinGape(2)
    _seconds_per_pull(policy, bandit, 2, 50)  # compile
    lines = []
    for n_replications in (1, 50, 500):
        ours, naive = [], []
        for repeat in range(REPEATS):
            ours.append(_seconds_per_pull(policy, bandit, n_replications, 10_000_000))
            began = time.perf_counter()
            _, pulls = naive_m_lingape(bandit, policy, 10_000_000, np.random.default_rng(repeat))
            naive.append((time.perf_counter() - began) / pulls)
        a, b = 1e6 * np.median(ours), 1e6 * np.median(naive)
        lines.append({"replications": n_replications, "ours (us a pull)": a, "naive (us a pull)": b, "ratio": b / a})
    return pd.DataFrame(lines)


def growth() -> pd.DataFrame:
    """Return microseconds a pull at R = 500 on the classic instance (K = 4) and on one with K = 10, N = 71."""
    lines = []
    instances = {
        "K = 4, N = 3": (classic_instance(4, 2, np.pi / 6), 2),
        "K = 10, N = 71": (stand_in_drug_instance(), 5),
    }
    for name, (bandit, m) in instances.items():
        for policy in (MLinGape(m), MLinGape(m, selection="optimised"), LinGifa(m), Lucb(m)):
            _seconds_per_pull(policy, bandit, 2, 50)
            seconds = np.median([_seconds_per_pull(policy, bandit, 500, 1500) for _ in range(3)])
            lines.append(
                {"instance": name, "policy": f"{policy.label} ({policy.selection})", "us a pull": 1e6 * seconds}
            )
    return pd.DataFrame(lines)


def main() -> None:
    """Print both tables."""
    print("m-LinGapE (greedy), K = 4, one core\n")
    print(against_the_naive_loop().round(2).to_string(index=False))
    print("\nBy policy and size, 500 replications, one core\n")
    print(growth().round(2).to_string(index=False))
