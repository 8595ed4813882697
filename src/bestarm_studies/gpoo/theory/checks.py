"""Exact decisions on the statements of the analysis, and values that its claims compare."""

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.kernels import Stationary
from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.study import project_seed
from bestarm_studies.gpoo.checks import Rows, Test, curve
from bestarm_studies.gpoo.functions import reward_function
from bestarm_studies.gpoo.theory.average_feedback import azuma
from bestarm_studies.gpoo.theory.cost import cost
from bestarm_studies.gpoo.theory.envelope import envelope
from bestarm_studies.gpoo.theory.rate import rate
from bestarm_studies.gpoo.theory.single_feedback import single_feedback


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
    "always": Check(
        always,
        {"experiments": "experiments", "metric": "column", "series": "series"},
        may={"budget": "number", "binds": "column"},
    ),
    "azuma": Check(azuma, {"longest": "number", "range": "number"}),
    "cost": Check(cost, {"experiments": "experiments", "power": "number"}),
    "envelope": Check(envelope, {"experiments": "experiments"}),
    "single_feedback": Check(single_feedback, {"experiments": "experiments"}),
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
