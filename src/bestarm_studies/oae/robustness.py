"""Alternative readings of what the OAE paper leaves open, one at a time or drawn together, with rows or quantile."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.robustness import OpenChoice, Substitution
from bestarm_studies.oae.checks import RANDOM, VALUES, batch_limit
from bestarm_studies.oae.experiments import BATCH, SYNTHETIC
from bestarm_studies.oae.first_hits import random_mean
from bestarm_studies.oae.open_choices.open_design import CHOICES as DRAWN
from bestarm_studies.oae.open_choices.open_design import N_ARMS, N_DRAWS, QUANTILE, QUANTILES, drawn_levels

ON_LANDSCAPES, DESIGN = "synthetic_10_5", "design_10_5"
QUANTILE_WORDS = {"first_5": "top 5%", "first_1": "top 1%", "first_02": "top 0.2%"}
RANDOM_START = "random biases and their step sizes"
VARIANTS = {
    "open_base": "base",
    "open_steps_600": "600 steps",
    "open_rate_3": "step size 0.003",
    "open_rate_1": "step size 0.001",
    "open_bias": "random biases",
    "open_pool": "100 of the pool",
    "open_scale_10": "response x 10",
    "open_scale_01": "response x 0.1",
    "open_island": "islands",
    "open_width": "wider hills",
}
NOISY = {"open_noise_1": "noise", "open_noise_16": "noise, 16 times"}  # which the exact law of random batches has not
_SHORT = {"pool_minibatch": "arms of the pool", "hole": "shape of the holes", "hills": "drawing of the hills"}
SHORT = {choice.words: _SHORT.get(name, choice.words) for name, choice in DRAWN.items()} | {QUANTILE: "quantile"}


def _wide(rows: pd.DataFrame, settings: Mapping[str, Any], column: str = "regret") -> pd.DataFrame:
    kept = rows[~rows["broken"].astype(bool)]
    return kept.pivot(index="replication", columns="series", values=column).astype(np.float64)


def first_of_design(rows: pd.DataFrame, settings: Mapping[str, Any], column: str) -> pd.DataFrame:
    """Return the batches until an arm of a quantile; those of random batches are their mean by the exact law."""
    table = _wide(rows, settings, column)
    if RANDOM in table:
        table[RANDOM] = random_mean(N_ARMS, QUANTILES[column], BATCH, int(rows["round"].max()))
    return table


def _draws() -> Iterator[OpenChoice]:
    """Yield every draw, read at each quantile; a regret is of no quantile."""
    regret = {"regret_area": Value("regret of the best arm so far over all batches", _wide)}
    firsts = {
        at: Value(f"batches until a {at} arm", partial(first_of_design, column=column), limit=batch_limit)
        for column, at in QUANTILE_WORDS.items()
    }
    for number, (_, line) in enumerate(drawn_levels(N_DRAWS).iterrows()):
        rows = {ON_LANDSCAPES: Substitution(DESIGN, change=partial(lambda of, n: of[of["draw"] == n], n=number))}
        levels = {DRAWN[str(name)].words: str(level) for name, level in line.items()}
        yield OpenChoice(f"draw {number}", rows, ["regret_area"], regret, levels=levels, draw=number)
        for at, value in firsts.items():
            words, counted = f"draw {number}, {at}", levels | {QUANTILE: at}
            yield OpenChoice(words, rows, ["first_hit"], {"first_hit": value}, levels=counted, draw=number)


CHOICES = (
    OpenChoice("top 5%", quantities=["first_hit"], values={"first_hit": VALUES["first_hit_5"]}, ours=True),
    OpenChoice("top 0.2%", quantities=["first_hit"], values={"first_hit": VALUES["first_hit_02"]}, ours=True),
    OpenChoice(
        RANDOM_START,
        {name: Substitution(f"random_{name}", same="replication") for name in (*SYNTHETIC, "fits_synthetic")},
        named="the initial biases",
    ),
    # no claim on regret, since these searches end once they have found
    *(OpenChoice(words, {ON_LANDSCAPES: Substitution(name)}, ["first_hit"]) for name, words in VARIANTS.items()),
    *_draws(),
)
