"""What `Search.left` says against what is there: ``python -m benchmarks.what_to_use_left --data FOLDER``.

Searches by ``gp`` on the pools and screens of ``docs/what_to_use.md`` and on two more screens, asked after each fifth
of the measurements how many of the best 5% (as a share, and as a reward from which on) are left, and whether the best
was measured. Lines are appended to a CSV file, and what is there already is not run again; the table of the page is
printed.
"""

# ruff: noqa: E402  (the number of threads is read when NumPy is imported)
from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.what_to_use_cases import OTHER_SCREENS, POOLS, SCREENS, Case, case_of
from bestarm import Search
from bestarm_lab.notebooks.section import markdown_table

SHARE = 0.05


def asked(case: Case, run: int) -> pd.DataFrame:
    """Return what one search says after each fifth of its measurements, beside what is there."""
    names = [f"c{i}" for i in range(len(case.rewards))]
    search = Search(pd.DataFrame(case.scores, index=names).add_prefix("x"), "gp", seed=run)
    cut = float(np.sort(case.rewards)[-int(np.ceil(SHARE * len(names) - 1e-9))])
    ends, lines, done = np.cumsum(case.batches), [], 0
    marks = {int(np.searchsorted(ends, ends[-1] * k / 5)) for k in range(1, 6)}
    left = set(range(len(names)))
    for number, size in enumerate(case.batches):
        batch = search.ask(size)
        places = [int(name[1:]) for name in batch["name"]]
        search.tell(batch.assign(reward=case.rewards[places]))
        left -= set(places)
        if number not in marks:
            continue
        done += 1
        open_ = np.array(sorted(left))
        truth = int((case.rewards[open_] >= cut).sum())
        best = bool(case.rewards[open_].max() < case.rewards.max())
        for kind, hits in (("share", f"{100 * SHARE:g}%"), ("reward", cut)):
            said = search.left(hits)
            lines.append((case.name, kind, run, done, truth, said.hits, said.low, said.high, best, said.best))
    columns = ["data", "hits by", "run", "fifth", "left", "said", "low", "high", "best measured", "probability"]
    return pd.DataFrame(lines, columns=columns)


def table_of(found: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage of the nominal 90%, by a share / by a reward, and how often the best was there and said."""
    found = found.assign(covered=(found["left"] >= found["low"]) & (found["left"] <= found["high"]))
    rows = []
    for name, mine in found.groupby("data", sort=False):
        share, reward = (mine[mine["hits by"] == kind].dropna(subset="said") for kind in ("share", "reward"))
        told = share.dropna(subset="probability")  # the others say that it is not known
        rows.append(
            {
                "data": name,
                "covered": f"{share['covered'].mean():.0%} / {reward['covered'].mean():.0%}",
                "best measured, said": f"{told['best measured'].mean():.2f}, {told['probability'].mean():.2f}"
                if len(told)
                else "",
                "said in": f"{len(told) / len(share):.0%}",
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/what_to_use_left.csv"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=[*POOLS, *SCREENS, *OTHER_SCREENS])
    given = parser.parse_args()
    for name in given.only:
        case = case_of(given.data, name)
        for run in range(given.runs):
            there = pd.read_csv(given.out) if given.out.exists() else pd.DataFrame(columns=["data", "run"])
            if not ((there["data"] == name) & (there["run"] == run)).any():
                new = asked(case, run)
                new.to_csv(given.out, mode="a", header=not given.out.exists(), index=False, float_format="%.6g")
    print(markdown_table(table_of(pd.read_csv(given.out))))


if __name__ == "__main__":
    main()
