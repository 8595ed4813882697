"""Trees of searches: every node and the posterior of f at chosen rounds, growth over many runs, pictures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bestarm.designs.partition_tree import EXPANDED, LEAF
from bestarm.models.cell_posterior import predict_points
from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.experiments.observed import Seen, watched
from bestarm_lab.figures.values import as_values
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.functions import Maker

N_POINTS = 401  # where the posterior of f is written down
Searches = Mapping[str, tuple[Gpoo, Maker]]
_DRAWS = (
    ("not evaluated", "#4A90D9", "o"),
    ("evaluated once", "#009E73", "s"),
    ("evaluated more than once", "#C00000", "^"),
)
_CURVES = (("mean", "posterior", "mean"), ("f", "posterior", "truth"), ("observation", "observation", "mean"))
_NODE = ("depth", "leaf", "draws", "mean", "width", "delta", "bound", "truth", "chosen")


@dataclass(frozen=True)
class Search:
    """One series of one convention: a policy and the problem that it searches."""

    convention: str
    series: str
    policy: Gpoo
    problem: CellBandit

    def watched(
        self, look: Callable[[Any, Any], Seen], replications: int | Sequence[int], seed: int, block: int | None = None
    ) -> pd.DataFrame:
        """Return what is seen in every round of the search, with its names."""
        seen = watched(self.policy, self.problem, look, replications, seed=seed, block=block)
        return seen.assign(convention=self.convention, series=self.series)


def all_searches(searches: Searches, conventions: Sequence[str]) -> list[Search]:
    """Return every series under every convention, with the deviations of the authors' code where it is theirs."""
    return [
        Search(convention, name, policy.as_coded(), problem().as_coded())
        if convention == "as_coded"
        else Search(convention, name, policy, problem())
        for convention in conventions
        for name, (policy, problem) in searches.items()
    ]


def of_all(
    found: Callable[..., pd.DataFrame], searches: Searches, conventions: Sequence[str], workers: int, *given: Any
) -> pd.DataFrame:
    """Return what a function finds of each search."""
    chosen = all_searches(searches, conventions)
    parallel = joblib.Parallel(n_jobs=max(1, min(workers, len(chosen))))
    return pd.concat(parallel(joblib.delayed(found)(search, *given) for search in chosen), ignore_index=True)


def node_rows(policy: Gpoo, problem: CellBandit, state: Any) -> pd.DataFrame:
    """Return the nodes of the first replication of a state, as they stand in this round."""
    slots = np.flatnonzero(state.status[0])
    cells, depths = state.cells[0, slots], state.depths[0, slots]
    lower, upper = problem.partition.bounds(cells)
    widths, bounds = policy.widths(state, state.n_rounds + 1)[0, slots], policy.bounds(state)[0, slots]
    return pd.DataFrame(
        {
            "kind": "node",
            "round": int(state.n_rounds[0]) + 1,
            "cell": cells,
            "depth": depths,
            "index": problem.partition.index(cells),
            "low": lower[:, 0],
            "high": upper[:, 0],
            "leaf": state.status[0, slots] == LEAF,
            "live": state.live[0, slots],
            "draws": state.draws[0, slots],
            "mean": state.means[0, slots],
            "width": widths,
            "sd": np.sqrt(np.maximum(state.variances[0, slots], 0.0)),
            "delta": policy.delta(depths),
            "bound": bounds,
            "truth": problem.cell_values(cells[None])[0],
            "chosen": slots == state.chosen[0],
        }
    )


def posterior_rows(policy: Gpoo, problem: CellBandit, state: Any) -> pd.DataFrame:
    """Return the posterior of f in the first replication on a grid of points, and what was observed."""
    x = np.linspace(problem.partition.lower[0], problem.partition.upper[0], N_POINTS)
    means, variances = predict_points(state, x[:, None])
    t = int(state.n_observed[0])
    beta = policy.beta_of(state.n_rounds, problem.partition.arity)[0]
    curve = pd.DataFrame(
        {
            "kind": "posterior",
            "low": x,
            "mean": means[0],
            "width": np.sqrt(beta * np.maximum(variances[0], 0.0)),
            "truth": problem.evaluate(x[:, None]),
        }
    )
    seen = pd.DataFrame(
        {
            "kind": "observation",
            "low": problem.partition.centres(state.observed[0, :t])[:, 0],
            "mean": state.factor[0, :t, :t] @ state.residuals[0, :t],
        }
    )
    return pd.concat([curve, seen], ignore_index=True).assign(round=int(state.n_rounds[0]) + 1)


def tree_rows(
    searches: Searches,
    replications: int,
    seed: int,
    *,
    rounds: Sequence[int],
    conventions: Sequence[str] = ("as_written",),
    first: int = 0,
    posterior: bool = False,
    workers: int = 1,
) -> pd.DataFrame:
    """Return the trees of single runs of GPOO, before the reward of chosen rounds.
    ``rounds``: t; N + 1 is the tree after the last reward; ``first``: number of the first replication; ``posterior``:
    whether to add the posterior of f and the observations. Columns are those of `node_rows` and `posterior_rows`."""
    return of_all(
        _trees_of, searches, conventions, workers, range(first, first + replications), seed, rounds, posterior
    )


def _trees_of(search: Search, replications: range, seed: int, rounds: Sequence[int], posterior: bool) -> pd.DataFrame:
    def look(state: Any, problem: CellBandit) -> pd.DataFrame | None:
        if int(state.n_rounds[0]) + 1 not in rounds:
            return None
        found = [node_rows(search.policy, problem, state)]
        if posterior:
            found.append(posterior_rows(search.policy, problem, state))
        return pd.concat(found, ignore_index=True).assign(replication=int(state.replications[0]))

    return search.watched(look, replications, seed, block=1)


def growth_rows(
    searches: Searches, replications: int, seed: int, *, conventions: Sequence[str] = ("as_written",), workers: int = 1
) -> pd.DataFrame:
    """Return how the tree of every run stands in every round: its leaves, its depth, and where the evaluation goes.
    Parameters are those of `tree_rows`. The last round's evaluation is not made: it is N + 1."""
    return of_all(_growth_of, searches, conventions, workers, replications, seed)


def _growth_of(search: Search, replications: int, seed: int) -> pd.DataFrame:
    def look(state: Any, problem: CellBandit) -> dict[str, Any]:
        here = np.arange(len(state.chosen)), np.maximum(state.chosen, 0)
        return {
            "replication": state.replications,
            "round": state.n_rounds + 1,
            "n_leaves": (state.status == LEAF).sum(axis=1),
            "n_divided": (state.status == EXPANDED).sum(axis=1),
            "deepest": np.where(state.status == EXPANDED, state.depths, -1).max(axis=1),
            "chosen_depth": state.depths[here],
            "first_draw": state.draws[here] == 0,
        }

    return search.watched(look, replications, seed)


def tree_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return trees as plotted values.
    ``rows``: rows of `bestarm_studies.gpoo.trees.tree_rows`. Returns columns of a figure's CSV. The panel names the
    round and what it shows: for "tree" x is the centre of a cell, low and high are its ends, and there is one row for
    each of ``depth, leaf, draws, mean, width, delta, bound, truth, chosen``; for "posterior" the statistics are
    ``mean`` with the band's ends, ``f`` and ``observation``."""
    base = ["convention", "series", "round"]
    nodes = rows[rows["kind"] == "node"].astype(dict.fromkeys(_NODE, float))
    nodes = nodes.assign(x=(nodes["low"] + nodes["high"]) / 2.0, panel="tree, t = " + nodes["round"].astype(str))
    frames = [nodes.melt([*base, "low", "high", "x", "panel"], _NODE, var_name="statistic")]
    for name, kind, column in _CURVES:
        part = rows[rows["kind"] == kind]
        if part.empty:
            continue
        found = part[base].assign(statistic=name, value=part[column], x=part["low"])
        if name == "mean":
            found = found.assign(low=part["mean"] - part["width"], high=part["mean"] + part["width"])
        frames.append(found.assign(panel="posterior, t = " + found["round"].astype(str)))
    return as_values(pd.concat(frames, ignore_index=True), profile=profile)


def nodes_of(values: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each node of a "tree" panel: ``x, low, high`` and its quantities."""
    return values.pivot_table(index=["x", "low", "high"], columns="statistic", values="value").reset_index()


def draw_tree(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw a tree over its interval: depth downwards, the mark of a node by its evaluations."""
    nodes = nodes_of(values)
    for _, node in nodes[nodes["depth"] > 0].iterrows():
        above = nodes[nodes["depth"] == node["depth"] - 1]
        parent = above[(above["low"] <= node["x"]) & (above["high"] >= node["x"])].iloc[0]
        axis.plot([parent["x"], node["x"]], [parent["depth"], node["depth"]], color="0.7", lw=0.7, zorder=1)
    for k, (name, colour, marker) in enumerate(_DRAWS):
        mine = nodes[nodes["draws"].clip(upper=2) == k]
        look: dict[str, Any] = {"ls": "", "marker": marker, "color": colour, "mec": "black", "mew": 0.4, "ms": 4.5}
        axis.plot(mine["x"], mine["depth"], label=name, **look)
    deepest = int(nodes["depth"].max())
    axis.set(xlim=(0, 1), ylabel="depth h")
    axis.set_yticks(range(0, deepest + 1, 1 + deepest // 8))
    axis.set_ylim(deepest + 0.5, -0.5)
    return axis


def draw_posterior(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw f in red, the posterior mean with its band, and the observations at the centres of their cells."""
    mean, truth, seen = (values[values["statistic"] == name].sort_values("x") for name in ("mean", "f", "observation"))
    axis.fill_between(mean["x"].astype(float), mean["low"], mean["high"], color="#56B4E9", alpha=0.3, lw=0)
    axis.plot(mean["x"].astype(float), mean["value"], color="#0072B2", label="posterior mean")
    axis.plot(truth["x"].astype(float), truth["value"], color="#C00000", ls="--", lw=1.0, label="f")
    axis.plot(seen["x"].astype(float), seen["value"], ls="", marker="x", color="black", ms=4, label="observations")
    axis.set(xlim=(0, 1), xlabel="x", ylabel="f(x)")
    return axis
