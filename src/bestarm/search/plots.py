"""Plots of a search: the best so far, predictions against measurements, a map of the candidates, what matters.

Each panel is drawn by one function on an axis and returns its alternative text, which `describe` gives of a figure.
Rewards are in units of what was told; for the aim ``both`` it is their size, for a target their distance to it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    lacks = error.name or "matplotlib"
    raise ImportError(f"plots need {lacks}: pip install 'bestarm[plot]'", name=lacks) from None

from bestarm.interface import FloatArray, IntArray
from bestarm.search import explanations
from bestarm.search.candidates import Candidates
from bestarm.search.errors import mean_of
from bestarm.search.next_batch import replayed_state
from bestarm.search.replay_figure import STYLE
from bestarm.search.rounds import FAILED, WITHDRAWN, of_prediction, reward
from bestarm.search.tables import listed

MOST_REFITS, LEAST_REFITS = 30, 3  # candidates that are left out in turn
_OF_NETWORKS = 8  # where five networks are trained for each
_REFITTED = 100_000  # features of measured candidates that all refits may see together, beyond the least
_TOO_MANY = 2_000_000  # from which on nothing is left out, unless it is asked for
_MOST_BARS = 12
_GROUPS = 10  # of a feature's values, about equally many candidates each
_FEW, _MANY = 10, 3000  # features between which a map has principal components
_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "0.35"
_DOTS = (0, (1, 1.2))
_BELOW: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 3, "columnspacing": 1.2}
_MOST_WORDS = 12  # on an axis of the map


def expected_best(rewards: FloatArray, sizes: IntArray) -> FloatArray:
    """Return the mean of the largest of some rewards drawn without replacement, for each number of draws, exactly.

    Of n sorted rewards the i-th is the largest of k drawn with probability C(i-1, k-1) / C(n, k).
    """
    ordered, n = np.sort(rewards), len(rewards)
    found = []
    for k in map(int, sizes):
        i = np.arange(k, n + 1)
        weights = gammaln(i) - gammaln(k) - gammaln(i - k + 1)
        weights -= gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        found.append(float(np.exp(weights) @ ordered[k - 1 :]))
    return np.array(found)


def explained_shares(candidates: Candidates, values: FloatArray) -> pd.Series[float]:
    """Return the share of the variance of some values that each column of the table explains alone.

    It is the correlation ratio of ten groups of equally many candidates (of words: a group each), less what as many
    random groups would explain (epsilon squared), and at least 0.
    """
    found = {}
    values = values / (float(np.abs(values).max()) or 1.0)  # squares of tiny ones would be 0
    total = float(((values - values.mean()) ** 2).sum())
    for label in candidates.table.columns:
        groups = _groups(candidates.table[label])
        counts = np.bincount(groups)
        means = np.bincount(groups, weights=values) / np.maximum(counts, 1)
        within = float(((values - means[groups]) ** 2).sum())
        k, n = int((counts > 0).sum()), len(values)
        by_chance = (k - 1) * within / (n - k) if n > k else math.inf
        explained = (total - within - by_chance) / total if total > 0.0 else 0.0
        found[str(label)] = max(explained, 0.0) if k > 1 else 0.0
    return pd.Series(found, dtype=np.float64).sort_values(ascending=False, kind="stable")


def _groups(column: pd.Series[Any]) -> Any:
    """Return the group of each candidate by one column, shape (n,): its word, or its tenth among the numbers."""
    if column.dtype != np.float64:
        return pd.factorize(column.fillna(""))[0]
    values = column.to_numpy()
    there = values[~np.isnan(values)]
    if len(np.unique(there)) <= _GROUPS:
        return pd.factorize(values, use_na_sentinel=False)[0]
    edges = np.quantile(there, np.arange(1, _GROUPS) / _GROUPS)
    return np.where(np.isnan(values), _GROUPS, np.searchsorted(edges, values, side="left"))


def left_out(search: Any, refits: int | None = None) -> pd.DataFrame:
    """Return ``name, measured, predicted`` of measured candidates, each predicted by a refit without it.

    Of more than ``refits`` candidates with a result, see `bestarm.Search.plot`, so many are taken evenly over the order
    of telling. Refits see the measured candidates alone.
    """
    plan = search._plan(1)
    names, values = search._candidates.names, search._status.values
    chunks = [chunk.only(chunk.rewards == chunk.rewards) for chunk in search._chunks()[0]]
    told = np.array(list(dict.fromkeys(int(a) for c in chunks for a in c.places)), dtype=np.int64)
    own = np.sort(told)
    view = np.ascontiguousarray(search._view(plan)[own])
    if refits is None:
        usual = _OF_NETWORKS if plan.by_networks else MOST_REFITS
        refits = min(usual, max(LEAST_REFITS if view.size < _TOO_MANY else 0, _REFITTED // max(view.size, 1)))
    most = min(len(told), refits)
    rows = []
    for place in told[np.unique(np.linspace(0, len(told) - 1, most).round().astype(int))] if len(told) > 2 else ():
        others = [c.only(keep, own) for c in chunks if (keep := c.places != place).any()]
        if (prediction := explanations.prediction_of(*replayed_state(plan, view, others))) is not None:
            predicted = float(of_prediction(prediction[0][np.searchsorted(own, place)], search.aim))
            measured = of_prediction(reward(mean_of(values[names[place]]), search.aim), search.aim)
            rows.append((names[place], float(measured), predicted))
    return pd.DataFrame(rows, columns=["name", "measured", "predicted"])


@dataclass
class Shown:
    """What the panels show of a search, computed when it is first needed."""

    search: Any
    features: tuple[str, ...] = ()  # of the map
    refits: int | None = None

    @property
    def unit(self) -> str:
        aim = self.search.aim
        return "size of the reward" if aim == "both" else "reward" if isinstance(aim, str) else f"distance to {aim:g}"

    @cached_property
    def states(self) -> pd.Series[str]:
        return self.search.states

    @cached_property
    def results(self) -> pd.DataFrame:
        """``round, name, reward`` of the measurements that did not fail, and what is maximised: ``good``."""
        table = self.search.history.dropna(subset="reward").reset_index(drop=True)
        return table.assign(good=[reward(value, self.search.aim) for value in table["reward"]])

    @cached_property
    def predicted(self) -> FloatArray:
        """What is maximised, as predicted of every candidate, shape (n,)."""
        prediction: Any = explanations.prediction_of(*self.search._replayed())
        return prediction[0]

    @cached_property
    def pool(self) -> FloatArray:
        """What is maximised, of every candidate that did not fail: measured, else as predicted."""
        means = self.search._status.means()
        known = [reward(means.get(name, math.nan), self.search.aim) for name in self.search.candidates.names]
        return np.where(np.isnan(known), self.predicted, known)[(self.states != FAILED).to_numpy()]

    @cached_property
    def shares(self) -> pd.Series[float]:
        """Share of the variance of the predictions that each column explains alone, the largest first."""
        return explained_shares(self.search.candidates, self.predicted)

    def in_units(self, values: Any) -> Any:
        found = of_prediction(values, self.search.aim)
        return found if self.unit == "reward" else np.maximum(found, 0.0)  # no size or distance is negative


def best_so_far(shown: Shown, axis: Axes) -> str:
    """Draw the best result after each one, beside the exact mean of a random order of the same results."""
    table = shown.results
    good = table["good"].to_numpy(dtype=np.float64)
    x, best = np.arange(1, len(good) + 1), np.maximum.accumulate(good)
    half = (len(good) + 1) // 2
    sizes = np.unique([half, *np.linspace(1, len(good), min(len(good), 400)).astype(int)])
    chance = shown.in_units(expected_best(good, sizes))
    of_pool = sizes[sizes <= len(shown.pool)]
    of_pool = of_pool[np.unique(np.linspace(0, len(of_pool) - 1, 60).astype(int))]
    line = shown.in_units(expected_best(shown.pool, of_pool))
    name, value = table["name"][int(good.argmax())], float(shown.in_units(good.max()))
    for start in np.flatnonzero(np.diff(table["round"])) if table["round"].nunique() <= 60 else ():
        axis.axvline(start + 1.5, color="0.85", lw=0.8, zorder=0)
    axis.plot(x, shown.in_units(good), "o", ms=3.5, color="0.6", mec="none", label="each result")
    axis.step(x, shown.in_units(best), where="post", color=_BLUE, lw=1.6, label="best so far")
    axis.plot(sizes, chance, color=_GREY, ls=_DOTS, lw=1.4, label="same results, random order: exact mean")
    axis.plot(of_pool, line, color=_ORANGE, ls="--", lw=1.4, label="all candidates, random order: by predictions")
    axis.set(xlabel="results, in the order of telling (lines: batches)", ylabel=shown.unit)
    single = "single " if table["name"].duplicated().any() else ""
    of_unit = "" if shown.unit == "reward" else f" ({shown.unit})"
    axis.set_title(f"The best {single}result so far is {value:.4g}{of_unit}, of {_short(name)}")
    axis.legend(**_BELOW | {"ncols": 2})
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    return (
        f"Best so far against results. The best of {len(good)} results is {value:.4g}{of_unit}, of {name}, "
        f"found as result {int(good.argmax()) + 1}. After {half} the search had {shown.in_units(best[half - 1]):.4g}; "
        f"the same results in random order have {chance[sizes == half][0]:.4g} on average: a search "
        "that learns finds its best results late, and lags behind that line. So many of all candidates in random "
        f"order, those not measured as they are predicted, have {line[-1]:.4g} at the end."
    )


def predicted_against_measured(shown: Shown, axis: Axes) -> str:
    """Draw measured candidates against what a refit without each of them predicts."""
    table = left_out(shown.search, shown.refits)
    known = shown.results["name"].nunique()
    if len(table) < 3:
        why = "fewer than three have one" if known < 3 else "fewer than three were left out (refits=10 does ten)"
        text = f"Predictions were not compared with measurements: {why}."
        axis.set_axis_off()
        axis.text(0.5, 0.5, text, ha="center", va="center", wrap=True, transform=axis.transAxes)
        return text
    low, high = float(table.iloc[:, 1:].to_numpy().min()), float(table.iloc[:, 1:].to_numpy().max())
    axis.plot([low, high], [low, high], color=_GREY, ls=_DOTS, lw=1.4, label="equal")
    axis.plot(table["measured"], table["predicted"], "o", ms=5, color=_BLUE, mec="black", mew=0.4)
    axis.set(xlabel=f"measured {shown.unit}", ylabel="predicted by a refit without it")
    axis.legend(loc="best")
    varied = bool((table[["measured", "predicted"]].nunique() > 1).all())
    rank = table["measured"].corr(table["predicted"], method="spearman") if varied else math.nan
    error = float(np.sqrt(np.mean((table["measured"] - table["predicted"]) ** 2)))
    of = f"{len(table)} of {known}" if len(table) < known else f"all {known}"
    agreement = f"rank correlation {rank:.2f}" if varied else "no rank correlation"
    axis.set_title(f"Left out in turn ({of}): {agreement}")
    return (
        f"Predicted against measured {shown.unit} of {of} measured candidates, each predicted by a refit without it: "
        f"{agreement}, root mean square error {error:.3g}."
    )


def map_of_candidates(shown: Shown, axis: Axes) -> str:
    """Draw all candidates, coloured by prediction, over two features or the first two principal components."""
    (x, across), (y, upwards), words = _plane(shown, axis)
    states, names = shown.states, list(shown.search.candidates.names)
    means = shown.search._status.means()
    measured = np.array([not math.isnan(means.get(name, math.nan)) for name in names])
    withdrawn = (states == WITHDRAWN).to_numpy()
    order = np.argsort(shown.predicted, kind="stable")  # the most promising on top
    dots: Any = {"cmap": "cividis", "s": 22 if len(x) <= 2000 else 6, "lw": 0, "rasterized": True}
    dots = axis.scatter(x[order], y[order], c=shown.in_units(shown.predicted)[order], **dots)
    axis.figure.colorbar(dots, ax=axis, label=f"predicted {shown.unit}")
    next_: Any = {"marker": "D", "s": 52, "facecolors": "none", "edgecolors": _ORANGE, "linewidths": 1.6}
    marked: Any = (
        ("measured", measured, {"marker": "o", "s": 42, "facecolors": "none", "edgecolors": "black"}),
        ("failed", states == FAILED, {"marker": "x", "s": 36, "color": "black"}),
        ("withdrawn", withdrawn & ~measured, {"marker": "+", "s": 36, "color": "black"}),
        ("to be measured", states.index.isin(shown.search.pending), next_),
    )
    counts = []
    for label, places, style in marked:
        if (where := np.asarray(places, dtype=np.bool_)).any():
            axis.scatter(x[where], y[where], label=label, **{"linewidths": 0.9, **style})
            counts.append(f"{int(where.sum())} {label}")
    axis.set(xlabel=_short(across, 40), ylabel=_short(upwards, 40))
    axis.grid(False)
    axis.margins(y=0.08)
    axis.legend(**_BELOW)
    left = np.flatnonzero(~(measured | withdrawn | (states == FAILED).to_numpy()))
    best = left[shown.predicted[left].argmax()] if len(left) else int(shown.predicted.argmax())
    value = float(shown.in_units(shown.predicted[best]))
    of = "those not measured" if len(left) else "all"
    axis.set_title(f"Of {of}, {_short(names[best])} is the most promising: {value:.4g}")
    return (
        f"Map of {len(names)} candidates over {words}, coloured by predicted {shown.unit} from "
        f"{shown.in_units(shown.predicted).min():.4g} to {shown.in_units(shown.predicted).max():.4g}; marked: "
        f"{', '.join(counts)}. Of {of}, {names[best]} is the most promising: {value:.4g}."
    )


def _plane(shown: Shown, axis: Axes) -> tuple[tuple[FloatArray, str], tuple[FloatArray, str], str]:
    """Return both coordinates of the map, each with its label, and what they are in words."""
    candidates = shown.search.candidates
    labels: list[str] = list(map(str, candidates.table.columns))
    if shown.features:
        if unknown := [name for name in shown.features if name not in labels]:
            raise ValueError(f"there is no feature {unknown[0]!r}; there are: {listed(labels)}.")
        if len(shown.features) != 2:
            raise ValueError(f"a map has 2 features, got {len(shown.features)}; write features=('dose', 'time').")
        chosen = list(shown.features)
    else:
        words = {str(c) for c in candidates.table if candidates.table[c].dtype != np.float64}
        varied = dict(zip(candidates.columns, candidates.varies, strict=True))
        varied |= {c: 1 < candidates.table[c].nunique(dropna=False) <= _MOST_WORDS for c in words}
        chosen = [label for label in shown.shares.index if varied[label]][:2]
        if not chosen or _FEW < int(candidates.varies.sum()) <= _MANY:
            scores, part = candidates.scores(2), "principal component {} of the features"
            both = "the first two principal components of the features"
            return (scores[:, 0], part.format(1)), (scores[:, 1], part.format(2)), both
    across = (_coordinate(candidates, chosen[0], axis.xaxis), chosen[0])
    if len(chosen) < 2:
        upwards = (shown.in_units(shown.predicted), f"predicted {shown.unit}")
        return across, upwards, f"{chosen[0]} and prediction"
    which = "two features" if shown.features else "the two features that alone explain the most of the predictions"
    upwards = (_coordinate(candidates, chosen[1], axis.yaxis), chosen[1])
    return across, upwards, f"{chosen[0]} and {chosen[1]}, {which}"


def _coordinate(candidates: Candidates, label: str, ticks: Any) -> FloatArray:
    """Return where candidates stand along a feature, shape (n,); words side by side, and named on the axis."""
    column = candidates.table[label]
    if column.dtype == np.float64:
        return candidates.values[:, candidates.columns.index(label)]
    codes, words = pd.factorize(column.fillna("(missing)"), sort=True)
    ticks.set_ticks(range(len(words)), list(map(_short, words)))
    spread = 0.5 * ((np.arange(len(codes)) * 0.618034) % 1.0 - 0.5)  # so that none hides another
    return np.asarray(codes + spread, dtype=np.float64)


def importance(shown: Shown, axis: Axes) -> str:
    """Draw the share of the variance of predictions that each feature explains alone."""
    shares = shown.shares.head(_MOST_BARS)
    y = np.arange(len(shares))
    axis.barh(y, shares, color=_BLUE, height=0.7)
    for place, value in zip(y, shares, strict=True):
        axis.text(value + 0.01, float(place), f"{value:.2f}", va="center")
    axis.set_yticks(y, list(map(_short, shares.index)))
    axis.set_ylim(max(len(shares), 4) - 0.5, -0.5)
    axis.set_xlim(0.0, max(1.12 * float(shares.max()), 0.1))
    axis.grid(True, axis="x")
    axis.grid(False, axis="y")
    axis.set_xlabel("share of the predictions' variance explained by it alone\n(correlation ratio of ten groups)")
    all_of_them = len(shown.shares) <= len(shares)
    more = "" if all_of_them else f" The first {len(shares)} of {len(shown.shares)} features are shown."
    if shares.iloc[0] <= 0.0:
        axis.set_title("No feature alone explains the predictions")
    else:
        most = "most of the predictions" if shares.iloc[0] > 0.5 else f"the most, {shares.iloc[0]:.2f}"
        axis.set_title(f"Alone, {_short(shares.index[0])} explains {most}")
    values = ", ".join(f"{name} {value:.2f}" for name, value in shares.items())
    return f"Share of the variance of predictions that each feature explains alone (correlation ratio): {values}.{more}"


PANELS: dict[str, tuple[str, Callable[[Shown, Axes], str]]] = {  # with their headings in a report
    "best": ("The best so far", best_so_far),
    "predicted": ("Predicted against measured", predicted_against_measured),
    "map": ("What the search expects of each candidate", map_of_candidates),
    "importance": ("Which features matter for the predictions", importance),
}


def plot(
    search: Any, panels: str | Sequence[str] = (), *, features: Sequence[str] = (), refits: int | None = None
) -> Figure:
    wanted: list[Any] = [panels] if panels and not isinstance(panels, list | tuple) else list(panels or PANELS)
    if unknown := [name for name in wanted if name not in PANELS]:
        raise ValueError(f"there is no panel {unknown[0]!r}; there are: {', '.join(PANELS)}.")
    if isinstance(features, str):
        raise ValueError(f"a map has 2 features, got the text {features!r}; write features=('dose', 'time').")
    return figure_of(Shown(search, tuple(map(str, features or ())), refits), wanted)


class Plot(Figure):
    """A figure that notebooks show, with its alternative text; windows and `pyplot` have no part in it."""

    def _repr_png_(self) -> tuple[bytes, dict[str, str]]:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue(), {"alt": describe(self)}


def figure_of(shown: Shown, panels: Sequence[str], width: float = 5.2) -> Figure:
    """Return a figure with some panels, two in a row, and their alternative texts."""
    if shown.results.empty:
        raise ValueError("there is nothing to plot before a result is told; tell a table of measurements.")
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    with matplotlib.rc_context(STYLE):
        figure = Plot(figsize=(width * columns, 0.71 * width * rows))
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        texts = [PANELS[name][1](shown, axis) for name, axis in zip(panels, axes, strict=False)]
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
    figure.set_label("\n".join(texts))
    return figure


def describe(figure: Figure) -> str:
    """Return the alternative text of a figure that `bestarm.Search.plot` made, a line for each panel."""
    return str(figure.get_label())


def _short(text: Any, most: int = 24) -> str:
    """Return a name that fits beside an axis, without what Matplotlib takes for a formula."""
    name = str(text).replace("$", r"\$")
    return name if len(name) <= most else name[: most - 1].rstrip("\\") + "…"
