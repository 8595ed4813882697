r"""Claims of the GPOO paper that a computation decides: single feedback as a special case, the envelope, the cost.

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bestarm.designs.partition_tree import LEAF
from bestarm.experiments.observe import Looking
from bestarm.experiments.simulate import simulate
from bestarm.policies.gpoo import Gpoo
from bestarm.reporting.study import project_seed
from bestarm.streams import Streams
from bestarm_studies.gpoo.functions import reward_function
from bestarm_studies.gpoo.theory_rows import largest_slopes


def single_feedback(paper: str, test: Mapping[str, Any]) -> tuple[bool, str]:
    """Decide that with S = 1 the posterior is that of ordinary Gaussian process regression at the centres of cells."""
    bandit, policy = reward_function("f1"), Gpoo("GPOO", int(test["budget"]))
    largest = 0.0

    def look(state: Any) -> None:
        nonlocal largest
        t = int(state.n_observed[0])
        if t == 0:
            return
        seen = bandit.partition.centres(state.observed[0, :t])
        rewards = state.factor[0, :t, :t] @ state.residuals[0, :t]
        live = np.flatnonzero(state.live[0])
        x = bandit.partition.centres(state.cells[0, live])
        gram = policy.kernel.K(seen) + policy.noise_variance * np.eye(t)
        means = policy.kernel.K(x, seen) @ np.linalg.solve(gram, rewards)
        largest = max(largest, float(np.abs(means - state.means[0, live]).max()))

    streams = Streams.first(1, seed=project_seed(), instance=bandit.label)
    simulate(Looking(policy, look), bandit, streams, metrics={})
    return largest < 1e-8, f"means differ by at most {largest:.1e} over {policy.budget} rounds"


def envelope(paper: str, test: Mapping[str, Any]) -> tuple[bool, str]:
    """Decide that b-values lie above the Lipschitz envelope of every leaf whose average is in its interval."""
    n_runs, beyond, checked = int(test["runs"]), 0, 0
    for size in test["sizes"]:
        bandit, policy = reward_function("f1", n_representatives=size), Gpoo("GPOO", int(test["budget"]))
        slope = float(largest_slopes(bandit)[0])

        def look(state: Any, bandit: Any = bandit, policy: Any = policy, slope: float = slope) -> None:
            nonlocal beyond, checked
            rows, slots = np.nonzero(state.status == LEAF)
            cells = state.cells[rows, slots]
            lower, upper = bandit.partition.bounds(cells)
            points = bandit.partition.representatives(cells)[..., 0]
            x = lower + (upper - lower) * np.linspace(0.0, 1.0, 41)
            values = bandit.evaluate(points[..., None])
            bound = (values[:, None, :] + slope * np.abs(x[:, :, None] - points[:, None, :])).min(axis=2).max(axis=1)
            widths = policy.widths(state, state.n_rounds + 1)[rows, slots]
            inside = np.abs(state.means[rows, slots] - values.mean(axis=1)) <= widths
            checked += int(inside.sum())
            beyond += int((bound > policy.bounds(state)[rows, slots] + 1e-9)[inside].sum())

        streams = Streams.first(n_runs, seed=project_seed(), instance=bandit.label)
        simulate(Looking(policy, look), bandit, streams, metrics={})
    return beyond == 0, f"{beyond} of {checked} leaves of {n_runs * len(test['sizes'])} runs have an envelope above b"


def cost(paper: str, test: Mapping[str, Any]) -> tuple[bool, str]:
    """Decide that multiplications grow at most like N to the printed power: counted, not timed."""
    bandit, counts = reward_function("f1"), []
    for budget in test["budgets"]:
        total = 0

        def look(state: Any) -> None:
            nonlocal total
            t = int(state.n_observed[0])
            fresh = int((state.live[0] & (state.draws[0] == 0)).sum())
            # every live node takes one inner product; a division, two forward substitutions
            total += int(state.live[0].sum()) * t + (2 * t * t // 2 if fresh else 0)

        streams = Streams.first(1, seed=project_seed(), instance=bandit.label)
        simulate(Looking(Gpoo("GPOO", int(budget)), look), bandit, streams, metrics={})
        counts.append(total)
    slope = float(np.polyfit(np.log(test["budgets"]), np.log(counts), 1)[0])
    return slope <= test["power"], f"multiplications grow like N^{slope:.2f} for N = {test['budgets'][0]} to {budget}"


GPOO_CLAIMS = {"single_feedback": single_feedback, "envelope": envelope, "cost": cost}
