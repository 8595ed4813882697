"""Claims on landscapes where networks start from biases of zero, beside those from their framework's random ones.

The paper names Xavier's law for weights and says nothing of biases. The ledger's searches of landscapes start from
Torch's default. Biases of zero put all kinks of the first layer at the mean of x, where arms lie on a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm_lab.claims.choices import decided_alone
from bestarm_lab.claims.kinds import ClaimTest
from bestarm_lab.claims.records import Claim
from bestarm_lab.claims.verdicts import states
from bestarm_lab.figures.values import as_values
from bestarm_lab.paths import RESULTS
from bestarm_lab.results import published
from bestarm_lab.study import load_study
from bestarm_studies.oae.experiments import ZERO_BIASES
from bestarm_studies.oae.stands import count, of_what_is_there

PREFIX = "zero_"
BIASES = RESULTS / "oae" / "biases.csv"
READINGS = {"random": "random biases", "zero": "biases of zero"}
STATES = ("for", "open", "against")
COUNTS = [f"{reading}_{state}" for reading in READINGS for state in STATES]
COLUMNS = ["claim", *READINGS, *COUNTS, "comparisons", "of", "without"]


def under_biases(
    claims: Mapping[str, Claim], random: Mapping[str, pd.DataFrame], zero: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return the verdicts on claims from random biases and from biases of zero, over the same comparisons and runs.

    Parameters
    ----------
    claims : mapping
        The study's claims. One of which no comparison is in these rows, or one on other data as well, is left out.
    random, zero : mapping of str to DataFrame
        Rows at one scale by the experiment, the same experiments in both.

    Returns
    -------
    DataFrame
        ``COLUMNS``: a verdict for each of ``READINGS``, by itself, at 5% and unadjusted for the number of claims; how
        many comparisons are significantly for the claim, open and against it; how many of a claim's comparisons these
        are; the experiments of the others.
    """
    series = {name: set(rows["series"]) for name, rows in random.items()}
    lines = []
    for identity, claim in claims.items():
        test = claim.test
        if claim.ours or not isinstance(test, ClaimTest) or not set(test.experiments()) & set(series):
            continue
        asked, without = of_what_is_there(test, series)
        if not asked.parts:
            continue
        line: dict[str, Any] = {"claim": identity, "comparisons": count(asked), "of": count(test)}
        line["without"] = ", ".join(without)
        for reading, rows in (("random", random), ("zero", zero)):
            line |= _decided(asked, rows, reading)
        lines.append(line)
    return pd.DataFrame(lines, columns=COLUMNS)


def _decided(test: ClaimTest, rows: Mapping[str, pd.DataFrame], reading: str) -> dict[str, Any]:
    word, found = decided_alone(test, rows)
    told = states(found)
    return {reading: word, **{f"{reading}_{state}": told.count(state) for state in STATES}}


def rows_of_both() -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Return the committed rows of landscapes at the paper's own scale, from random biases and from biases of zero."""
    random, zero = {}, {}
    for name in ZERO_BIASES:
        plain = name.removeprefix(PREFIX)
        (scale, ours), (other, theirs) = published("oae", plain), published("oae", name)
        if ours is not None and theirs is not None and scale == other == "paper":
            random[plain], zero[plain] = ours, theirs
    return random, zero


def write_biases() -> None:
    """Decide every claim on the committed rows of both, see `under_biases`."""
    under_biases(load_study("oae").claims, *rows_of_both()).to_csv(BIASES, index=False, lineterminator="\n")


def read_biases() -> pd.DataFrame:
    """Return the committed table of `under_biases`."""
    return pd.read_csv(BIASES, dtype={"without": str}, keep_default_na=False)


def bias_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return `under_biases` as text: a row for each claim, and for each reading the word and its counts."""
    table = pd.DataFrame({"claim": found["claim"].str.removeprefix("OAE-")})
    for reading, words in READINGS.items():
        counts = found[[f"{reading}_{state}" for state in STATES]].astype(str).agg(" / ".join, axis=1)
        table[words] = found[reading] + " (" + counts + ")"
    return table.assign(comparisons=found["comparisons"].astype(str) + " of " + found["of"].astype(str))


def bias_values(found: pd.DataFrame) -> pd.DataFrame:
    """Return `under_biases` as a figure's CSV: a statistic is a verdict, x the comparisons, the value those for it."""
    frames = []
    for reading, words in READINGS.items():
        columns = {"claim": "panel", reading: "statistic", "comparisons": "x", f"{reading}_for": "value"}
        frames.append(found.rename(columns=columns)[list(columns.values())].assign(series=words, n=np.nan))
    return as_values(pd.concat(frames, ignore_index=True), profile="paper")
