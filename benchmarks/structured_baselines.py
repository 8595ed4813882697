"""Baselines with a fixed budget: microseconds a pull through `simulate`, against plain NumPy loops over runs.

The naive loops are what one would write from the papers: one run after another, in feature space, Sherman and
Morrison's update of the inverse design; the maximum likelihood estimate by Newton's method on the counts of the arms.
Arms are random unit vectors in ten dimensions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import Ask, FloatArray, IntArray
from bestarm.policies.linear.bayes_gap import BayesGap
from bestarm.policies.linear.budgeted import lingape_greedy
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.policies.linear.ucb_glm import UcbGlm
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import correct

REPEATS = 3
N_FEATURES = 10
Rewards = Callable[[int], float]


class SignBandit(LinearBandit):
    """Rewards 0 and 1, the signs of Gaussian ones, for single pulls."""

    def rewards(self, asked: Ask, pulled: IntArray, streams: Streams) -> FloatArray:
        """Return 1 for a positive reward."""
        return (super().rewards(asked, pulled, streams) > 0.0).astype(np.float64) * asked.counts


def _update(inverse: FloatArray, b: FloatArray, x: FloatArray, reward: float) -> None:
    v = inverse @ x
    inverse -= np.outer(v, v) / (1.0 + x @ v)
    b += x * reward


def naive_lin_ucb(x: FloatArray, reward: Rewards, budget: int) -> int:
    """Run LinUCB once; return the most pulled arm."""
    inverse, b, pulls = np.eye(x.shape[1]), np.zeros(x.shape[1]), np.zeros(len(x), dtype=np.int64)
    for _ in range(budget):
        reach = x @ inverse
        arm = int(np.argmax(reach @ b + np.sqrt((reach * x).sum(axis=1))))
        _update(inverse, b, x[arm], reward(arm))
        pulls[arm] += 1
    return int(np.argmax(pulls))


def naive_bayes_gap(x: FloatArray, reward: Rewards, budget: int) -> int:
    """Run BayesGap once, with the linear kernel; noise and prior of scale 1."""
    inverse, b = np.eye(x.shape[1]), np.zeros(x.shape[1])
    information = budget - len(x) + (1.0 / (x**2).sum(axis=1)).sum()
    answer, least = 0, np.inf
    for _ in range(budget):
        reach = x @ inverse
        means, s = reach @ b, np.sqrt((reach * x).sum(axis=1))

        def others(values: FloatArray) -> FloatArray:
            order = np.argsort(values)
            largest = np.full(len(values), values[order[-1]])
            largest[order[-1]] = values[order[-2]]
            return largest

        gaps = np.abs(others(means + 3 * s) - (means - 3 * s))
        beta = np.sqrt(max(information, 0.0) / (4.0 * (np.maximum(gaps / 2, 1e-6) ** -2).sum()))
        upper = means + beta * s
        bounds = others(upper) - (means - beta * s)
        best = int(np.argmin(bounds))
        if bounds[best] < least:
            answer, least = best, bounds[best]
        upper[best] = -np.inf
        rival = int(np.argmax(upper))
        arm = best if s[best] >= s[rival] else rival
        _update(inverse, b, x[arm], reward(arm))
    return answer


def naive_lingape(x: FloatArray, reward: Rewards, budget: int) -> int:
    """Run LinGapE (greedy) once, to the end of the budget."""
    d = x.shape[1]
    inverse, b, log_volume = np.eye(d), np.zeros(d), 0.0
    for t in range(budget):
        arm = t
        if t >= len(x):
            reach = x @ inverse
            means, squared = reach @ b, (reach * x).sum(axis=1)
            best = int(np.argmax(means))
            widths = np.sqrt(np.maximum(squared + squared[best] - 2 * reach @ x[best], 0.0))
            radius = np.sqrt(2 * np.log(len(x) ** 2 / 0.4) + log_volume) + 1.0
            bound = means - means[best] + radius * widths
            bound[best] = -np.inf
            gap = x[best] - x[int(np.argmax(bound))]
            arm = int(np.argmax((reach @ gap) ** 2 / (1.0 + squared)))
        log_volume += np.log1p(x[arm] @ inverse @ x[arm])
        _update(inverse, b, x[arm], reward(arm))
    return int(np.argmax(x @ (inverse @ b)))


def naive_ucb_glm(x: FloatArray, reward: Rewards, budget: int) -> int:
    """Run UCB-GLM once, one pull of every arm first."""
    d = x.shape[1]
    pulls, totals, theta = np.zeros(len(x)), np.zeros(len(x)), np.zeros(d)
    for t in range(budget):
        arm = t
        if t >= len(x):
            for _ in range(50):
                p = 1.0 / (1.0 + np.exp(-x @ theta))
                hessian = (x.T * (pulls * p * (1.0 - p))) @ x + 1e-4 * np.eye(d)
                step = np.linalg.solve(hessian, x.T @ (totals - pulls * p) - 1e-4 * theta)
                theta += step / max(1.0, np.abs(step).max())
                if np.abs(step).max() < 1e-8:
                    break
            inverse = np.linalg.inv((x.T * pulls) @ x)
            arm = int(np.argmax(x @ theta + 0.5 * np.sqrt(((x @ inverse) * x).sum(axis=1))))
        totals[arm] += reward(arm)
        pulls[arm] += 1
    return int(np.argmax(pulls))


POLICIES: dict[str, tuple[Callable[[int], Any], Callable[[FloatArray, Rewards, int], int], type]] = {
    "LinUCB": (lambda budget: LinUcb(budget, alpha=1.0), naive_lin_ucb, LinearBandit),
    "LinUCB, disjoint": (lambda budget: LinUcb(budget).as_coded(), naive_lin_ucb, LinearBandit),
    "BayesGap": (lambda budget: BayesGap(budget, 1.0), naive_bayes_gap, LinearBandit),
    "LinGapE-Greedy": (
        lambda budget: lingape_greedy(budget, sigma=1.0, delta=0.4, stops_early=False),
        naive_lingape,
        LinearBandit,
    ),
    "UCB-GLM": (lambda budget: UcbGlm(budget, alpha=0.5, opening="each_arm"), naive_ucb_glm, SignBandit),
}


def _instance(kind: type, n_arms: int) -> LinearBandit:
    features = np.random.default_rng(0).standard_normal((n_arms, N_FEATURES))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    bandit: LinearBandit = kind(f"unit {n_arms}", features, features[n_arms // 2].copy(), 1.0)
    return bandit


def _seconds_per_pull(policy: Any, bandit: LinearBandit, n_replications: int) -> float:
    began = time.perf_counter()
    rows = simulate(policy, bandit, Streams.first(n_replications), metrics={"correct": correct})
    return float((time.perf_counter() - began) / rows["pulls"].sum())


def _naive_seconds_per_pull(run: Callable[..., int], bandit: LinearBandit, budget: int, seed: int) -> float:
    rng, means, sign = np.random.default_rng(seed), bandit.means[0], isinstance(bandit, SignBandit)

    def reward(arm: int) -> float:
        value = means[arm] + bandit.sigma * rng.standard_normal()
        return float(value > 0.0) if sign else float(value)

    began = time.perf_counter()
    run(bandit.features, reward, budget)
    return (time.perf_counter() - began) / budget


def against_the_naive_loops() -> pd.DataFrame:
    """Return microseconds a pull of both, interleaved medians, and their ratio, for K = 16 and 128."""
    lines = []
    for n_arms, budget in ((16, 160), (128, 256)):
        for name, (make, run, kind) in POLICIES.items():
            bandit, policy = _instance(kind, n_arms), make(budget)
            _seconds_per_pull(policy, bandit, 2)  # compile
            for n_replications in (1, 50, 500):
                ours, naive = [], []
                for repeat in range(REPEATS):
                    ours.append(_seconds_per_pull(policy, bandit, n_replications))
                    naive.append(_naive_seconds_per_pull(run, bandit, budget, repeat))
                a, b = 1e6 * np.median(ours), 1e6 * np.median(naive)
                lines.append(
                    {
                        "policy": name,
                        "arms": n_arms,
                        "replications": n_replications,
                        "ours (us a pull)": a,
                        "naive (us a pull)": b,
                        "ratio": b / a,
                    }
                )
    return pd.DataFrame(lines)


def main() -> None:
    """Print the table."""
    print("Baselines with a fixed budget, one core; disjoint LinUCB against the naive shared form\n")
    print(against_the_naive_loops().round(2).to_string(index=False))


if __name__ == "__main__":
    main()
