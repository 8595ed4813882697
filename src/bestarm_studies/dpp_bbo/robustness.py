"""Alternative readings of what the DPP-BBO paper leaves open, and the rows for each.

Hyper-parameters known beforehand, and what was run with them alone (the number of candidates), are controls and no
readings, since the paper learns them; so are searches that ask for one arm at a time.
"""

from collections.abc import Collection

import pandas as pd

from bestarm_lab.claims.robustness import OpenChoice, Substitution
from bestarm_lab.experiments.series import name_of_change
from bestarm_studies.dpp_bbo.experiments import ZERO_MEANS
from bestarm_studies.dpp_bbo.values import EVERYBODY, SEARCHES

MAXIMUM, SAMPLE = "UCB-DPP-MAX", "UCB-DPP-SAMPLE"
BOTH = (MAXIMUM, SAMPLE)
PANELS = ("fig1_branin", "fig1_hartmann", "fig2_bibtex", "fig2_robot", "fig3_cosines", "fig4_abalone", "fig5_delicious")
PANEL_NAMES = [f"{panel}_b{batch}" for panel in PANELS for batch in (5, 10)]
# The recommendation is not in these: distances of arms, and the regret of Abalone's observed snails.
RECOMMENDED = ("log_regret", "log_candidate_regret", "candidate_regret", "distance_to")


def _but(*names: str) -> list[str]:
    return [name for name in EVERYBODY if name not in names]


def _changed(
    words: str,
    change: str,
    series: Collection[str],
    beside: Collection[str] = (),
    functions: Collection[str] = ("branin", "hartmann"),
) -> OpenChoice:
    """Return one of the choices of `synthetic.experiments`, and the searches that do not depend on it."""
    names = {name: name_of_change(name, change) for name in series}
    rows = {f"fig1_{f}_b5": Substitution(f"choices_{f}", names, beside, same="round") for f in functions}
    return OpenChoice(words, rows)


def _noise(noise: str) -> OpenChoice:
    names = {name: name_of_change(name, f"noise {noise}") for name in EVERYBODY[:7]}
    words = "no noise" if noise == "0" else f"noise of {noise} standard deviations"
    return OpenChoice(words, {"fig1_branin_b5": Substitution("noise", names, same="round")})


def _zero_mean(change: str) -> OpenChoice:
    names = {name: name_of_change(name, change) for name in SEARCHES}
    rows = {panel: Substitution(f"zero_mean_{panel}", names, same="replication") for panel in PANEL_NAMES}
    return OpenChoice(f"prior {change}", rows)


def _recommends(words: str, column: str) -> OpenChoice:
    def by(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(candidate_regret=rows[column])

    return OpenChoice(words, {name: Substitution(name, change=by) for name in PANEL_NAMES}, RECOMMENDED)


_NO_UCB_WIDTH = ("B-EST", "EST-DPP-MAX", "EST-DPP-SAMPLE", "EST-UNIFORM", "LP-UCB")
_NO_REGION = ("GP-BUCB", "B-EST", "LP-UCB")
CHOICES = (
    _recommends("recommends the best observed mean", "by_observed_mean"),
    _recommends("recommends the best observed reward", "by_observed_reward"),
    OpenChoice(
        "the walker around a gait",
        {f"fig2_robot_b{batch}": Substitution(f"nominal_robot_b{batch}") for batch in (5, 10)},
    ),
    _noise("0"),
    _noise("0.1"),
    _changed("ten first arms", "ten first arms", BOTH),
    *(_zero_mean(change) for change in ZERO_MEANS),
    _changed("fits after every batch", "fits after every batch", BOTH),
    _changed("flat priors", "flat priors", BOTH),
    _changed("slice sampling", "slice sampling", BOTH),
    _changed("β over 5", "β over 5", BOTH, _NO_UCB_WIDTH),
    _changed("region of Contal's code", "region of Contal's code", BOTH, _NO_REGION),
    _changed("first arm left out of the region", "first arm left out", BOTH, _NO_REGION),
    _changed("the exchange chain", "exchange chain", [SAMPLE], _but(SAMPLE, "EST-DPP-SAMPLE"), ["branin"]),
    _changed("ESTn", "ESTn", ["EST-DPP-SAMPLE", "B-EST"], ["GP-BUCB", MAXIMUM, SAMPLE, "UCB-UNIFORM", "LP-UCB"]),
    _changed("t of GP-BUCB counts batches", "t counts batches", ["GP-BUCB"], _but("GP-BUCB")),
    _changed("two stages of GP-BUCB", "two stages", ["GP-BUCB"], _but("GP-BUCB", "B-EST")),
    _changed("width of UCB in LP-UCB", "width of UCB", ["LP-UCB"], _but("LP-UCB")),
    _changed("penalty of GPyOpt in LP-UCB", "penalty of GPyOpt", ["LP-UCB"], _but("LP-UCB")),
)
