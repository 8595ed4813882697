"""The same fits by both engines for networks: each network parts from its twin, and what is learned does not.

Sums are rounded in another order, and a step of Adam makes more of a difference than it finds. After thousands of steps
the parameters of one network are others; whether the losses are, is a question about many networks.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from bestarm.models.fused_fit import fit_fused
from bestarm.models.mlp_fit import FitData, Training, fit_networks, predict
from bestarm.streams import Streams
from bestarm_lab.figures.values import as_values, interval_text, mean_interval
from bestarm_studies.oae.landscapes import landscape
from bestarm_studies.oae.network_fits import class_name


def engine_rows(
    landscapes: Sequence[str],
    classes: Sequence[tuple[Sequence[int], float]],
    strengths: Sequence[float],
    seen: int,
    steps: int,
    replications: int,
    seed: int,
    *,
    workers: int = 1,
) -> pd.DataFrame:
    """Return the losses ``fused`` and ``torch`` that both engines end with, from the same data, weights and
    minibatches. The loss is the mean squared error of the arms that were ``seen``, less ``strength`` times the mean
    output of the rest: what a search with optimism trains for. ``classes`` are hidden layers with a step size;
    ``correlation`` is that of the outputs of both over all arms (NaN where one is a constant). Rows of Torch are those
    of the processor that made them."""
    found = []
    n, runs = replications, np.arange(replications, dtype=np.int64)
    networks = np.stack([runs, np.zeros(n, dtype=np.int64)], axis=1)
    for name in landscapes:
        problem = landscape(name).take(runs)
        features, feature_set = problem.arms.feature_sets(n)
        features = (features - features.mean(axis=1, keepdims=True)) / features.std(axis=1, keepdims=True)
        arms = np.broadcast_to(np.arange(features.shape[1]), (n, features.shape[1]))
        data = FitData(
            torch.tensor(features, dtype=torch.float32),
            feature_set,
            arms[:, :seen],
            np.full(n, seen),
            arms[:, seen:],
            np.full(n, arms.shape[1] - seen),
            runs,
            problem.means[:, :seen],
        )
        key = Streams.first(n, seed=seed, instance=problem.label).key("engines")
        for hidden, rate in classes:
            training = Training(tuple(hidden), steps, rate)
            for strength in strengths:
                outputs = [
                    predict(training, data, fit(training, data, np.full(n, strength), key, networks))
                    for fit in (fit_fused, fit_networks)
                ]
                fused, of_torch = (
                    ((f[:, :seen] - data.targets) ** 2).mean(axis=1) - strength * f[:, seen:].mean(axis=1)
                    for f in outputs
                )
                with np.errstate(invalid="ignore"):  # a network may end as a constant
                    alike = np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(*outputs, strict=True)])
                mine = pd.DataFrame({"replication": runs, "fused": fused, "torch": of_torch})
                mine["correlation"] = np.where(np.isnan(alike), np.nan, alike)  # one NaN, whatever its sign
                found.append(mine.assign(panel=name, series=class_name(hidden), strength=strength))
    return pd.concat(found, ignore_index=True).assign(convention="as_written")


def engine_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return by landscape, class and strength (x) how far the engines are apart, network by network and in the mean.
    Differences of losses, fused less Torch, are in standard deviations over the networks of the fused engine. Statistic
    ``apart`` is the number of networks that differ by more than 0.01, ``one network`` the median difference without its
    sign, ``largest`` the largest, ``mean`` the mean difference with its 95% t-interval, ``correlation`` the median."""
    lines = []
    for (panel, series, x), mine in rows.groupby(["panel", "series", "strength"], sort=False):
        apart = (mine["fused"] - mine["torch"]) / mine["fused"].std()
        found = {
            "apart": ((apart.abs() > 0.01).sum(), np.nan, np.nan),
            "one network": (apart.abs().median(), np.nan, np.nan),
            "largest": (apart.abs().max(), np.nan, np.nan),
            "mean": mean_interval(apart),
            "correlation": (mine["correlation"].median(), np.nan, np.nan),
        }
        about = {"panel": panel, "series": series, "x": x, "n": len(mine)}
        lines += [
            about | {"statistic": name, "value": value, "low": low, "high": high}
            for name, (value, low, high) in found.items()
        ]
    return as_values(pd.DataFrame(lines), profile=profile)


def engine_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `engine_values` as a table of texts, a line for each landscape, class and strength."""
    lines = []
    for (panel, series, x), mine in values.groupby(["panel", "series", "x"], sort=False):
        of = mine.set_index("statistic")
        at = {str(name): float(value) for name, value in of["value"].items()}
        lines.append(
            {
                "landscape": panel,
                "class": series,
                "λ": f"{x:g}",
                "apart by 0.01": f"{at['apart']:.0f} of {int(mine['n'].iloc[0])}",
                "typical difference": f"{at['one network']:.1g}",
                "largest difference": f"{at['largest']:.3f}",
                "difference of means [95%]": interval_text(*of.loc["mean", ["value", "low", "high"]]),
                "correlation of outputs": f"{at['correlation']:.5f}",
            }
        )
    return pd.DataFrame(lines)
