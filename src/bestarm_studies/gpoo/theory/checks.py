"""Exact decisions on the statements of the analysis, small ones with their rows, and values that its claims compare."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bestarm.designs.partition_tree import LEAF
from bestarm.interface import FloatArray
from bestarm.kernels import Stationary
from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.claims.cells import Rows, Test, Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.observed import watched
from bestarm_lab.study import project_seed
from bestarm_studies.gpoo.checks import curve
from bestarm_studies.gpoo.functions import DesignedBandit, Maker, reward_function
from bestarm_studies.gpoo.theory.assumptions import largest_slopes
from bestarm_studies.gpoo.theory.average_feedback import azuma
from bestarm_studies.gpoo.theory.rate import rate


def cost_rows(
    problem: Maker, replications: int, seed: int, *, budgets: Sequence[int], workers: int = 1
) -> pd.DataFrame:
    """Return the multiplications of whole runs of GPOO, counted and not timed.
    Of the first run of each of the ``budgets`` N."""

    def look(state: Any, bandit: DesignedBandit) -> dict[str, list[int]]:
        t = int(state.n_observed[0])
        fresh = int((state.live[0] & (state.draws[0] == 0)).sum())
        # every live node takes one inner product; a division, two forward substitutions
        total = int(state.live[0].sum()) * t + (2 * t * t // 2 if fresh else 0)
        return {"replication": [0], "multiplications": [total]}

    runs = [watched(Gpoo("GPOO", budget), problem(), look, replications, seed=seed).sum() for budget in budgets]
    counts = [int(run["multiplications"]) for run in runs]
    return pd.DataFrame({"replication": 0, "budget": list(budgets), "multiplications": counts})


def cost(test: Test, rows: Rows) -> Decision:
    """Check that multiplications grow at most like N to the printed power: counted, not timed."""
    (name,) = test["experiments"]
    budgets, counts = (rows[name][column].to_numpy() for column in ("budget", "multiplications"))
    slope = float(np.polyfit(np.log(budgets), np.log(counts), 1)[0])
    text = f"multiplications grow like N^{slope:.2f} for N = {budgets[0]} to {budgets[-1]}"
    return Decision(slope <= test["power"], text)


def envelope_rows(
    problem: Maker, replications: int, seed: int, *, policy: Gpoo, sizes: Sequence[int], workers: int = 1
) -> pd.DataFrame:
    """Return of how many leaves of each run the Lipschitz envelope exceeds the b-value."""
    found = [_envelopes_of(problem(n_representatives=size), policy, replications, seed) for size in sizes]
    names = [f"S = {size}" for size in sizes]
    return pd.concat([rows.assign(series=name) for name, rows in zip(names, found, strict=True)], ignore_index=True)


def _envelopes_of(bandit: DesignedBandit, policy: Gpoo, replications: int, seed: int) -> pd.DataFrame:
    slope = float(largest_slopes(bandit)[0])

    def look(state: Any, bandit: DesignedBandit) -> dict[str, Any]:
        rows, slots = np.nonzero(state.status == LEAF)
        cells = state.cells[rows, slots]
        lower, upper = bandit.partition.bounds(cells)
        points = bandit.partition.representatives(cells)[..., 0]
        x = lower + (upper - lower) * np.linspace(0.0, 1.0, 41)
        values = bandit.evaluate(points[..., None])
        bound = (values[:, None, :] + slope * np.abs(x[:, :, None] - points[:, None, :])).min(axis=2).max(axis=1)
        widths = policy.widths(state, state.n_rounds + 1)[rows, slots]
        inside = np.abs(state.means[rows, slots] - values.mean(axis=1)) <= widths
        beyond = inside & (bound > policy.bounds(state)[rows, slots] + 1e-9)
        n = len(state.replications)
        counts = {name: np.bincount(rows[of], minlength=n) for name, of in (("leaves", inside), ("beyond", beyond))}
        return {"replication": state.replications, **counts}

    return watched(policy, bandit, look, replications, seed=seed).groupby("replication", as_index=False).sum()


def envelope(test: Test, rows: Rows) -> Decision:
    """Check that b-values lie above the Lipschitz envelope of every leaf whose average is in its interval."""
    (name,) = test["experiments"]
    runs, (beyond, leaves) = len(rows[name]), rows[name][["beyond", "leaves"]].sum()
    text = f"{beyond} of {leaves} leaves of {runs} runs have an envelope above b"
    return Decision(bool(beyond == 0), text, informative=bool(leaves > 0), checked=f"{leaves:,} leaves of {runs} runs")


def single_feedback_rows(
    problem: Maker, replications: int, seed: int, *, policy: Gpoo, workers: int = 1
) -> pd.DataFrame:
    """Return how far the means of all live cells are from ordinary regression at the centres, round by round."""

    def look(state: Any, bandit: DesignedBandit) -> dict[str, list[Any]] | None:
        t = int(state.n_observed[0])
        if t == 0:
            return None
        seen = bandit.partition.centres(state.observed[0, :t])
        rewards = state.factor[0, :t, :t] @ state.residuals[0, :t]
        live = np.flatnonzero(state.live[0])
        x = bandit.partition.centres(state.cells[0, live])
        gram = policy.kernel.K(seen) + policy.noise_variance * np.eye(t)
        means = policy.kernel.K(x, seen) @ np.linalg.solve(gram, rewards)
        return {"replication": [0], "round": [t], "difference": [np.abs(means - state.means[0, live]).max()]}

    return watched(policy, problem(), look, replications, seed=seed)


def single_feedback(test: Test, rows: Rows) -> Decision:
    """Check that with S = 1 the posterior is that of ordinary Gaussian process regression at the centres of cells."""
    (name,) = test["experiments"]
    largest = float(rows[name]["difference"].max())
    return Decision(largest < 1e-8, f"means differ by at most {largest:.1e} over {len(rows[name])} rounds")


def always(test: Test, rows: Rows) -> Decision:
    """Check that a share of a bound never exceeds 1 in the runs in which the event held."""
    frame = pd.concat([rows[name] for name in test["experiments"]], ignore_index=True)
    mine = frame[frame["series"].isin(test["series"])]
    if "event_share" in mine:
        mine = mine[mine["event_share"] <= 1.0]
    if "budget" in test:
        mine = mine[mine["budget"] == test["budget"]]
    if "binds" not in test:
        shares, where = mine[test["metric"]].to_numpy(dtype=np.float64), ""
    else:  # a bound above the range of f holds of any search
        binds = mine[test["binds"]].to_numpy(dtype=np.bool_)
        shares = mine.loc[binds, test["metric"]].to_numpy(dtype=np.float64)
        where = f"; the bound is below the range of f in {len(shares)} of {len(binds)} runs"
    if not len(shares) or not (shares > 0.0).any():
        return Decision(True, f"the bound never binds{where}", informative=False)
    beyond = int((shares > 1.0).sum())
    text = f"{beyond} of {len(shares)} runs beyond the bound; at most {shares.max():.3g} times the bound{where}"
    return Decision(beyond == 0, text, checked=f"{len(shares)} runs")


def near_optimal_cells(values: FloatArray, size: int, depth: int, deepest: int, slack: float) -> tuple[int, int]:
    """Return how many cells of a depth are within a slack of the optimum, and how many balls fit that Lemma 2 counts.
    ``values`` are those of f on the grid of all multiples of 1/(2S 2^deepest) in [0, 1]. Representatives are centres of
    S equal parts of a cell, so the largest ball that stays in the cell has half the width of a part as its radius."""
    step = 2 ** (deepest - depth)  # half the width of a part, in units of the grid
    averages = values[step :: 2 * step].reshape(-1, size).mean(axis=1)
    near = np.flatnonzero(values >= values.max() - slack)
    balls, last = 0, -2 * step
    for place in near:  # on a line the leftmost choice is the best
        if place - last >= 2 * step:
            balls, last = balls + 1, place
    return int((averages >= values.max() - slack).sum()), balls


def lemma_2(test: Test) -> Decision:
    """Check that no more cells are near-optimal than disjoint balls fit that define the near-optimality dimension."""
    deepest, beyond, checked, binding, largest = int(test["deepest"]), 0, 0, 0, 0.0
    for name in ("f1", "f2", "f3"):
        for size in map(int, test["sizes"]):
            x = np.linspace(0.0, 1.0, 2 * size * 2**deepest + 1)
            values = reward_function(name).evaluate(x[:, None])
            for depth in range(deepest + 1):
                slack = 3.0 * float(test["scale"]) * 2.0**-depth
                cells, balls = near_optimal_cells(values, size, depth, deepest, slack)
                beyond, checked = beyond + (cells > balls), checked + 1
                if slack < np.ptp(values):
                    binding, largest = binding + 1, max(largest, cells / balls)
    text = f"{beyond} of {checked} depths beyond the bound; 3δ(h) is below the range of f in {binding}, where "
    return Decision(not beyond, f"{text}there are at most {largest:.2g} times as many cells as balls", binding > 0)


def proposition_2(test: Test) -> Decision:
    """Check the bound on the standard deviation of an average after T evaluations, whatever else was seen."""
    rng, largest = np.random.default_rng(project_seed()), 0.0
    for _ in range(int(test["draws"])):
        size, n_others, n_own = int(rng.choice([1, 2, 10])), int(rng.integers(0, 12)), int(rng.integers(1, 40))
        kernel = Stationary("rbf", float(rng.uniform(0.05, 2.0)), float(rng.uniform(0.02, 0.5)))
        sigma = float(rng.uniform(0.05, 1.0))
        points = rng.uniform(size=((1 + n_others) * size, 1))  # of the cell, then of the others
        averages = np.kron(np.eye(1 + n_others), np.full((1, size), 1.0 / size))
        prior = averages @ kernel.K(points) @ averages.T
        seen = np.r_[np.zeros(n_own, dtype=np.int64), 1 + np.arange(n_others)]
        gram = prior[np.ix_(seen, seen)] + sigma**2 * np.eye(len(seen))
        variance = float(prior[0, 0] - prior[0, seen] @ np.linalg.solve(gram, prior[seen, 0]))
        largest = max(largest, np.sqrt(max(variance, 0.0) * n_own) / sigma)
    return Decision(bool(largest <= 1.0 + 1e-9), f"at most {largest:.4f} times σ/√T, over {test['draws']} histories")


CHECKS: dict[str, Check] = {
    "lemma_2": Check(lemma_2, {"scale": "number", "sizes": "numbers", "deepest": "number"}),
    "proposition_2": Check(proposition_2, {"draws": "number"}),
    "always": Check(always, {"metric": "column", "series": "series"}, may={"budget": "number", "binds": "column"}),
    "azuma": Check(azuma, {"longest": "number", "range": "number"}),
    "cost": Check(cost, {"power": "number"}),
    "envelope": Check(envelope),
    "single_feedback": Check(single_feedback),
}
VALUES: dict[str, Value] = {
    "event_share": Value("largest error in units of its interval"),
    "rate": Value(
        "log mean regret against log(N / log N)",
        curve,
        statistic=rate,
        needs={"of": "column"},
        may={"budgets": "numbers"},
    ),
}
