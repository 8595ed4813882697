"""A random design over what the paper leaves open: in each draw every open choice has a level of its own.

One choice at a time shows nothing of their interplay, and step size, biases and hills are where it matters. Here the
levels of all choices are drawn together, balanced as in a Latin hypercube: in all draws each level of a choice occurs
equally often, in an order of its own. Landscapes are drawn otherwise, too, within what the paper says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.streams import Streams, uniform
from bestarm_lab.experiments.definitions import code_digest
from bestarm_lab.experiments.experiment import Cell, Experiment, with_settings
from bestarm_lab.experiments.keys import Part, digest
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.figures.values import as_values
from bestarm_lab.metrics import arm_count, rank, relative_regret
from bestarm_studies.oae.experiments import BATCH, FOUND
from bestarm_studies.oae.first_hits import first_hits, without_broken
from bestarm_studies.oae.landscapes import HOLES, ISLAND, LANDSCAPES, Landscape, landscape, one_hill
from bestarm_studies.oae.series import ENSEMBLES, FEW_RUNS, RUNS, SMALL

SUMMIT = 3.0  # of the one hill; the paper says so
HILLS = {
    "right": ((-8.0, 0.55), (-3.0, 0.80), (2.0, 0.65), (7.0, 1.00)),  # as in `bestarm_studies.oae.landscapes`
    "inner": ((-8.0, 0.55), (-3.0, 0.80), (2.0, 1.00), (7.0, 0.65)),
    "rivals": ((-8.0, 0.75), (-3.0, 0.85), (2.0, 0.80), (7.0, 1.00)),
}
_WIDTH = 0.9
N_DRAWS, DESIGN_ROUNDS, N_ARMS = 60, 50, 1000
QUANTILES = {"first_5": 0.05, "first_1": 0.01, "first_02": 0.002}
QUANTILE = "quantile that is counted"
QUANTILE_REASON = "The paper draws all quantiles and names none; every draw is read at each of these."


@dataclass(frozen=True)
class OpenLandscape(Landscape):
    """One hill or four, of any width and heights.
    ``hills``: (centre, height) of the four; of one hill this says nothing."""

    hills: tuple[tuple[float, float], ...] = HILLS["right"]

    def evaluate(self, x: FloatArray) -> FloatArray:
        """Return the responses of points, whether there is an arm or not."""
        if self.n_hills == "one":
            return self.scale * one_hill(SUMMIT + (x - SUMMIT) / self.width)
        spread = 2.0 * (_WIDTH * self.width) ** 2
        return self.scale * np.asarray(sum(h * np.exp(-((x - c) ** 2) / spread) for c, h in self.hills))


def open_landscape(
    name: str, hole: str = "interval", hills: str = "right", width: float = 1.0, scale: float = 1.0, seed: int = 0
) -> OpenLandscape:
    """Return one of the four landscapes, drawn otherwise.
    ``hills``: which of the four is the highest ("right", "inner"), or that the others are nearly as high ("rivals"), an
    unknown one a ValueError; ``width``: a factor, of the one hill, too; others, and errors, are as of `landscape`."""
    if hills not in HILLS:
        raise ValueError(f"hills must be one of {', '.join(HILLS)}, got {hills!r}.")
    plain = landscape(name, hole=hole, width=width, scale=scale, seed=seed)
    drawn, top = HILLS[hills], SUMMIT
    if plain.n_hills == "four":
        top = max(drawn, key=lambda hill: hill[1])[0]
    gaps: tuple[tuple[float, float], ...] = ()
    if plain.gaps and hole == "interval":
        usual, (low, high) = SUMMIT if plain.n_hills == "one" else 7.0, HOLES[plain.n_hills]
        gaps = ((low - usual + top, high - usual + top),)
    elif plain.gaps:
        near, far = ISLAND
        gaps = ((top - far, top - near), (top + near, top + far))
    label = f"{name} {hole} {hills} x{width:g}"
    return OpenLandscape(label, plain.n_hills, gaps, plain.n_arms, width, scale, seed, plain.data, drawn)


@dataclass(frozen=True)
class Choice:
    """Something that the paper leaves open: ``levels``, words to values, begin with that of the other notebooks;
    ``of_problem``: whether the landscape has the setting."""

    words: str
    levels: Mapping[str, Any]
    reason: str
    of_problem: bool = False


CHOICES: dict[str, Choice] = {
    "bias": Choice(
        "initial biases",
        {"zero": 0.0, "Torch's default": 1.0},
        "The paper names Xavier's law for weights and is silent on biases; silence usually means the framework's own.",
    ),
    "learning_rate": Choice(
        "step size of Adam",
        {"0.01": 0.01, "0.003": 0.003, "0.001": 0.001},
        "Adam's default is 0.001; 0.01 fits the landscapes best, 0.003 lies between. The same for every class.",
    ),
    "steps": Choice(
        "steps of a fit",
        {"1000": 1000, "500": 500, "2000": 2000},
        "The paper has 5000, which 60 draws cannot have here; if the number mattered, the cut would decide.",
    ),
    "pool_minibatch": Choice(
        "arms of the pool in a step",
        {"10": 10, "100": 100},
        "The paper's 10 is said of the data; of the arms in the regulariser a step may see as many, or far more.",
    ),
    "standardise": Choice(
        "features",
        {"standardised": True, "as drawn": False},
        "Nothing is said of scaling; raw features run from -10 to 10.",
    ),
    "hole": Choice(
        "arms missing around the summit",
        {"interval": "interval", "island": "island"},
        "The text can be read as a summit without arms, or as a summit whose surroundings have none.",
        of_problem=True,
    ),
    "hills": Choice(
        "drawing of the four hills",
        {"highest at the right": "right", "highest inside": "inner", "rivals nearly as high": "rivals"},
        "There is a picture and no formula: four maxima that trap a greedy search.",
        of_problem=True,
    ),
    "width": Choice(
        "width of the hills",
        {"1": 1.0, "0.75": 0.75, "1.33": 4 / 3},
        "There is a picture and no formula; a third narrower and wider than ours.",
        of_problem=True,
    ),
    "scale": Choice(
        "scale of the responses",
        {"1": 1.0, "0.3": 0.3, "3": 3.0},
        "Optimism and label noise are relative to it; standardised responses would be 2.3 to 3.6 times ours.",
        of_problem=True,
    ),
}


def drawn_levels(n_draws: int, choices: Mapping[str, Choice] = CHOICES) -> pd.DataFrame:
    """Return the level of every choice in each draw, in words: a row for each draw, a column for each choice.
    Each level of a choice is in as many draws as any other, or in one more."""
    streams = Streams.first(1, instance="open design of the landscapes")
    found = {}
    for name, choice in choices.items():
        key = streams.key(name)
        order = np.argsort([uniform(key, 0, draw, 0) for draw in range(n_draws)])
        levels = list(choice.levels)
        column = np.empty(n_draws, dtype=object)
        column[order] = [levels[place % len(levels)] for place in range(n_draws)]
        found[name] = column
    return pd.DataFrame(found, index=pd.RangeIndex(n_draws, name="draw"))


def level_table() -> pd.DataFrame:
    """Return the choices with their levels and the reason for these, as text."""
    lines = [(choice.words, ", ".join(choice.levels), choice.reason) for choice in CHOICES.values()]
    return pd.DataFrame([*lines, (QUANTILE, "5%, 1%, 0.2%", QUANTILE_REASON)], columns=["choice", "levels", "why"])


def level_values() -> pd.DataFrame:
    """Return in how many draws each level of a choice occurs, in the columns of a figure's CSV."""
    counts = drawn_levels(N_DRAWS).melt(var_name="panel", value_name="series").value_counts(sort=False)
    return as_values(counts.rename("value").reset_index(), statistic="draws", n=N_DRAWS, profile="laptop")


@dataclass(frozen=True)
class RandomDesign(Experiment):
    """Searches in which every draw has settings of its own, of the landscape and of all policies.
    Rows have a column ``draw`` and are one for each run; a profile cuts ``n_draws`` by ``vary["draw"]``."""

    n_draws: int = 1

    def cells(self, profile: Profile) -> list[Cell]:
        """Return every series in every cell of each draw."""
        levels, found = drawn_levels(self.n_draws), []
        for draw in self.scale(profile).vary.get("draw", range(self.n_draws)):
            chosen = {name: choice.levels[str(levels.at[draw, name])] for name, choice in CHOICES.items()}
            landscape = {name: value for name, value in chosen.items() if CHOICES[name].of_problem}
            policies = {name: value for name, value in chosen.items() if name not in landscape}
            one = replace(
                self,
                problem=with_settings(self.problem, {**landscape, "seed": draw}),
                settings={**self.settings, **policies},
                draws=f"draw {draw}",
            )
            found += [replace(cell, where={"draw": draw, **cell.where}) for cell in Experiment.cells(one, profile)]
        return found

    def parts(self, profile: Profile, seed: int, workers: int = 1) -> list[Part]:
        """Return what has to be stored, a row for each run."""
        code = code_digest(run_lines)
        return [
            replace(
                part,
                code=digest([part.code, code]),
                compute=partial(_lines_of, part.compute),
                wanted=("replication", "round", *QUANTILES, "regret", "broken"),
            )
            for part in super().parts(profile, seed, workers)
        ]


def _lines_of(compute: Any, start: int, stop: int) -> pd.DataFrame:
    return run_lines(compute(start, stop))


def run_lines(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each run of a series, from the rows of its batches.
    ``first_5, first_1, first_02`` are one more than there are batches where none was found; ``regret`` is the mean over
    all batches; after a run ended, that with which it ended."""
    rows = rows.assign(series="")
    n_rounds = int(rows["round"].max())
    hits = {name: first_hits(rows, tau)["first"].droplevel("series") for name, tau in QUANTILES.items()}
    runs = rows[rows["round"] > 0].sort_values("round").groupby("replication")
    known = runs["round"].transform(lambda r: r.shift(-1, fill_value=n_rounds + 1) - r)  # batches that a row stands for
    seen = rows.loc[known.index, "relative_regret"] * known
    table = pd.DataFrame(hits).astype(np.uint8)
    table["regret"] = (seen.groupby(rows["replication"]).sum() / n_rounds).astype(np.float32)
    table["broken"] = ~table.index.isin(without_broken(rows)["replication"])
    return table.assign(round=np.uint8(n_rounds)).rename_axis("replication").reset_index()


_FEW = {"steps": 10, "rounds": 4, "members": 2}
OPEN_DESIGN: dict[str, Experiment] = {
    "design_10_5": RandomDesign(
        title="Landscapes with every open choice drawn, NN 10-5",
        problem=partial(open_landscape),
        vary={"name": LANDSCAPES},
        settings={"batch": BATCH, "hidden": SMALL},
        series=ENSEMBLES,
        observe=FOUND,
        metrics=(rank, arm_count, relative_regret),
        every=1,
        block=RUNS,
        profiles={
            "smoke": Scale(2, settings=_FEW, vary={"draw": range(2), "name": LANDSCAPES[-1:]}),
            "laptop": Scale(FEW_RUNS, settings={"rounds": DESIGN_ROUNDS}),
            "paper": Scale(RUNS, settings={"rounds": DESIGN_ROUNDS}),  # what figures and tables have
        },
        n_draws=N_DRAWS,
    )
}
