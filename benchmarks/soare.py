"""Soare's instance at the budgets that others recorded, 1000 runs of each policy: ``python -m benchmarks.soare``.

The shares of ``RECORDED`` are of FFTypeZero/bobw_linear, commit 6cf899c, `plot_data`, 21,000 runs each. They come in
sixes that share seeds, so their standard errors are up to the root of six times those of the binomial: .008 for .55.
Its sixth budget, 10 pulls, is left out: with fewer pulls than arms most policies refuse, and OD-LinBAI draws an arm.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

import pandas as pd

from benchmarks.noisy_pulls import ORACLES, Case, policies
from bestarm.policies.linear.budgeted import lingape
from bestarm.problems.linear_bandit import soare_instance
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import correct

RESULTS = Path(__file__).with_suffix(".csv")
COLUMNS = ("family", "instance", "policy", "budget", "runs", "correct", "seconds")
BUDGETS, RUNS = (1010, 2010, 3010, 4010, 5010), 1000
SHOWN = (
    "Peace", "P1-RAGE", "static G-optimal", "OD-LinBAI", "GSE-Lin", "GSE-Lin, all rewards", "LinGapE",
    "LinGapE, defaults", "LinGapE-Greedy", "LinUCB", "BayesGap-Lin", "Peace, live arms", "Top-two Thompson",
    "FC2FB of m-LinGapE", ORACLES[0],
)  # fmt: skip
RECORDED = {
    "P1-RAGE": (0.947, 0.997, 1.0),
    "Peace": (0.915, 0.989, 0.996),
    "static G-optimal": (0.838, 0.958, 0.991),
    "OD-LinBAI": (0.556, 0.569, 0.571),
}  # at 1010, 3010 and 5010 pulls; the G-optimal design draws its arms there


def measure() -> None:
    """Run what the file does not have yet."""
    if not RESULTS.exists():
        RESULTS.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    known = pd.read_csv(RESULTS)
    done = set(zip(known["policy"], known["budget"], strict=True))
    bandit = soare_instance()
    for budget in BUDGETS:
        made = policies(Case("Soare", 0, bandit, budget, bandit.sigma))
        made["LinGapE, defaults"] = lingape(budget), bandit
        for name in SHOWN:
            if (name, budget) in done:
                continue
            policy, problem = made[name]
            began = time.process_time()
            found = simulate(policy, problem, Streams.first(RUNS, instance=bandit.label), metrics={"correct": correct})
            row = ("Soare", bandit.label, name, budget, RUNS, int(found["correct"].sum()))
            with RESULTS.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerow((*row, round(time.process_time() - began, 2)))
            print(*row, flush=True)


def main() -> None:
    """Run, and show the shares."""
    measure()
    table = pd.read_csv(RESULTS)
    shares = table.assign(share=table["correct"] / table["runs"]).pivot(
        index="policy", columns="budget", values="share"
    )
    print(shares.loc[list(SHOWN)].to_string())
    print(table.pivot(index="policy", columns="budget", values="seconds").loc[list(SHOWN)].to_string())


if __name__ == "__main__":
    main()
