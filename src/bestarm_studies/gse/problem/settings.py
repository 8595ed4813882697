"""Accuracy of each rival by its settings, on the instances of the tuning."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bestarm_lab.experiments.series import algorithm_and_change
from bestarm_lab.figures.values import as_values


def best_settings(rows: pd.DataFrame, cells: Sequence[str]) -> pd.DataFrame:
    """Return, for each algorithm, which of its settings has the highest accuracy on the average over the cells.
    Series are called "A | setting"; the columns are ``series, setting, accuracy, chosen``."""
    means = rows.groupby(["series", *cells], sort=False)["correct"].mean().groupby("series", sort=False).mean()
    found = means.rename("accuracy").reset_index()
    found[["series", "setting"]] = [algorithm_and_change(name) for name in found["series"]]
    found["chosen"] = found["accuracy"] == found.groupby("series")["accuracy"].transform("max")
    return found[["series", "setting", "accuracy", "chosen"]]


def setting_values(rows: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return the accuracy of each setting of each rival, averaged over the cells of each tuning experiment.
    The panel is the instance, x the setting, and ``chosen`` marks the best."""
    frames = []
    for name, frame in rows.items():
        cells = [c for c in ("gap", "n_arms", "n_features", "budget") if c in frame]
        frames.append(best_settings(frame, cells).assign(panel=name.removeprefix("tune_")))
    found = pd.concat(frames, ignore_index=True).rename(columns={"setting": "x", "accuracy": "value"})
    return as_values(found, statistic="accuracy", profile=profile).assign(chosen=found["chosen"])


def setting_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `setting_values` as texts, the best setting of each rival in bold."""
    shown = [f"**{v:.3f}**" if best else f"{v:.3f}" for v, best in zip(values["value"], values["chosen"], strict=True)]
    table = values.rename(columns={"panel": "instance"}).assign(entry=values["x"] + ": " + pd.Series(shown))
    return table.groupby(["instance", "series"], sort=False)["entry"].agg(" · ".join).reset_index(name="accuracy")


def setting_curves(values: pd.DataFrame) -> pd.DataFrame:
    """Return `setting_values` as curves: a panel for each rival with a numeric setting, a line for each instance."""
    numeric = values[values["x"].str.contains(r"= [\d.]+$")]
    setting = numeric["x"].str.split(" = ").str[1].astype(np.float64)
    return numeric.assign(panel=numeric["series"], series=numeric["panel"], x=setting)
