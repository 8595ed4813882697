"""The course of a search by MeanOpt on a line: its model, the arms it has pulled, the hills it has seen (Figure 7)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from bestarm.interface import Ask, BoolArray, FloatArray
from bestarm.observe import Observed
from bestarm.policies.batch_search import BatchState
from bestarm.policies.networks.oae import NetworkSearch
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.values import as_values
from bestarm_studies.oae.landscapes import LANDSCAPES, Landscape, landscape

CENTRES = (-8.0, -3.0, 2.0, 7.0)


@dataclass
class Sketch(Observed):
    """A batch search whose model and arms are noted in some rounds."""

    rounds: tuple[int, ...]
    noted: dict[int, tuple[FloatArray, BoolArray]] = field(default_factory=dict)

    def tell(self, state: BatchState, asked: Ask, totals: FloatArray) -> None:
        """Update the policy, and note its last model and all arms pulled so far."""
        super().tell(state, asked, totals)
        if state.round in self.rounds:
            self.noted[state.round] = (state.scores.copy(), ~state.available)


def evolution_rows(
    problem: Callable[[], Landscape],
    policy: NetworkSearch,
    at: Sequence[int],
    replications: int,
    seed: int,
    *,
    steps: int | None = None,
    workers: int = 1,
) -> pd.DataFrame:
    """Return what a search on four hills has seen after the rounds ``at``; ``steps`` replaces the policy's steps of a
    fit. Statistic ``hills``: on how many of the four hills, within one width of their centres, an arm was pulled. Of
    the first run alone: ``model`` and ``pulled``, one row for each arm, and ``truth``."""
    law = problem()
    policy = replace(policy, rounds=max(at), steps=policy.steps if steps is None else steps)
    sketch = Sketch(policy, tuple(at))
    streams = Streams.first(replications, seed=seed, instance=law.label)
    arms = law.take(streams.replications)
    simulate(sketch, arms, streams, metrics={})
    x = arms.features[:, :, 0]
    near = np.abs(x[:, :, None] - np.array(CENTRES)) <= law.width
    order = np.argsort(x[0])
    frames = [pd.DataFrame({"replication": 0, "round": 0, "statistic": "truth", "x": x[0], "value": arms.means[0]})]
    for number, (scores, pulled) in sorted(sketch.noted.items()):
        hills = (near & pulled[:, :, None]).any(axis=1).sum(axis=1)
        table = {"replication": streams.replications, "statistic": "hills", "x": float(number), "value": hills}
        frames.append(pd.DataFrame(table).assign(round=number))
        model = {"replication": 0, "round": number, "statistic": "model", "x": x[0, order], "value": scores[0, order]}
        seen = np.flatnonzero(pulled[0])
        points = {
            "replication": 0,
            "round": number,
            "statistic": "pulled",
            "x": x[0, seen],
            "value": arms.means[0, seen],
        }
        frames += [pd.DataFrame(model), pd.DataFrame(points)]
    rows = pd.concat(frames, ignore_index=True)
    rows["value"] = rows["value"].astype(np.float64)
    return rows.assign(convention="as_written", series=policy.label)


def hills_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return how many runs had tried arms on 1, 2, 3 and 4 hills after each noted batch; x is the batch."""
    hills = rows[rows["statistic"] == "hills"]
    counts = hills.pivot_table(index="round", columns="value", values="replication", aggfunc="count", fill_value=0)
    counts = counts.reindex(columns=range(1, 5), fill_value=0).rename(columns="{:g} of 4 hills".format)
    table = counts.melt(ignore_index=False, var_name="series").reset_index(names="x")
    return as_values(table, statistic="runs", n=hills["replication"].nunique(), profile=profile)


def evolution_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the plotted values of `evolution_rows`: statistics ``response``, ``model`` and ``pulled``.
    They are every landscape's arms, and the first run's model and arms after each noted round."""
    first = rows[(rows["statistic"] == "hills") & (rows["replication"] == 0)].set_index("round")["value"]
    frames = []
    for name in LANDSCAPES:
        arms = landscape(name).take(np.zeros(1, dtype=np.int64))
        table = {"x": arms.features[0, :, 0], "value": arms.means[0], "panel": name, "statistic": "response"}
        frames.append(pd.DataFrame(table).assign(series="arms"))
    for number, mine in rows[rows["statistic"].isin(["model", "pulled"])].groupby("round"):
        noted = mine[["x", "value", "statistic"]].assign(series=mine["series"])
        frames.append(noted.assign(panel=f"round {number}: {first[number]:g} of 4 hills"))
    return as_values(pd.concat(frames, ignore_index=True), profile=profile)


def evolution_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the figure: landscapes in the first row, rounds in the two below."""
    rounds = [p for p in dict.fromkeys(values["panel"]) if p.startswith("round")]
    truth = values[values["panel"] == "MultiValleyOneDimHole"]
    figure, axes = plt.subplot_mosaic("0123;4455;6677", figsize=wide(3, 1.75), sharex=True)
    for axis, name in zip(axes.values(), LANDSCAPES, strict=False):
        mine = values[values["panel"] == name]
        axis.scatter(mine["x"], mine["value"], s=3, color="0.35", linewidths=0)
        axis.set_title(name.replace("OneDim", "\nOneDim"))
    for axis, name in zip(list(axes.values())[4:], rounds, strict=True):
        mine = values[values["panel"] == name]
        model, pulled = mine[mine["statistic"] == "model"], mine[mine["statistic"] == "pulled"]
        axis.scatter(truth["x"], truth["value"], s=3, color="0.7", linewidths=0, label="all arms")
        axis.plot(model["x"], model["value"], color="#0072B2", label="model")
        axis.plot(pulled["x"], pulled["value"], "D", ms=4, mfc="#E69F00", mec="black", mew=0.4, label="tried")
        axis.set_title(f"MultiValleyOneDimHole, {name}")
    plt.setp([axes["0"], axes["4"], axes["6"]], ylabel="response")
    for axis in (axes["6"], axes["7"]):
        axis.set_xlabel("arm")
        axis.xaxis.set_major_locator(MultipleLocator(5))
    legend_below(figure)
    return headed(figure, title, setting)


def hills_seen(test: Test, tables: Rows) -> Decision:
    """Check that the median number of hills on which an arm was pulled reaches four."""
    (name,) = test["experiments"]
    rows = tables[name]
    hills = rows[rows["statistic"] == "hills"]
    median = hills.groupby("round")["value"].median()
    share = float((hills[hills["round"] == median.index.max()]["value"] == 4).mean())
    texts = ", ".join(f"{value:g} by round {number}" for number, value in median.items())
    return Decision(bool(median.iloc[-1] == 4), f"median hills: {texts}; all four in {share:.0%} of the runs")
