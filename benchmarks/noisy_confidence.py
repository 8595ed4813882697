r"""Which policy to take for noisy pulls with fixed confidence, for binary rewards, and where a linear model is wrong.

The rule, written down before anything was run
----------------------------------------------
Instances have numbers within their family; even ones choose, odd ones tell. Risk 0.05, heuristic threshold (all stop
by the same rule), 500 runs, 100 where K > 50; runs are cut at 30,000 pulls. What counts is the mean number of pulls
over that of the oracle, which tracks the best fixed design of the true means under the same rule (on misspecified
instances that of arms without structure).

* **Fixed confidence** (families classic, random, real): a policy is out if on an even instance it errs significantly
  more often than 0.05 (one-sided binomial test at 1% over its number of instances), or more than 1% of its runs are
  cut. Of the others the one with the smallest worst family, by the geometric mean of its ratios on even instances.
* **A misspecified model**: the same rule on the family misspecified alone.
* **Binary rewards** (logistic instances of the GSE paper, a new one for each run; even runs choose, odd ones tell;
  fixed budgets): the policy whose share of correct answers is closest to the best one's in its worst cell.

``python -m benchmarks.noisy_confidence`` computes what benchmarks/noisy_confidence.csv lacks and prints what the rule
says; ``--seconds`` ends it after so many processor seconds, and it goes on from there the next time.

Cut for want of processor time: m-LinGapE with an optimised pull above 50 arms. A policy without all even instances is
shown and cannot be chosen.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.oracle import OracleTracking, characteristic_time
from bestarm.policies.linear.bayes_gap import BayesGap
from bestarm.policies.linear.budgeted import lingape
from bestarm.policies.linear.fc2fb import Fc2fb
from bestarm.policies.linear.gifa import LinGifa, Lucb, MLinGape, Ugape
from bestarm.policies.linear.gse import Gse
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.policies.linear.mislid import MisLid
from bestarm.policies.linear.ucb_glm import UcbGlm
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import correct
from bestarm_lab.notebooks.section import markdown_table
from bestarm_studies.gse.instances import logistic_instance
from bestarm_studies.linear_topm.complexity import random_linear_instance
from bestarm_studies.linear_topm.instances import MisspecifiedBandit, classic_instance, misspecified_instance
from bestarm_studies.linear_topm.lastfm import lastfm_instance

FILE = Path(__file__).with_suffix(".csv")
SEED, DELTA, MOST_PULLS = 20261126, 0.05, 30_000
CONFIDENCE = ("classic", "random", "real")
COLUMNS = ["family", "instance", "label", "policy", "runs", "pulls", "pulls_se", "correct", "cut", "us_a_pull"]


def one_high(seed: int, level: float) -> MisspecifiedBandit:
    """Return ten arms whose fourth mean is higher than linear, as in experiment A of Réda et al. 2021, drawn anew."""
    rng = np.random.default_rng(seed)
    features, theta = rng.standard_normal((10, 5)), rng.standard_normal(5)
    features /= np.abs(features).max(axis=1, keepdims=True)
    theta /= np.abs(theta).max()
    deviation = np.where(np.arange(10) == np.argsort(-(features @ theta))[3], level, 0.0)
    return MisspecifiedBandit(f"one arm {level:g} too high, {seed}", features, theta, 1.0, deviation=deviation)


def drawn(make: Callable[[int], Any], n_best: int, number: int, structured: bool = True) -> list[Any]:
    """Return the first instances whose characteristic time is at most 300, so that 500 runs are cheap."""
    found: list[Any] = []
    for seed in range(1000):
        bandit = make(seed)
        features = bandit.features if structured else np.eye(len(bandit.features))
        if characteristic_time(features, bandit.means[0], n_best, bandit.sigma).time <= 300.0:
            found.append(bandit)
        if len(found) == number:
            break
    return found


def instances() -> Iterator[tuple[str, int, Any, int]]:
    """Yield family, number, problem and number of best arms."""
    sizes = ((4, 2, 3), (4, 2, 4), (4, 2, 6), (10, 3, 3), (10, 3, 4), (20, 4, 3))
    for i, (n_arms, n_best, part) in enumerate(sizes):
        yield "classic", i, classic_instance(n_arms, n_best, pi / part), n_best
    random = [
        drawn(lambda s, k=k: random_linear_instance(np.random.default_rng(s), k, 5, "columns"), 3, 3) for k in (10, 30)
    ]
    for i, bandit in enumerate(bandit for pair in zip(*random, strict=True) for bandit in pair):
        yield "random", i // 2 + 3 * (i % 2), bandit, 3
    yield "real", 0, lastfm_instance("lastfm-103", as_it_is=False), 4
    yield "real", 1, lastfm_instance("drugs-linear", as_it_is=False), 5
    wrong = [
        *(misspecified_instance(20, 5, 3, 0.5, level, seed=seed) for seed in (0, 1) for level in (0.2, 0.4)),
        *(b for level in (2.0, 5.0) for b in drawn(partial(one_high, level=level), 3, 2, structured=False)),
    ]
    for i, bandit in enumerate(wrong):
        yield "misspecified", i // 2 + 4 * (i % 2), bandit, 3


def policies(family: str, bandit: Any, n_best: int) -> dict[str, Any]:
    """Return the policies of an instance by name, the oracle first."""
    given: dict[str, Any] = {"n_best": n_best, "sigma": bandit.sigma, "delta": DELTA}
    gifa = given | {"threshold": "heuristic"}
    bound = float(np.abs(bandit.means).max())
    found = {
        "oracle": OracleTracking(means=tuple(bandit.means[0]), **gifa),
        "m_lingape greedy": MLinGape(**gifa),
        "lingifa largest variance": LinGifa(**gifa),
        "lingifa greedy": LinGifa(selection="greedy", **gifa),
    }
    if family != "misspecified":
        optimised = (
            {} if len(bandit.features) > 50 else {"m_lingape optimised": MLinGape(selection="optimised", **gifa)}
        )
        return (
            found | optimised | {"mislid level 0": MisLid(level=0.0, mean_bound=bound, **given), "lucb": Lucb(**gifa)}
        )
    level = bandit.largest_deviation
    return found | {
        "mislid": MisLid(level=level, mean_bound=bound, **given),
        "mislid twice the level": MisLid(level=2.0 * level, mean_bound=bound, **given),
        "lucb": Lucb(**gifa),
        "ugape": Ugape(**gifa),
    }


def binary(budget: int) -> dict[str, Any]:
    """Return the policies for binary rewards by name; rewards of 0 or 1 are 1/4-sub-Gaussian."""
    return {
        "gse_log uniform": Gse(budget, model="logistic", allocation="uniform"),
        "gse_log g-optimal": Gse(budget, model="logistic", allocation="g-optimal"),
        "gse_lin g-optimal": Gse(budget, allocation="g-optimal"),
        "gse_lin keeps rewards": Gse(budget, allocation="g-optimal", keeps_rewards=True),
        "ucb_glm": UcbGlm(budget),
        "lin_ucb": LinUcb(budget),
        "bayes_gap": BayesGap(budget, 0.5),
        "lingape": lingape(budget, sigma=0.5, stops_early=False),
        "fc2fb of m_lingape": Fc2fb(MLinGape(1, sigma=0.5, threshold="heuristic"), budget),
    }


def cells() -> Iterator[tuple[str, int, str, str, int, Callable[[], tuple[Any, Any]]]]:
    """Yield family, number, label, name of the policy, runs, and what makes policy and problem."""
    for n_features in (5, 10):
        for budget in (80, 160, 400):
            for i in (0, 1):
                rows = np.arange(i, 1000, 2)
                bandits = logistic_instance(n_features)
                for name, policy in binary(budget).items():
                    make = partial(lambda p, b, r: (p, b.take(r)), policy, bandits, rows)
                    yield "binary", i, f"d={n_features} n={budget}", name, 500, make
    for family, number, bandit, n_best in instances():
        for name, policy in policies(family, bandit, n_best).items():
            free = MisspecifiedBandit(bandit.label, np.eye(bandit.means.shape[1]), bandit.means[0], bandit.sigma)
            problem = free if family == "misspecified" and name == "oracle" else bandit
            runs = 100 if len(bandit.features) > 50 else 500
            yield family, number, bandit.label, name, runs, partial(lambda p, b: (p, b), policy, problem)


def run(seconds: float, file: Path = FILE) -> pd.DataFrame:
    """Compute the cells that the file lacks, one by one, and return all that it has then."""
    wanted = list(cells())
    done = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COLUMNS)
    had = set(zip(done.family, done.instance, done.label, done.policy, strict=True))
    left = [cell for cell in wanted if (cell[0], cell[1], cell[2], cell[3]) not in had]
    left.sort(key=lambda cell: cell[3].startswith("mislid"))  # the dear ones last
    began = time.process_time()
    for i, (family, number, label, name, runs, make) in enumerate(left):
        spent = time.process_time() - began
        if spent > seconds:
            print(f"{len(left) - i} of {len(wanted)} cells are left; run it again to go on.", flush=True)
            break
        policy, problem = make()
        first = number if family == "binary" else 0
        rows = np.arange(first, first + runs * (2 if family == "binary" else 1), 2 if family == "binary" else 1)
        started = time.process_time()
        found = simulate(
            policy, problem, Streams(SEED, label, rows), metrics={"correct": correct}, max_pulls=MOST_PULLS
        )
        took = time.process_time() - started
        row = [
            family, number, label, name, runs, found.pulls.mean(), found.pulls.std() / np.sqrt(runs),
            found.correct.mean(), 1.0 - found.stopped.mean(), 1e6 * took / max(found.pulls.sum(), 1),
        ]  # fmt: skip
        pd.DataFrame([row], columns=COLUMNS).round(4).to_csv(file, mode="a", header=not file.exists(), index=False)
        print(f"{i + 1}/{len(left)} {spent + took:.0f} s {family} {label} {name}: {took:.1f} s", flush=True)
    return pd.read_csv(file)


def ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Return pulls over the oracle's of each instance and policy, and whether the policy is out there."""
    rows = rows[rows.family != "binary"]
    oracle = rows[rows.policy == "oracle"].set_index(["family", "instance"]).pulls
    found = rows.assign(ratio=rows.pulls / oracle.loc[list(zip(rows.family, rows.instance, strict=True))].to_numpy())
    errors = ((1.0 - found.correct) * found.runs).round()
    level = 0.01 / found.groupby(["family", "policy"]).instance.transform("count")
    wrong = stats.binom.sf(errors - 1, found.runs.astype(int), DELTA) < level
    return found.assign(out=wrong | (found.cut > 0.01), errors=errors / found.runs)


def choice(found: pd.DataFrame, families: tuple[str, ...]) -> tuple[str, pd.DataFrame]:
    """Return the policy that the rule takes, or none, and the worst and mean family of each, chosen by and told on."""
    some = found[found.family.isin(families) & (found.policy != "oracle")]
    table = {}
    for name, own in some.groupby("policy"):
        even = own[own.instance % 2 == 0]
        line: dict[str, Any] = {"out": bool(even.out.any()), "even": len(even), "instances": len(own)}
        for half, kept in (("chosen", even), ("told", own[own.instance % 2 == 1])):
            means = np.exp(np.log(kept.ratio).groupby(kept.family).mean())
            line |= {f"{half} worst": means.max(), f"{half} mean": means.mean(), f"{half} error": kept.errors.max()}
        table[str(name)] = line
    shown = pd.DataFrame(table).T
    everywhere = shown.even == len(some[some.instance % 2 == 0][["family", "instance"]].drop_duplicates())
    kept = shown[~shown.out.astype(bool) & everywhere]
    return str(kept["chosen worst"].astype(float).idxmin()) if len(kept) else "none", shown


def binary_choice(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return the policy that the rule takes for binary rewards, and how far each is from the best one's share."""
    rows = rows[rows.family == "binary"]
    behind = rows.correct - rows.groupby(["instance", "label"]).correct.transform("max")
    grouped = behind.groupby([rows.policy, rows.instance])
    shown = pd.concat(
        [grouped.min().unstack().add_prefix("worst "), rows.groupby(["policy", "instance"]).correct.mean().unstack()],
        axis=1,
    ).rename(columns=str)
    return str(shown["worst 0"].idxmax()), shown


def tables(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables of docs/noisy_pulls.md by title: what the rule takes first, the others by what it goes by."""
    found, made = ratios(rows), {}
    for title, families in (("Fixed confidence", CONFIDENCE), ("A misspecified model", ("misspecified",))):
        name, shown = choice(found, families)
        some = found[found.family.isin(families)]
        cost, most = some.groupby("policy").us_a_pull.median(), (some.policy == "oracle").sum()
        others = shown.sort_values("chosen worst").index.drop(name, errors="ignore")
        shown = shown.loc[[*shown.index[shown.index == name], *others]]
        made[title] = pd.DataFrame({
            "policy": shown.index,
            "even: worst": [f"{v:.2f}" for v in shown["chosen worst"]],
            "odd: worst": [f"{v:.2f}" for v in shown["told worst"]],
            "largest error": [f"{v:.3f}" for v in shown[["chosen error", "told error"]].max(axis=1)],
            "out": ["yes" if v else "" for v in shown.out],
            "instances": [f"{n} of {most}" for n in shown.instances],
            "µs a pull": [f"{cost[p]:.1f}" for p in shown.index],
        })  # fmt: skip
    name, shown = binary_choice(rows)
    cost = rows[rows.family == "binary"].groupby("policy").us_a_pull.median()
    shown = shown.reindex([name, *shown.sort_values("worst 0", ascending=False).index.drop(name)])
    made["Binary rewards"] = pd.DataFrame({
        "policy": shown.index,
        **{f"{half}: {title}": [f"{v:.3f}" for v in shown[column]] for half, i in (("even", 0), ("odd", 1))
           for title, column in (("worst", f"worst {i}"), ("share", str(i)))},
        "µs a pull": [f"{cost[p]:.1f}" for p in shown.index],
    })  # fmt: skip
    return made


def main() -> None:
    """Compute what is left, and print what the rule says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1500.0)
    rows = run(parser.parse_args().seconds)
    for title, table in tables(rows).items():
        print(f"\n## {title}\n\n{markdown_table(table)}")


if __name__ == "__main__":
    main()
