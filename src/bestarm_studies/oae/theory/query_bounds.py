"""Queries that learners need until an arm is nearly optimal, in the linear and in the Lipschitz class (Lemma D.1)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.streams import Streams, uniform
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.figures.figures import draw_lines, headed, legend_below, runs_text, wide
from bestarm_lab.figures.values import as_values, summarise
from bestarm_studies.oae.theory.linear_runs import ORDER, ROUNDING, rows_as_written, unit_vectors

COMMIT, TRACE, MIXING = "Explore then commit", "Guess with a trace", "Mixing, norm known"
Z95 = 1.959964


def linear_queries(coordinates: FloatArray, epsilon: float) -> dict[str, IntArray]:
    r"""Return how many queries, shape (R,), three learners need until one is :math:`\epsilon`-optimal in the unit ball.
    They see :math:`\theta` in orthonormal directions of a random rotation, so for every unit :math:`\theta` its
    ``coordinates``, shape (R, d), are those of a uniform one. After m directions the best guess is worth :math:`s_m`,
    the norm of the first m coordinates; it has to reach :math:`k=1-\epsilon`. ``Explore then commit`` queries
    :math:`\lfloor dk^2\rfloor` directions, then its guess and one more direction by turns. ``Guess with a trace``
    always queries its guess plus a vanishing multiple of a fresh direction, which without noise reveals :math:`\theta`
    along it exactly. A :math:`\theta` of norm r < 1 needs only :math:`s_m/r\geq1-\epsilon/r`, which is no later, so for
    both the mean is that of the worst case. ``Mixing, norm known`` knows that :math:`|\theta|=1`, as under the law of
    the lemma's proof. It queries :math:`(s/k)\hat g+\sqrt{1-s^2/k^2}\,u` with its guess and a fresh direction: among
    all mixtures this has the best chance. It succeeds if :math:`s^2+z^2\geq k^2` for the new coordinate z > 0; for z <
    0 the next query, the guess, does. Directions of the first two that happen to be good enough do not count."""
    d, target = coordinates.shape[1], (1.0 - epsilon) ** 2
    reached = np.cumsum(coordinates**2, axis=1) >= target
    reached[:, -1] = True  # up to rounding
    enough = reached.argmax(axis=1)  # the guess is good after one more direction than this
    explored = int(d * target)
    commit = explored + 1 + 2 * np.maximum(enough + 1 - explored, 0)
    mixing = enough + 1 + (coordinates[np.arange(len(coordinates)), enough] < 0.0)
    return {COMMIT: commit, TRACE: enough + 2, MIXING: mixing}


def bump_packing(d: int, epsilon: float) -> FloatArray:
    r"""Return points of the unit ball with distances of at least :math:`2\epsilon`: even or hexagonal, shape (N, d)."""
    if d not in (1, 2):
        raise ValueError(f"packings are made for d = 1 and 2, got {d}.")
    if d == 1:
        return np.asarray(-1.0 + 2.0 * epsilon * np.arange(int(1.0 / epsilon + ROUNDING) + 1))[:, None]
    reach = int(1.0 / epsilon) + 1
    i, j = np.meshgrid(np.arange(-reach, reach + 1), np.arange(-reach, reach + 1), indexing="ij")
    points = np.stack([2.0 * epsilon * (i + 0.5 * j), epsilon * np.sqrt(3.0) * j], axis=-1).reshape(-1, 2)
    return np.asarray(points[(points**2).sum(axis=1) <= 1.0 + ROUNDING])


def cover_order(points: FloatArray, epsilon: float) -> tuple[IntArray, IntArray]:
    r"""Return, for a bump at each point (N, d), the queries until one meets it, and until one is
    :math:`\epsilon`-optimal. The bump is positive at distances below :math:`2\epsilon`, and a query at most
    :math:`\epsilon` from its summit is optimal. Queried are midpoints of two points at distance :math:`2\epsilon` and
    the points themselves, the one next that meets most bumps not yet excluded. A reward reveals the distance from the
    summit; then the points at that distance are queried, of which all but the last may fail."""
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    first, second = np.nonzero(np.triu((distance > 0) & (distance <= 2.0 * epsilon + ROUNDING)))
    queries = np.concatenate([0.5 * (points[first] + points[second]), points])
    away = np.linalg.norm(queries[:, None] - points[None], axis=2)
    meets = away < 2.0 * epsilon - ROUNDING
    left = np.ones(len(points), dtype=np.bool_)
    met, solved = np.zeros(len(points), dtype=np.int64), np.zeros(len(points), dtype=np.int64)
    gains, n = meets.sum(axis=1), 0
    while left.any():
        query = int(gains.argmax())
        n += 1
        new = np.flatnonzero(meets[query] & left)
        met[new] = n
        for distance_now in np.unique(np.round(away[query, new] / epsilon, 6)):
            same = new[np.isclose(away[query, new] / epsilon, distance_now, atol=1e-5)]
            solved[same] = n if distance_now <= 1.0 + 1e-5 else n + 1 + np.arange(len(same))
        left[new] = False
        gains = gains - meets[:, new].sum(axis=1)
    return met, solved


@njit(cache=True)
def _integers(key: np.uint64, n: int, below: int) -> IntArray:
    found = np.empty(n, dtype=np.int64)
    for r in range(n):
        found[r] = int(below * uniform(key, r, 0, 0))
    return found


def query_rows(
    linear: Sequence[tuple[int, float]],
    lipschitz: Mapping[str, Sequence[float]],
    replications: int,
    seed: int,
    *,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return how many queries learners need until one is :math:`\epsilon`-optimal (Lemma D.1).
    ``linear`` are pairs of d and :math:`\epsilon`; ``lipschitz`` is ``{dimensions: [...], epsilons: [...]}``: a bump
    :math:`(2\epsilon-\|z-x\|)_+` at a uniform point of a packing, which ``Cover`` queries in `cover_order` and
    ``Points`` in random order; ``met`` are queries until one meets the bump, which the proof counts."""
    del workers  # seconds in all
    rows, frames = np.arange(replications), []
    for n_features, accuracy in linear:
        key = Streams(seed, f"queries, d = {n_features}", rows).key("parameter")
        coordinates = unit_vectors(key, rows, 1, int(n_features))[:, 0]
        for label, queries in linear_queries(coordinates, float(accuracy)).items():
            base = {"item": "linear", "series": label, "n_features": int(n_features), "epsilon": float(accuracy)}
            frames.append(pd.DataFrame(base | {"replication": rows, "queries": queries.astype(np.float64)}))
    for d in lipschitz.get("dimensions", []):
        for epsilon in lipschitz["epsilons"]:
            points = bump_packing(int(d), float(epsilon))
            key = Streams(seed, f"bumps, d = {d}, epsilon = {epsilon}", rows).key("summit")
            summit = _integers(key, replications, len(points))
            met, solved = cover_order(points, float(epsilon))
            counts = {"Cover": (met[summit], solved[summit]), "Points": (summit + 1, summit + 1)}
            for label, (first, queries) in counts.items():
                base = {"item": "lipschitz", "series": label, "n_features": int(d), "epsilon": float(epsilon)}
                found = {"replication": rows, "queries": queries.astype(np.float64), "met": first.astype(np.float64)}
                frames.append(pd.DataFrame(base | found | {"packing": float(len(points))}))
    return pd.concat(frames, ignore_index=True).assign(convention="as_written", data="synthetic")


def query_bounds(d: FloatArray, epsilon: FloatArray, kind: str) -> FloatArray:
    r"""Return lower bounds on the queries of a linear class, for dimensions and accuracies.
    "printed" is Lemma D.1: d for :math:`\epsilon<1/d`, otherwise :math:`\lceil d(1-\epsilon)\rceil`; "squared" is
    :math:`d(1-\epsilon)^2`, when the expected square of the best guess's value has reached :math:`(1-\epsilon)^2`."""
    if kind not in ("printed", "squared"):
        raise ValueError(f"kind must be 'printed' or 'squared', got {kind!r}.")
    if kind == "squared":
        return np.asarray(d * (1.0 - epsilon) ** 2)
    return np.where(epsilon < 1.0 / d, d, np.ceil(d * (1.0 - epsilon) - 1e-9))


def _query_table(rows: pd.DataFrame) -> pd.DataFrame:
    grouped = rows.groupby(["series", "n_features", "epsilon"], sort=False)
    table = grouped["queries"].agg(["mean", "std", "count"]).reset_index()
    table["half"] = Z95 * table["std"] / np.sqrt(table["count"])
    return table.assign(packing=grouped["packing"].first().to_numpy())


def _below(table: pd.DataFrame) -> Decision:
    """Check that no mean is significantly below its bound."""
    table = table.assign(ratio=table["mean"] / table["bound"])
    below = table[table["mean"] + table["half"] < table["bound"]]
    worst = table.sort_values("ratio").iloc[0]
    text = f"fewer queries than the bound in {len(below)} of {len(table)} cells; lowest {worst['series']}, "
    text += f"d = {worst['n_features']}, ε = {worst['epsilon']:g}: "
    text += f"{worst['mean']:.1f} ± {worst['half']:.1f} against {worst['bound']:.1f}"
    return Decision(below.empty, text, informative=bool((table["bound"] > 1.0).any()))  # a first query is always needed


def query_bound(test: Test, tables: Rows) -> Decision:
    """Check that no learner needs fewer queries than a bound of item 1.
    ``series`` are some learners, ``part`` takes the accuracies on one side of 1/d: "small" or "large"."""
    rows = rows_as_written(test, tables)
    rows = rows[(rows["item"] == "linear") & rows["series"].isin(test.get("series", rows["series"].unique()))]
    table = _query_table(rows)
    small = table["epsilon"] < 1.0 / table["n_features"]
    table = table[{"small": small, "large": ~small}.get(test.get("part", ""), small | True)]
    bounds = query_bounds(table["n_features"].to_numpy(), table["epsilon"].to_numpy(), test["bound"])
    return _below(table.assign(bound=bounds))


def lipschitz_bound(test: Test, tables: Rows) -> Decision:
    r"""Check that no learner needs fewer queries than item 2 prints, or than its proof's :math:`\frac14N_{2\epsilon}`.
    ``bound`` is "printed", :math:`(1/4\epsilon)^d`, or "quarter"."""
    rows = rows_as_written(test, tables)
    table = _query_table(rows[rows["item"] == "lipschitz"])
    printed = (0.25 / table["epsilon"]) ** table["n_features"]
    return _below(table.assign(bound=printed if test["bound"] == "printed" else 0.25 * table["packing"]))


def query_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return mean queries over d until an arm is epsilon-optimal in a linear class, and both bounds; x is epsilon."""
    linear = rows[rows["item"] == "linear"]
    found = summarise(linear, {"queries": ("queries", "mean")}, x="epsilon", panel="d = {n_features}", profile=profile)
    table = []
    for d, epsilon in linear[["n_features", "epsilon"]].drop_duplicates().itertuples(index=False):
        for kind in ("printed", "squared"):
            bound = float(query_bounds(np.array([d]), np.array([epsilon]), kind)[0])
            table.append({"panel": f"d = {d}", "series": kind, "x": epsilon, "value": bound})
    bounds = as_values(pd.DataFrame(table), statistic="bound", n=0, profile=profile)
    return pd.concat([found, bounds], ignore_index=True)


def query_figure(values: pd.DataFrame, *, title: str) -> Figure:
    """Return queries over the printed bound, for each d and epsilon, with the bound that its proof supports."""
    keyed = values.assign(d=values["panel"].str.removeprefix("d = ").astype(float)).sort_values(["d", "x"])
    keyed = keyed.assign(cell=[f"{d:g}\n{epsilon:g}" for d, epsilon in keyed[["d", "x"]].itertuples(index=False)])
    bounds = keyed[keyed["statistic"] == "bound"].pivot(index="cell", columns="series", values="value")
    queries = keyed[keyed["statistic"] == "queries"]
    over = bounds["printed"].loc[queries["cell"]].to_numpy()
    shown = queries.assign(x=queries["cell"], **{name: queries[name] / over for name in ("value", "low", "high")})
    cells = list(dict.fromkeys(shown["x"]))
    figure, axis = plt.subplots(figsize=wide(1, 3.2))
    axis.axhline(1.0, color="black", ls="--", lw=1.2, label="printed bound")
    squared = (bounds["squared"] / bounds["printed"]).loc[cells]
    places = np.arange(len(cells))
    axis.hlines(
        squared, places - 0.4, places + 0.4, color="0.35", ls=":", lw=1.8, label="bound that the proof supports"
    )
    draw_lines(axis, shown, ORDER, joined=False)
    axis.set_xticks(places, cells)
    axis.set(xlabel="dimension d, and below it ε", ylabel="queries / printed bound (mean)")
    legend_below(figure, ORDER)
    return headed(figure, title, runs_text(queries["n"]), "bars: 95% intervals; linear class on the unit ball")
