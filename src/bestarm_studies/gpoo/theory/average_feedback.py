"""The analysis of AVE-StoOO (Appendix C): the event of its means, Lemma 6, Theorem 3, and Azuma's inequality."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bestarm.designs.partition_tree import EXPANDED
from bestarm.policies.cells.stooo import Stooo
from bestarm_lab.claims.cells import Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.observed import watched
from bestarm_lab.figures.values import as_values
from bestarm_studies.gpoo.functions import DesignedBandit, Maker
from bestarm_studies.gpoo.theory.assumptions import largest_slopes, lipschitz_scale, ranges
from bestarm_studies.gpoo.theory.rate import near_optimality


def theorem3_depth(policy: Stooo, budget: int, dimension: float, constant: float, arity: int = 2) -> int:
    r"""Return :math:`h_N` of Theorem 3.
    It is the smallest h with :math:`2CK3^{-d}\sum_{l\leq h}\delta(l)^{-(d+2)}\geq N/\log(N^2/\theta)`."""
    target, total, depth = budget / np.log(budget**2 / policy.risk), 0.0, 0
    while True:
        delta = float(policy.delta(np.array(depth)))
        total += 2.0 * constant * arity * 3.0**-dimension * delta ** -(dimension + 2.0)
        if total >= target:
            return depth
        depth += 1


def average_bound_rows(
    problem: Maker,
    replications: int,
    seed: int,
    *,
    sizes: Sequence[int],
    budgets: Sequence[int],
    max_depth: int,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return how far AVE-StoOO uses the bounds of Lemma 6 and of Theorem 3, at some budgets of one run.
    ``sizes``: S, one series each; ``budgets``: N, all in one run, whose rule does not know N. :math:`\delta(h)=c2^{-h}`
    has the c that Assumption 3 needs. ``optimality_share``: the largest :math:`(f^*-\bar F)/3\delta(h)` of a divided
    cell for which :math:`3\delta(h)` is less than f varies; ``bound``: :math:`3\delta(h_N)` of Theorem 3."""
    found = [
        _bounds_used(problem(n_representatives=size), size, replications, seed, budgets, max_depth) for size in sizes
    ]
    return pd.concat(found, ignore_index=True)


def _bounds_used(
    bandit: DesignedBandit, size: int, replications: int, seed: int, budgets: Sequence[int], max_depth: int
) -> pd.DataFrame:
    scale = lipschitz_scale(float(largest_slopes(bandit)[0]), size)
    policy = Stooo("AVE-StoOO", max(budgets), rule="average", delta_scale=scale, max_depth=max_depth)
    # Lemma 7: cells of depth h hold disjoint balls of radius δ(h)/2Sc, counted where f is within 3δ(h) of the best
    dimension, constant = near_optimality(bandit, 1.0 / (2.0 * size * scale) / 3.0)
    best, varies = float(bandit.best[1][0]), float(ranges(bandit)[0])

    def look(state: Any, bandit: DesignedBandit) -> dict[str, Any] | None:
        budget = int(state.n_rounds[0])
        if budget not in budgets:
            return None
        bounds = 3.0 * policy.delta(state.depths)
        binding = (state.status == EXPANDED) & (bounds < varies)
        shares = (best - bandit.cell_values(np.where(binding, state.cells, 0))) / bounds
        bound = 3.0 * float(policy.delta(np.array(theorem3_depth(policy, budget, dimension, constant))))
        regret = best - bandit.cell_values(policy.recommend(state))[:, 0]
        return {
            "convention": "as_written",
            "series": f"AVE-StoOO (S = {size})",
            "replication": state.replications,
            "budget": budget,
            "regret": regret,
            "optimality_share": np.where(binding, shares, 0.0).max(axis=1),
            "optimality_binds": binding.any(axis=1),
            "bound": bound,
            "regret_share": regret / bound,
            "regret_binds": bound < varies,
        }

    return watched(policy, bandit, look, replications, seed=seed)


def mean_event_rows(
    problem: Maker, replications: int, seed: int, *, policy: Stooo, sigmas: Sequence[float], workers: int = 1
) -> pd.DataFrame:
    r"""Return whether the event of AVE-StoOO's analysis (Lemma 5) held: every mean within its width in every round.
    ``event_share`` is the largest :math:`|\hat\mu-\bar F|/\sqrt{2\log(t^2/\theta)/T}`; of the ``sigmas`` of the noise
    1/2 is the sub-Gaussian scale of rewards in [0, 1], which the lemma assumes."""

    def look(state: Any, bandit: DesignedBandit) -> dict[str, Any]:
        t = np.maximum(state.n_rounds, 1)[:, None]
        drawn = state.draws > 0
        truth = bandit.cell_values(state.cells)
        with np.errstate(divide="ignore", invalid="ignore"):
            width = np.sqrt(2.0 * np.log(t**2 / policy.risk) / state.draws)
            share = np.abs(state.totals / state.draws - truth) / width
        return {"replication": state.replications, "event_share": np.where(drawn, share, 0.0).max(axis=1)}

    frames = []
    for sigma in sigmas:
        seen = watched(policy, problem(sigma=sigma), look, replications, seed=seed)
        largest = seen.groupby("replication", as_index=False)["event_share"].max()
        frames.append(largest.assign(convention="as_written", series=f"σ = {sigma:g}", budget=policy.budget))
    columns = ["convention", "series", "replication", "budget", "event_share"]
    return pd.concat(frames, ignore_index=True)[columns]


def azuma(test: Test) -> Decision:
    """Check the two-sided bound for martingales exactly, on sums of fair signs, whose steps have the range 2."""
    largest, checked = 0.0, 0
    for n in range(1, int(test["longest"]) + 1):
        sums = 2 * np.arange(n + 1) - n
        law = stats.binom.pmf(np.arange(n + 1), n, 0.5)
        for reach in range(1, n + 1):
            bound = 2.0 * np.exp(-2.0 * reach**2 / (n * test["range"] ** 2))
            if bound < 1.0:
                largest = max(largest, float(law[np.abs(sums) >= reach].sum() / bound))
                checked += 1
    text = f"the tail is at most {largest:.2f} times the bound in {checked} cases in which the bound is below 1"
    return Decision(largest <= 1.0, text)


def average_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return AVE-StoOO's regret and the bound of Theorem 3 against the budget, as plotted values."""
    groups = rows.groupby(["series", "budget"], sort=False)
    kinds = {"regret": "max", "bound": "first", "regret_binds": "first", "replication": "nunique"}
    names = {"regret": "largest regret", "regret_binds": "binds", "replication": "n", "budget": "x"}
    found = groups.agg(kinds).reset_index().rename(columns=names)
    tidy = found.assign(binds=found["binds"].astype(float)).melt(
        ["series", "x", "n"], ["largest regret", "bound", "binds"], var_name="statistic", value_name="value"
    )
    return as_values(tidy, panel="Theorem 3", profile=profile)


def average_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `average_values` as text, a line for each series and budget."""
    table = average_values(rows, "").pivot(index=["series", "x"], columns="statistic", values="value")
    numbers = {name: [f"{v:.3f}" for v in table[name]] for name in ("largest regret", "bound")}
    says = np.where(table["binds"] > 0, "yes", "no")
    lines = table.reset_index()
    budgets = [f"{int(n):,}" for n in lines["x"]]
    return pd.DataFrame({"series": lines["series"], "N": budgets, **numbers, "bound is below the range of f": says})
