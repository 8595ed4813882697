"""The picture of README: searches of the demonstration pool beside chance; ``python -m benchmarks.search_picture``.

25 searches with the default policy and batches of 8 look for the best of 240 conditions; the exact mean of the best of
as many random conditions is the line of chance.

Writes ``docs/search.csv`` (run, tried, best so far) and ``docs/search.png``.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bestarm import Search
from bestarm.search.plots import expected_best
from bestarm_lab.figures.styles import use_style
from bestarm_lab.paths import ROOT

POOL = ROOT / "data" / "demonstration_pool"
FILE = ROOT / "docs" / "search.csv"
RUNS, BATCH, BATCHES = 25, 8, 12


def best_so_far(run: int, batches: int = BATCHES) -> list[float]:
    """Return the best yield after each batch of one search."""
    search, found = Search(POOL / "candidates.csv", seed=run), rewards()
    best: list[float] = []
    for _ in range(batches):
        batch = search.ask(BATCH)
        values = found[batch["name"]].to_numpy()
        search.tell(batch.assign(reward=values))
        best.append(max([*best[-1:], *values]))
    return best


def rewards() -> pd.Series:
    """Return what the laboratory measures of each candidate."""
    return pd.read_csv(POOL / "laboratory.csv", index_col="name")["reward"]


def picture(table: pd.DataFrame) -> None:
    """Draw the median of the searches with their middle half, and chance."""
    use_style()
    pool = rewards().to_numpy()
    tried = np.arange(1, BATCH * BATCHES + 1)
    groups = table.groupby("tried")["best"]
    figure, axis = plt.subplots(figsize=(6.4, 3.0))
    axis.axhline(pool.max(), color="0.6", lw=1.0)
    axis.text(BATCH * BATCHES, pool.max(), "the best of all 240", ha="right", va="bottom", size=8, color="0.35")
    axis.plot(tried, expected_best(pool, tried), color="0.35", ls=":", lw=1.8)
    axis.text(60, expected_best(pool, np.array([60]))[0] - 0.5, "random order", va="top", size=9, color="0.35")
    middle = groups.median()
    axis.fill_between(middle.index, groups.quantile(0.25), groups.quantile(0.75), color="#0072B2", alpha=0.18, lw=0)
    axis.plot(middle.index, middle, color="#0072B2", marker="o", ms=4)
    axis.text(27, 88, "bestarm.Search", size=9, color="#0072B2")
    axis.set(xlabel="experiments done", ylabel="best yield so far (%)")
    figure.savefig(FILE.with_suffix(".png"), dpi=140)


def main() -> None:
    """Run the searches and draw them."""
    lines = [(run, BATCH * (k + 1), best) for run in range(RUNS) for k, best in enumerate(best_so_far(run))]
    table = pd.DataFrame(lines, columns=["run", "tried", "best"])
    table.to_csv(FILE, index=False)
    picture(table)


if __name__ == "__main__":
    main()
