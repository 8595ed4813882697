"""Times of runs, which belong to the machine that measured them, and counts of operations, which do not."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision


def run_times(
    series: Mapping[str, partial[Any]],
    problem: partial[Any],
    n_arms: Sequence[int],
    *,
    per_arm: int,
    n_pulls: int,
    replications: int,
    seed: int,
    workers: int = 1,
) -> pd.DataFrame:
    """Return the time of whole runs divided by their pulls, in microseconds, on one core whatever ``workers``.
    ``series`` and ``problem`` construct policies without the budget, ``per_arm`` times K, and instances without
    ``n_arms``. So many runs advance together that they make about ``n_pulls``, at least one; replications are repeats,
    each on other runs, after one that is not timed because it compiles."""
    lines = []
    for k in n_arms:
        instances, budget = problem(n_arms=k), per_arm * k
        n_runs = max(1, n_pulls // budget)
        for name, make in series.items():
            policy = make(budget=budget, label=name)
            for repeat in range(replications + 1):
                runs = np.arange(repeat * n_runs, (repeat + 1) * n_runs)
                taken, streams = instances.take(runs), Streams(seed, instances.label, runs)
                began = time.perf_counter()
                pulls = simulate(policy, taken, streams, metrics={})["pulls"].sum()
                seconds = time.perf_counter() - began
                if repeat > 0:
                    line = {"series": name, "n_arms": k, "budget": budget, "replication": repeat - 1}
                    lines.append(line | {"microseconds": 1e6 * seconds / float(pulls)})
    return pd.DataFrame(lines).assign(convention="as_written")


def peace_operations(n_arms: int, delta: float = 0.8, *, kronecker: bool) -> float:
    r"""Return the multiplications behind the gradients of a run of Peace on K arms in K - 1 dimensions.
    Of a gradient with n live arms in d dimensions count :math:`nd^2+d^3` in closed form, or the :math:`d^6` of a linear
    system in :math:`d^2` unknowns. A stage takes :math:`2\ln^2(d)\,d^3/\delta^2` gradients, at least 10 and at most
    100, on half as many arms as the stage before."""
    total, n = 0.0, n_arms
    while n > 1:
        d = min(n, n_arms - 1)
        gradients = min(100.0, max(10.0, 2.0 * np.log(d) ** 2 * d**3 / delta**2))
        total += gradients * (d**6 if kronecker else n * d**2 + d**3)
        n //= 2
    return float(total)


def peace_cost(test: Test, rows: Rows) -> Decision:
    """Decide whether Peace takes so much longer than GSE-Lin-FWG at K = 16, and its time grows so much to K = 32."""
    (name,) = test["experiments"]
    runs = rows[name].assign(milliseconds=rows[name]["microseconds"] * rows[name]["budget"] / 1000.0)
    time = runs.groupby(["series", "n_arms"])["milliseconds"].mean()
    ratio, growth = time["Peace", 16] / time["GSE-Lin-FWG", 16], time["Peace", 32] / time["Peace", 16]
    closed, solved = (
        peace_operations(32, kronecker=kronecker) / peace_operations(16, kronecker=kronecker)
        for kronecker in (False, True)
    )
    holds = bool(ratio >= test["at_least"] and growth >= test["growth"])
    text = f"{ratio:.0f} times GSE-Lin-FWG at K = 16, {growth:.1f} times itself at K = 32"
    text += f"; multiplications grow {closed:.1f} times, {solved:.0f} times with a linear system for every gradient"
    return Decision(holds, f"{text}; {time['Peace', 32] / 10:.1f} s for 100 runs where the paper reports 14 h")
