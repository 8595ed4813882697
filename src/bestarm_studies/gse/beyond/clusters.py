"""Appendix H: equal budgets of clusters."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bestarm.designs.cluster_allocation import cluster_counts
from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.designs.rounding import round_design, uniform_counts
from bestarm.interface import FloatArray
from bestarm.streams import Streams
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.figures.values import as_values

_ALLOCATIONS = ("uniform", "clusters", "G-optimal")


def example_leverages(n_arms: int, seed: int) -> tuple[FloatArray, FloatArray]:
    r"""Return pulls and largest leverage of V for the example of Appendix H: uniform, clusters, G-optimal.
    K arms :math:`e_1(1+\xi)`, :math:`\xi\sim N(0,0.001)`, and :math:`e_2`; B = 2K pulls. Returned are the pulls of
    :math:`e_2`, and :math:`\max_i\|x_i\|^2_{V^{-1}}`, each shape (3,)."""
    rng = np.random.default_rng([seed, n_arms])
    x = np.zeros((1, n_arms + 1, 2))
    x[0, :-1, 0], x[0, -1, 1] = 1.0 + np.sqrt(0.001) * rng.standard_normal(n_arms), 1.0
    live, budget = np.ones((1, n_arms + 1), dtype=np.bool_), np.array([2 * n_arms])
    streams = Streams.first(1, seed=seed, instance="appendix H")
    key, rows = streams.key("example"), streams.replications
    weights = optimal_design(x, live, DesignRule(start="kumar-yildirim")).weights
    found = [
        uniform_counts(live, budget, key, rows, 0),
        cluster_counts(x, live, budget, 2, key=key, replications=rows, time=0),
        round_design(weights, budget, "apportionment", key, rows, 0),
    ]
    inverses = [np.linalg.inv((x[0].T * counts[0]) @ x[0]) for counts in found]
    leverages = [np.einsum("ki,ij,kj->k", x[0], inverse, x[0]).max() for inverse in inverses]
    return np.array([float(counts[0, -1]) for counts in found]), np.array(leverages)


def leverage_rows(replications: int, arms: Sequence[int], *, seed: int, workers: int = 1) -> pd.DataFrame:
    """Return `example_leverages` (``pulls, leverage``) for several K, whose one set of arms each is no sample."""
    names = ("uniform", "clusters", "G-optimal")
    frames = []
    for n_arms in arms:
        pulls, leverages = example_leverages(n_arms, seed)
        frames.append(pd.DataFrame({"series": names, "n_arms": n_arms, "pulls": pulls, "leverage": leverages}))
    return pd.concat(frames, ignore_index=True).assign(replication=0)


def clusters(test: Test, rows: Rows) -> Decision:
    """Decide that clusters lower the largest leverage as stated, to within a factor of 1.2."""
    (name,) = test["experiments"]
    holds, texts = True, []
    leverages = rows[name].pivot(index="n_arms", columns="series", values="leverage")
    for n_arms, uniform, clustered in leverages[["uniform", "clusters"]].itertuples():
        holds &= uniform >= 0.5 / 1.2 and clustered <= 1.2 / n_arms
        texts.append(f"K = {n_arms}: {uniform:.2f} to {clustered:.4f}")
    return Decision(bool(holds), "; ".join(texts))


def cluster_values(sizes: Sequence[int], seed: int, profile: str) -> pd.DataFrame:
    """Return the pulls of the lone arm and the largest leverage in the example of Appendix H, by allocation and K."""
    rows = leverage_rows(1, sizes, seed=seed).rename(columns={"n_arms": "x", "pulls": "pulls of the lone arm"})
    lines = rows.melt(["series", "x"], ["pulls of the lone arm", "leverage"], var_name="statistic", ignore_index=False)
    return as_values(lines.sort_index(kind="stable"), panel="example", profile=profile)


def cluster_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `cluster_values` as a table of texts, a line for each K."""
    form = {"pulls of the lone arm": "{:.0f}", "leverage": "{:.4f}"}
    texts = [form[s].format(v) for s, v in zip(values["statistic"], values["value"], strict=True)]
    heads = values["series"] + ": " + values["statistic"]
    table = values.assign(text=texts, head=heads).pivot(index="x", columns="head", values="text")
    order = [f"{name}: {statistic}" for statistic in form for name in _ALLOCATIONS]
    return table[order].rename_axis(columns=None).reset_index().rename(columns={"x": "K"})
