"""Values of what lies beyond the Top-m paper: growth, misspecified means, real instances, other ε and m."""

import numpy as np
import pandas as pd

from bestarm_lab.figures.values import as_values, summarise
from bestarm_lab.notebooks.section import Section
from bestarm_studies.linear_topm.beyond.experiments import GROWTH_ARMS, GROWTH_FEATURES, MISSPECIFIED, N_FEATURES, REAL
from bestarm_studies.linear_topm.complexity import gaps, ugape_complexity
from bestarm_studies.linear_topm.values import prediction_values, run_family, split_series

GROWTH = [*GROWTH_ARMS, *GROWTH_FEATURES]
BEYOND_EPSILON, NOT_EXACT = "some arm not within ε", "not exactly the best m"


def growth_values(section: Section) -> pd.DataFrame:
    """Return the sample complexity against the number of arms (``b``) and of features (``c``)."""
    arms = run_family(section, GROWTH_ARMS)
    features = pd.concat([run_family(section, GROWTH_FEATURES), arms[arms["x"] == 30].assign(x=float(N_FEATURES))])
    return pd.concat(
        summarise(rows, {"mean": ("pulls", "mean")}, x="x", panel=panel, profile=section.profile)
        for panel, rows in {"b": arms, "c": features.sort_values("x", kind="stable")}.items()
    )


def time_values(section: Section) -> pd.DataFrame:
    """Return the wall time of a pull against the number of arms."""
    kinds: dict[str, tuple[str, str | float]] = {"microseconds per pull": ("microseconds", "mean")}
    return summarise(section.rows("growth_times"), kinds, x="x", panel="a", profile=section.profile)


def misspecified_values(section: Section) -> pd.DataFrame:
    """Return error rate (``a``) and sample complexity (``b``) against the largest deviation from a linear model."""
    rows = run_family(section, MISSPECIFIED).assign(wrong=lambda f: 1.0 - f["correct"])
    errors = summarise(rows, {"error rate": ("wrong", "share")}, x="x", panel="a", profile=section.profile)
    return pd.concat([errors, summarise(rows, {"mean": ("pulls", "mean")}, x="x", panel="b", profile=section.profile)])


def misspecified_table(section: Section) -> pd.DataFrame:
    """Return the true gap of each level, and whether the linear part still has the right best arms."""
    lines = []
    for name, level in MISSPECIFIED.items():
        problem = section.experiment(name).problem()
        means, linear = problem.means[0], problem.features @ problem.theta
        same = set(np.argsort(-linear)[:3]) == set(np.argsort(-means)[:3])
        line = {"largest deviation": f"{level:g}", "true gap": f"{gaps(means, 3).min():.3f}"}
        lines.append(line | {"the linear part has the right best arms": "yes" if same else "no"})
    return pd.DataFrame(lines)


def real_rows(section: Section) -> pd.DataFrame:
    """Return the rows of the real instances; x is the instance and whether its means are linear."""
    return run_family(section, REAL)


def real_values(section: Section, rows: pd.DataFrame) -> pd.DataFrame:
    """Return true means against linear predictions (``a``), loss of the answer (``b``), sample complexity (``c``)."""
    truth = prediction_values(section.problem("real_artists_103_true"), "a", section.profile)
    loss = summarise(rows, {"mean loss": ("simple_regret", "mean")}, x="x", panel="b", profile=section.profile)
    pulls = summarise(rows, {"mean": ("pulls", "mean")}, x="x", panel="c", profile=section.profile)
    return pd.concat([truth, loss, pulls])


def real_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often exactly the best arms were found, and how often a run stopped by itself."""
    runs = rows.assign(instance=rows["x"].str.replace("\n", " ")).groupby(["instance", "series"], sort=False)
    shares = runs.agg(exact=("correct", "mean"), stopped=("stopped", "mean")).map("{:.2f}".format).reset_index()
    names = {"series": "algorithm", "exact": "found exactly the best", "stopped": "stopped by itself"}
    return shares.rename(columns=names)


def settings_values(section: Section) -> pd.DataFrame:
    """Return the pulls against ε (``a``), the errors of m-LinGapE (``b``), and the pulls against m (``c``)."""
    profile = section.profile
    tolerance = split_series(section.rows("theory_epsilon"), "ε").assign(exact=lambda f: 1.0 - f["correct"])
    tolerance["beyond"] = 1.0 - tolerance["within_epsilon"]
    each_m = split_series(section.rows("each_m"), "m")
    lingape = tolerance[tolerance["series"] == "m-LinGapE (largest var.)"]
    frames = [summarise(tolerance, {"mean": ("pulls", "mean")}, x="x", panel="a", profile=profile)]
    for series, column in {BEYOND_EPSILON: "beyond", NOT_EXACT: "exact"}.items():
        found = summarise(lingape, {"error rate": (column, "share")}, x="x", panel="b", profile=profile)
        frames.append(found.assign(series=series))
    frames.append(summarise(each_m, {"mean": ("pulls", "mean")}, x="x", panel="c", profile=profile))
    return pd.concat(frames)


def constants_of_each_m(section: Section, epsilon: float = 0.01) -> pd.DataFrame:
    """Return H(UGapE) of the random instance for every m, as a series of panel ``c``."""
    means = section.experiment("each_m").problem().means[0]
    sizes = range(1, len(means))
    values = pd.DataFrame({"x": sizes, "value": [ugape_complexity(means, m, epsilon=epsilon) for m in sizes]})
    return as_values(values, panel="c", series="H(UGapE)", statistic="mean", profile=section.profile)
