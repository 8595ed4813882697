"""The demonstration pool: 240 conditions of a reaction that does not exist, and the yield of each, by a formula.

``python data/demonstration_pool/make.py`` writes ``candidates.csv`` and ``laboratory.csv`` beside this file, the same
bytes each time. The yield, in percent, is a hill over temperature, time and catalyst whose height and place depend on
the solvent, plus a normal error of one percent; nothing is below 0.
"""

from pathlib import Path

import numpy as np
import pandas as pd

SOLVENTS = {  # height of the hill in percent, and the temperature of its top in °C
    "DMF": (84.0, 98.0),
    "THF": (66.0, 80.0),
    "dioxane": (96.0, 104.0),
    "toluene": (74.0, 110.0),
}
N, SEED, ERROR = 240, 7, 1.0  # conditions, of the random numbers, and standard deviation of a yield in percent


def true_yield(table: pd.DataFrame) -> "pd.Series[float]":
    """Return the yield without error, in percent, from temperature (°C), hours, catalyst (mol%) and solvent."""
    height = table["solvent"].map({name: top for name, (top, _) in SOLVENTS.items()})
    warmest = table["solvent"].map({name: place for name, (_, place) in SOLVENTS.items()})
    off = ((table["temperature"] - warmest) / 35.0) ** 2
    off += ((table["hours"] - 15.0) / 12.0) ** 2
    off += ((table["catalyst"] - 3.6) / 3.0) ** 2
    return height * np.exp(-0.5 * off)


def pool() -> tuple[pd.DataFrame, "pd.Series[float]"]:
    """Return the candidates, by name, and the yield that a laboratory would find for each."""
    random = np.random.default_rng(SEED)
    table = pd.DataFrame(
        {
            "temperature": random.uniform(40.0, 140.0, N).round(0),
            "hours": random.uniform(1.0, 24.0, N).round(1),
            "catalyst": random.uniform(0.5, 6.0, N).round(1),
            "solvent": random.choice(list(SOLVENTS), N),
        },
        index=pd.Index([f"R{i:03d}" for i in range(1, N + 1)], name="name"),
    )
    found = (true_yield(table) + ERROR * random.standard_normal(N)).clip(lower=0.0).round(1)
    return table, found.rename("reward")


if __name__ == "__main__":
    folder = Path(__file__).parent
    candidates, laboratory = pool()
    candidates.to_csv(folder / "candidates.csv", lineterminator="\n")
    laboratory.to_csv(folder / "laboratory.csv", lineterminator="\n")
