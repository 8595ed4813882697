"""Effects of each difference between the Top-m paper and its authors' code, as values to plot."""

from functools import partial

import pandas as pd

from bestarm_lab.claims.cells import Rows
from bestarm_lab.figures.values import interval_text, paired_effects, single_changes
from bestarm_lab.notebooks.section import Section
from bestarm_studies.linear_topm.paper_against_code.experiments import COMPARISONS, EXPERIMENTS
from bestarm_studies.linear_topm.values import error_values

RATIO = "ratio of means"
OF_INSTANCE = {"1(a)": "audit_fig1a", "1(b)": "audit_fig1b", "1(c)": "drugs"}
LEAST = 0.02  # a change of less than 2% on every instance is named in the figure, not drawn
_ratios = partial(paired_effects, column="pulls", statistic=RATIO, log=True)


def audit_rows(section: Section) -> dict[str, pd.DataFrame]:
    """Return the rows of every experiment of the audit; ``drugs`` has the runs with identity features as well."""
    rows = {name: section.rows(name) for name in EXPERIMENTS}
    identity = rows["audit_identity"]
    rows["drugs"] = pd.concat(
        [rows["audit_fig1c"], identity[identity["series"].str.contains("identity features")]], ignore_index=True
    )
    return rows


def deviation_values(rows: Rows, profile: str) -> pd.DataFrame:
    """Return what each single change does to the sample complexity and to the error, on each instance of Figure 1."""
    frames = []
    for panel, name in OF_INSTANCE.items():
        frames += [_ratios(rows[name], panel=panel, profile=profile), error_values(rows[name], panel, profile)]
    mine = rows["audit_lingame"]
    frames.append(_ratios(mine, panel="1(b)", profile=profile, lines={"LinGame": single_changes(mine)["LinGame"]}))
    return pd.concat(frames, ignore_index=True)


def moving(values: pd.DataFrame, least: float = LEAST) -> tuple[pd.DataFrame, str]:
    """Return the changes that move some sample complexity, and in words those that move none of any algorithm."""
    ratios = values[values["statistic"] == RATIO]
    size = (ratios["value"] - 1.0).abs().groupby([ratios["series"], ratios["x"]], sort=False).max()
    changes = size.reset_index(name="size")
    still = changes[(changes["x"] != "") & (changes["size"] < least)]
    hidden = pd.MultiIndex.from_frame(still[["series", "x"]])
    kept = values[~pd.MultiIndex.from_frame(values[["series", "x"]]).isin(hidden)]
    return kept, ", ".join(change for change in dict.fromkeys(still["x"]) if change not in set(kept["x"]))


def wrong_answers(values: pd.DataFrame) -> pd.DataFrame:
    """Return the changes under which an answer was wrong at all, for reading."""
    errors = values[(values["statistic"] == "error rate") & (values["value"] > 0)]
    shares = [interval_text(*line) for line in errors[["value", "low", "high"]].itertuples(index=False)]
    return pd.DataFrame(
        {"figure": errors["panel"], "algorithm": errors["series"], "change": errors["x"], "wrong answers": shares}
    )


def lingame_values(rows: Rows, profile: str) -> pd.DataFrame:
    """Return the pulls of m-LinGapE and LinGIFA relative to those of LinGame, for pairs of thresholds."""
    return _ratios(rows["audit_lingame"], panel="1(b)", profile=profile, lines=COMPARISONS["audit_lingame"])


def gain_values(rows: Rows, profile: str) -> pd.DataFrame:
    """Return the factors that lead from LUCB to m-LinGapE, on Figures 1(a) and 1(c)."""
    frames = [
        _ratios(rows[name], panel=panel, profile=profile, lines=COMPARISONS[of])
        for panel, name, of in (("1(a)", "audit_gain", "audit_gain"), ("1(c)", "drugs", "audit_fig1c"))
    ]
    return pd.concat(frames, ignore_index=True)
