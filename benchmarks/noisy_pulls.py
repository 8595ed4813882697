"""The best of noisy arms with a fixed budget, measured: ``python -m benchmarks.noisy_pulls [--table | --speed]``.

The rule, written before shares of policies were compared. Two things changed after first runs: slow policies make 200
runs, and the score divides by the largest share of all, since an oracle's design can lose at small budgets:

* Families: the settings of Figures 1 to 5 of the GSE paper on instances drawn anew, Soare's instance at six budgets,
  many arms whose seconds are close, means that are not linear, Last.fm artists and drugs. Rewards of Figure 4 are 0 or
  1: a family of its own kind, in which the logistic policies run, too.
* A case is an instance with a budget. The cases of a family are numbered; even ones choose, odd ones tell.
* A policy makes 500 runs of a case, 200 if a run is slow, with its default settings and the true standard
  deviation where it asks for one (LinUCB's width is two of them, as in the paper). Nothing else is tuned.
* Top-two Thompson sampling came later. Its constants were set on instances of the seeds 41, 77 and 101 to 106, drawn by
  the same laws: draws with 0.7 of the posterior's standard deviations, own effects with half of the prior (before: a
  tenth), and linear parts whose variance is a tenth of the noise's or more (a thousandth made it certain too early).
* Changed after cases of seed 41 had been seen, even and odd ones, among them some on which the policy failed: random
  instances are drawn anew, with seed 51, which nothing was set on, and all policies ran on them once. The families have
  up to three times as many cases, since one instance of four decided a family's score.
* FC2FB, a fixed budget for a policy made for fixed confidence, came last, and after it Top-two Thompson sampling that
  takes the noise for half or twice of what it is, which is compared with itself alone.
* Two oracles run beside: the oracle allocation on the features and on one feature for each arm, since no linear fit is
  right where means are not linear. Their design is the best one as the budget grows; with few pulls an arm that it
  nearly leaves out can win by luck. So the score of a policy in a family is its mean share of correct runs over the
  largest such mean, of an oracle or a policy. A policy that refuses a case has the share of a random arm there.
* Chosen among policies for Gaussian rewards is the one with the largest sum of the mean over families and of the worst
  family, on even cases; for rewards of 0 or 1 the one with the largest score in that family. Told are the same figures
  on odd cases, and how far it is below the best in each family.

Rows (family, case, policy, budget, runs, correct, pulls, seconds of processor) are appended to a CSV file; those that
are there already are not run again.
"""

# ruff: noqa: E402  (the number of threads is read when NumPy is imported)
from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.policies.linear.bayes_gap import BayesGap
from bestarm.policies.linear.budgeted import lingape, lingape_greedy
from bestarm.policies.linear.fc2fb import Fc2fb
from bestarm.policies.linear.gifa import MLinGape
from bestarm.policies.linear.gse import Gse, GseLin, GseLinAllRewards, GseLog
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.policies.linear.od_linbai import OdLinBai
from bestarm.policies.linear.p1_rage import P1Rage
from bestarm.policies.linear.peace import PeaceLiveArms
from bestarm.policies.linear.peace_all_arms import PeaceAllArms
from bestarm.policies.linear.static_design import OracleAllocation, StaticGOptimal
from bestarm.policies.linear.top_two import TopTwo
from bestarm.policies.linear.ucb_glm import UcbGlm
from bestarm.problems.linear_bandit import LinearBandit, soare_instance
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import correct
from bestarm_studies.gse.instances import adaptive_instance, logistic_instance, sphere_instance, static_instance
from bestarm_studies.gse.tabular import automobile_instance, electric_motor_instance
from bestarm_studies.linear_topm.instances import MisspecifiedBandit, unexplained_deviation
from bestarm_studies.linear_topm.lastfm import lastfm_instance

RESULTS = Path(__file__).with_suffix(".csv")
COLUMNS = ("family", "case", "policy", "budget", "runs", "correct", "pulls", "seconds")
SEED = 51  # of the instances drawn anew; those of the studies have seed 0
RUNS, RUNS_OF_SLOWER = 500, 200
SLOWER = ("Peace", "LinGapE", "LinGapE-Greedy", "LinUCB", "BayesGap-Lin", "UCB-GLM", "Top-two Thompson")
BINARY = "Figure 4, rewards 0 or 1"
ORACLES = ("oracle", "oracle without features")

Make = Callable[[int, float], Any]

LINEAR: dict[str, Make] = {
    "Peace": lambda budget, sigma: PeaceAllArms(budget),
    "Peace, live arms": lambda budget, sigma: PeaceLiveArms(budget),
    "P1-RAGE": lambda budget, sigma: P1Rage(budget),
    "static G-optimal": lambda budget, sigma: StaticGOptimal(budget),
    "OD-LinBAI": lambda budget, sigma: OdLinBai(budget),
    "GSE-Lin": lambda budget, sigma: GseLin(budget=budget, allocation="g-optimal"),
    "GSE-Lin, all rewards": lambda budget, sigma: GseLinAllRewards(budget=budget),
    "sequential halving": lambda budget, sigma: Gse(budget, model="means"),
    "LinGapE": lambda budget, sigma: lingape(budget, sigma=sigma, stops_early=False),
    "LinGapE-Greedy": lambda budget, sigma: lingape_greedy(budget, sigma=sigma, stops_early=False),
    "LinUCB": lambda budget, sigma: LinUcb(budget, alpha=2.0 * sigma),
    "BayesGap-Lin": lambda budget, sigma: BayesGap(budget, sigma),
    "Top-two Thompson": lambda budget, sigma: TopTwo(budget, sigma),
    "FC2FB of m-LinGapE": lambda budget, sigma: Fc2fb(MLinGape(1, sigma=sigma, threshold="heuristic"), budget),
}
LOGISTIC: dict[str, Make] = {
    "GSE-Log": lambda budget, sigma: GseLog(budget=budget, allocation="g-optimal"),
    "UCB-GLM": lambda budget, sigma: UcbGlm(budget),
}
MISJUDGED: dict[str, Make] = {
    "Top-two Thompson, half the noise": lambda budget, sigma: TopTwo(budget, 0.5 * sigma),
    "Top-two Thompson, twice the noise": lambda budget, sigma: TopTwo(budget, 2.0 * sigma),
}


class Case(NamedTuple):
    """An instance with a budget."""

    family: str
    number: int
    problem: Any
    budget: int
    sigma: float


@dataclass(frozen=True)
class FeatureEach:
    """A problem whose arms have one feature each, so that an arm tells nothing of another."""

    problem: Any

    @property
    def arms(self) -> Arms:
        return Arms(np.eye(self.problem.means.shape[1]))

    @property
    def means(self) -> FloatArray:
        return np.asarray(self.problem.means)

    def rewards(self, asked: Ask, pulled: IntArray, streams: Streams) -> FloatArray:
        return np.asarray(self.problem.rewards(asked, pulled, streams))

    def take(self, rows: IntArray) -> FeatureEach:
        return replace(self, problem=self.problem.take(rows))


def alone(problem: Any, draw: int) -> Any:
    """Return one instance of a law as a problem of its own, the same for every run."""
    found = problem.take(np.array([draw]))
    if getattr(found, "target", None) is not None:  # a row of a table for each arm
        x, means = found.features[0], found.target[0]
        theta = np.linalg.lstsq(x, means, rcond=None)[0]
        return MisspecifiedBandit(f"{found.label} {draw}", x, theta, found.sigma, means - x @ theta)
    return replace(found, label=f"{found.label} {draw}", features=found.features[0], theta=found.theta[0])


def close_seconds(n_arms: int, n_features: int, draw: int) -> LinearBandit:
    """Return random arms on the unit sphere; the parameter is one of them, so that many others come near."""
    rng = np.random.default_rng([SEED, n_arms, draw])
    x = rng.standard_normal((n_arms, n_features))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return LinearBandit(f"close seconds {n_arms} {n_features} {draw}", x, x[0].copy(), 1.0)


def deviated(level: float, draw: int) -> MisspecifiedBandit:
    """Return 30 random arms in 6 dimensions whose means deviate by so much from a linear function, at most."""
    found = close_seconds(30, 6, 1000 + draw)
    label = f"deviated {level:g} {draw}"
    deviation = unexplained_deviation(found.features, level, draw)
    return MisspecifiedBandit(label, found.features, found.theta, 1.0, deviation)


def cases() -> Iterator[Case]:
    """Yield every case, family by family."""
    rng = np.random.default_rng(SEED)
    for i, gap in enumerate(rng.uniform(0.3, 3.0, 12)):
        yield Case("Figure 1, static", i, static_instance(float(gap)), 320, 10.0**0.5)
    for i, omega in enumerate(rng.uniform(0.1, 0.6, 24)):
        n_arms = (8, 16, 32)[i // 2 % 3]
        yield Case("Figure 2, adaptive", i, adaptive_instance(n_arms, float(omega)), 50 * n_arms, 10.0**0.5)
    for i in range(24):
        n_arms = (8, 16, 32)[i // 2 % 3]
        yield Case("Figure 3, random", i, alone(sphere_instance(n_arms, seed=SEED), i), 50 * n_arms, 10.0**0.5)
    for i in range(24):
        law = logistic_instance((5, 10)[i // 2 % 2], seed=SEED)
        yield Case(BINARY, i, alone(law, i), (160, 400)[i // 4 % 2], 0.5)
    for i in range(24):
        n_arms, table = (8, 16)[i // 4 % 2], (automobile_instance, electric_motor_instance)[i // 2 % 2]
        law = table(n_arms, with_replacement=False, seed=SEED)
        yield Case("Figure 5, tables", i, alone(law, i), 20 * n_arms, 0.1**0.5)
    for i in range(6):
        yield Case("Soare", i, soare_instance(), 1010 + 1000 * i, 1.0)
    for i in range(12):
        yield Case("close seconds", i, close_seconds((50, 200)[i // 2 % 2], 8, i), 1000, 1.0)
    for i in range(24):
        yield Case("deviations", i, deviated((0.1, 0.3)[i // 2 % 2], i), (600, 2400)[i // 4 % 2], 1.0)
    for i in range(6):
        found = lastfm_instance(("lastfm-103", "lastfm-50", "drugs-linear")[i // 2], True)
        yield Case("Last.fm and drugs", i, found, (500, 2000)[i % 2] if i < 4 else (100, 400)[i % 2], 0.5)


def policies(case: Case) -> dict[str, tuple[Any, Any]]:
    """Return the policy of each name that runs in a case, and the problem that it sees."""
    makes = LINEAR | (LOGISTIC if case.family == BINARY else MISJUDGED)
    found = {name: (make(case.budget, case.sigma), case.problem) for name, make in makes.items()}
    means = tuple(case.problem.means[0].tolist())
    found[ORACLES[0]] = OracleAllocation(case.budget, means), case.problem
    found[ORACLES[1]] = OracleAllocation(case.budget, means), FeatureEach(case.problem)
    return found


def run(case: Case, name: str, policy: Any, problem: Any, runs: int) -> dict[str, Any]:
    """Return the row of a policy in a case; where it refuses the budget no pulls, and as many correct as by chance."""
    row = {"family": case.family, "case": case.number, "policy": name, "budget": case.budget, "runs": runs}
    instance = f"noisy pulls {case.family} {case.number}"
    # the blocks keep K^2 numbers for each run in the cache
    block = max(20, min(runs, 4_000_000 // case.problem.means.shape[1] ** 2))
    began, right, pulls = time.process_time(), 0.0, 0
    for first in range(0, runs, block):
        streams = Streams(SEED, instance, np.arange(first, min(first + block, runs)))
        try:
            found = simulate(policy, problem, streams, metrics={"correct": correct})
        except ValueError:
            return row | {"correct": round(runs / case.problem.means.shape[1], 6), "pulls": 0, "seconds": 0.0}
        right, pulls = right + found["correct"].sum(), pulls + int(found["pulls"].sum())
    return row | {"correct": int(right), "pulls": pulls, "seconds": round(time.process_time() - began, 3)}


def measure(out: Path, runs: int, seconds: float, without: list[str]) -> None:
    """Run what the file does not have yet, but for some policies, until so much time of the processor is spent."""
    known = set()
    if out.exists():
        table = pd.read_csv(out)
        known = set(zip(table["family"], table["case"], table["policy"], strict=True))
    else:
        out.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    # case after case of each family in turn, so that an interrupted run has seen all of them
    for case in sorted(cases(), key=lambda case: case.number):
        for name, (policy, problem) in policies(case).items():
            if (case.family, case.number, name) in known or name in without:
                continue
            if time.process_time() > seconds:
                return
            most = RUNS_OF_SLOWER if name in (*SLOWER, *MISJUDGED) else RUNS
            row = run(case, name, policy, problem, min(runs, most))
            with out.open("a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
            print(
                f"{case.family} {case.number} {name}: {row['correct']} of {row['runs']}, {row['seconds']} s", flush=True
            )


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of correct runs, one row for each family and case, one column for each policy."""
    table = table[~table["policy"].isin(MISJUDGED)]
    wide = table.assign(share=table["correct"] / table["runs"]).pivot_table(
        index=["family", "case"], columns="policy", values="share", dropna=False
    )
    return wide.dropna(subset=list(ORACLES), how="all")


def summary(wide: pd.DataFrame, binary: bool = False) -> pd.DataFrame:
    """Return the score of each policy in each family, with the mean and the worst over Gaussian families."""
    found = wide.groupby("family").mean().T
    found = found / found.max()
    if binary:
        return found[[BINARY]].assign(rule=found[BINARY]).sort_values("rule", ascending=False)
    found = found.drop(columns=BINARY, errors="ignore").drop(index=list(LOGISTIC), errors="ignore")
    mean, worst = found.mean(axis=1), found.min(axis=1)
    return found.assign(mean=mean, worst=worst, rule=mean + worst).sort_values("rule", ascending=False)


def halves(table: pd.DataFrame, binary: bool = False) -> list[pd.DataFrame]:
    """Return the `summary` of the even cases, which choose, and of the odd ones, which tell."""
    wide = shares(table)
    return [summary(wide[wide.index.get_level_values("case") % 2 == half], binary) for half in (0, 1)]


def misjudged(table: pd.DataFrame) -> pd.DataFrame:
    """Return the shares with half and with twice the noise over those with the right one, by family, on odd cases."""
    mine = table[table["policy"].str.startswith("Top-two") & (table["case"] % 2 == 1) & (table["family"] != BINARY)]
    found = mine.assign(share=mine["correct"] / mine["runs"]).pivot_table("share", "family", "policy")
    return found[list(MISJUDGED)].div(found["Top-two Thompson"], axis=0)


def microseconds(table: pd.DataFrame) -> pd.Series:
    """Return what a pull of each policy costs."""
    cost = table[(table["pulls"] > 0) & ~table["policy"].isin(MISJUDGED)].groupby("policy")[["seconds", "pulls"]].sum()
    return 1e6 * cost["seconds"] / cost["pulls"]


def page_table(table: pd.DataFrame, soare: pd.DataFrame) -> pd.DataFrame:
    """Return what the page shows: scores on both halves, Soare's instance at two budgets, and the cost of a pull."""
    both = halves(table)
    found = pd.DataFrame(index=both[0].index)
    for name, half in zip(("chooses", "tells"), both, strict=True):
        found[f"{name}: mean, worst"] = [
            f"{a:.2f}, {b:.2f}" for a, b in half.loc[found.index, ["mean", "worst"]].to_numpy()
        ]
    by = soare.assign(share=soare["correct"] / soare["runs"]).pivot(index="policy", columns="budget", values="share")
    for budget in (1010, 3010):
        found[f"Soare, {budget} pulls"] = [
            f"{by[budget].get(name, np.nan):.3f}".replace("nan", "") for name in found.index
        ]
    found["µs a pull"] = microseconds(table).map("{:.2f}".format)
    return found.rename_axis("policy").reset_index()


def report(table: pd.DataFrame) -> None:
    """Print the scores on both halves, the choices, and what they tell."""
    for binary in (False, True):
        chosen_on, told_on = halves(table, binary)
        chosen = str(chosen_on["rule"].drop(list(ORACLES)).idxmax())
        families = [c for c in told_on if c not in ("mean", "worst", "rule")]
        behind = (told_on[families].drop(list(ORACLES)).max() - told_on.loc[chosen, families]).round(3)
        for title, half in (("even cases, which choose", chosen_on), ("odd cases, which tell", told_on)):
            print(f"\n{title}\n{half.round(3).to_string()}")
        print(f"\nchosen: {chosen}; below the best on odd cases by\n{behind.to_string()}")
    print(f"\nnoise taken for half and twice of what it is, odd cases\n{misjudged(table).round(3).to_string()}")
    print("\nmicroseconds a pull\n" + microseconds(table).round(2).to_string())


def speeds() -> pd.Series:
    """Return microseconds a pull of 500 runs on 50 arms, 500 pulls each, after a first run that compiles."""
    case, found = Case("speed", 0, close_seconds(50, 8, 0), 500, 1.0), {}
    for name, (policy, problem) in policies(case).items():
        run(case, name, policy, problem, 20)
        row = run(case, name, policy, problem, 500)
        found[name] = 1e6 * row["seconds"] / row["pulls"]
    return pd.Series(found).sort_values()


def main() -> None:
    """Run, or show what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seconds", type=float, default=1500.0, help="of processor, after which it stops")
    parser.add_argument("--without", nargs="*", default=[], metavar="POLICY", help="policies that do not run now")
    parser.add_argument("--table", action="store_true", help="show the file instead of running")
    parser.add_argument("--speed", action="store_true", help="measure what a pull costs, and nothing else")
    asked = parser.parse_args()
    if asked.speed:
        print(speeds().round(2).to_string())
        return
    if not asked.table:
        measure(asked.out, asked.runs, asked.seconds, asked.without)
    report(pd.read_csv(asked.out))


if __name__ == "__main__":
    main()
