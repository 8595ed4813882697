"""Optimism of linear models on their batches, and what a regularised one adds arm by arm (Lemma D.3)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray, IntArray
from bestarm.policies.batch_search import random_order
from bestarm.policies.linear.linear_oae import EllipsoidOae, LinearOae
from bestarm.streams import Streams
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.figures.values import summarise
from bestarm_studies.oae.theory import linear_runs


def bonuses(x: FloatArray, queried: IntArray, optimism: float) -> FloatArray:
    r"""Return what a regularised linear model with intercept adds to its fit, shape (R, n_arms).
    The minimiser of :math:`\frac1n\sum(f(a)-y)^2-\lambda\frac1{|U|}\sum_Uf` is least squares plus
    :math:`\frac\lambda2[1+n(a-\bar x)^\top S^{-1}(\mu_U-\bar x)]`, with mean and scatter of the n arms queried, (R, n),
    at least d + 1 in general position, and the mean :math:`\mu_U` of the others; :math:`\lambda` is ``optimism``."""
    n_arms, n = x.shape[1], queried.shape[1]
    seen = np.take_along_axis(x, queried[:, :, None], axis=1)
    mean = seen.mean(axis=1, keepdims=True)
    others = (x.sum(axis=1, keepdims=True) - n * mean) / (n_arms - n)
    scatter = (seen - mean).swapaxes(1, 2) @ (seen - mean)
    pull = np.linalg.solve(scatter, (others - mean).swapaxes(1, 2))
    return np.asarray(0.5 * optimism * (1.0 + n * ((x - mean) @ pull)[:, :, 0]))


def _bonus_block(
    queries: str, n_arms: int, d: int, n_queried: int, optimism: float, batch: int, rows: IntArray, seed: int
) -> pd.DataFrame:
    law = linear_runs.SphereArms(n_arms, d, seed=seed)
    problem = law.take(rows)
    order = random_order(Streams(seed, law.label, rows).key("queries"), rows, 0, n_arms)
    if queries == "exploiting":  # d + 1 random arms reveal the parameter; then always the best
        started = np.argsort(-order, axis=1)[:, : d + 1]
        order = problem.means.copy()
        np.put_along_axis(order, started, np.inf, axis=1)
    queried = np.argsort(-order, axis=1)[:, :n_queried]
    bonus = bonuses(problem.features, queried, optimism)
    left = np.ones_like(bonus, dtype=np.bool_)
    np.put_along_axis(left, queried, False, axis=1)
    means = np.where(left, problem.means, -np.inf)
    best = np.argsort(-means, axis=1)
    top = np.take_along_axis(bonus, best[:, : (n_arms - n_queried) // 10], axis=1)
    hope = np.where(left, problem.means + bonus, -np.inf)  # least squares is exact here
    promised = np.sort(hope, axis=1)[:, -batch:].sum(axis=1)
    worth = np.take_along_axis(problem.means, best[:, :batch], axis=1).sum(axis=1)
    found = {
        "negative": (left & (bonus < 0.0)).sum(axis=1) / (n_arms - n_queried),
        "negative_top": (top < 0.0).mean(axis=1),
        "spread": bonus[left].reshape(len(rows), -1).std(axis=1) / (0.5 * optimism),
        "pessimistic": (promised < worth - linear_runs.ROUNDING).astype(np.float64),
    }
    base = {"check": "bonus", "series": queries, "n_features": d, "batch": batch, "optimism": optimism}
    return pd.DataFrame(base | {"n_queried": n_queried, "replication": rows, "rounds": 1} | found)


def _optimism_block(
    check: str, omega: float, n_arms: int, d: int, batch: int, rounds: int, rows: IntArray, seed: int
) -> pd.DataFrame:
    law = linear_runs.SphereArms(n_arms, d, omega, seed)
    policy = LinearOae("OAE", batch, rounds) if omega == 0.0 else EllipsoidOae("OAE", batch, rounds, omega=omega)
    observer, _ = linear_runs.observed_run(policy, law, rows, seed, enumerate_batches=check == "enumeration")
    best, hope, most = (observer.table(name) for name in ("best", "hope", "most"))
    counted = ~np.isnan(hope)
    found = {
        "rounds": counted.sum(axis=0),
        "pessimistic": (counted & (hope < best - batch * omega - linear_runs.ROUNDING)).sum(axis=0),
    }
    if check == "enumeration":
        found["suboptimal"] = (counted & (hope < most - linear_runs.ROUNDING)).sum(axis=0)
        found["pessimistic_exact"] = (counted & (most < best - batch * omega - linear_runs.ROUNDING)).sum(axis=0)
    base = {"check": check, "series": f"ω = {omega:g}", "omega": omega, "n_features": d, "batch": batch}
    return pd.DataFrame(base | {"replication": rows} | found)


def optimism_rows(
    runs: Mapping[str, Any],
    enumeration: Mapping[str, Any],
    bonus: Mapping[str, Any],
    replications: int,
    seed: int,
    *,
    omegas: Sequence[float] = (0.0,),
    workers: int = 1,
) -> pd.DataFrame:
    """Return how often an optimistic linear model promises less than the best batch is worth (Lemma D.3).
    ``runs`` and ``enumeration`` are ``{n_arms, dimensions, batches, rounds}`` of vanilla OAE on random arms; with the
    few arms of ``enumeration`` (14 at most, batches of 3) the alternation is compared with the most that any batch
    promises. ``bonus`` is ``{n_arms, dimensions, per_feature, optimism, batch}``: `bonuses` after ``per_feature * (d +
    1)`` random or exploiting queries; ``spread`` is in units of the bonus's constant part."""
    if enumeration["n_arms"] > 14 or max(enumeration["batches"]) > 3:
        raise ValueError("enumeration is for at most 14 arms and batches of at most 3.")
    runs_of = {"runs": runs, "enumeration": enumeration}
    jobs = [
        (check, float(omega), grid["n_arms"], int(d), int(b), grid["rounds"], rows, seed)
        for check, grid in runs_of.items()
        for omega in omegas
        for d in grid["dimensions"]
        for b in grid["batches"]
        for rows in linear_runs.replication_blocks(replications)
    ]
    bonus_jobs = [
        (queries, bonus["n_arms"], int(d), int(n) * (int(d) + 1), float(optimism), bonus["batch"], rows, seed)
        for queries in ("random", "exploiting")
        for d in bonus["dimensions"]
        for n in bonus["per_feature"]
        for optimism in bonus["optimism"]
        for rows in linear_runs.replication_blocks(replications)
    ]
    found = [
        linear_runs.rows_in_parallel(_optimism_block, jobs, workers),
        linear_runs.rows_in_parallel(_bonus_block, bonus_jobs, workers),
    ]
    return pd.concat(found, ignore_index=True)


def linear_optimism(test: Test, tables: Rows) -> Decision:
    """Check that the constrained model promises at least what the best batch is worth, or that a bonus is one.
    ``model``: "constrained", Lemma D.3, or "regularised", with a regulariser, whose bonus may be negative."""
    rows = linear_runs.rows_as_written(test, tables)
    if test.get("model", "constrained") == "regularised":
        mine = rows[rows["check"] == "bonus"]
        texts = []
        for name, group in mine.groupby("series", sort=False):
            shares = group.groupby(["n_features", "n_queried"])[["negative", "negative_top"]].mean()
            rounds = group.groupby("optimism")["pessimistic"].mean()
            text = f"{name}: bonus negative for {100 * shares['negative'].min():.0f} to "
            text += f"{100 * shares['negative'].max():.0f}% of the arms, {100 * shares['negative_top'].min():.0f} to "
            text += f"{100 * shares['negative_top'].max():.0f}% of the best tenth; rounds without optimism "
            texts.append(text + ", ".join(f"{100 * share:.0f}% at λ = {at:g}" for at, share in rounds.items()))
        return Decision(not (mine["negative"] > 0.0).any(), "; ".join(texts))
    runs = rows[rows["check"].isin(["runs", "enumeration"])]
    failed, n_rounds = int(runs["pessimistic"].sum()), int(runs["rounds"].sum())
    listed = rows[rows["check"] == "enumeration"]
    text = f"false in {failed} of {n_rounds} rounds; where all batches were listed the alternation missed the optimum "
    text += f"in {int(listed['suboptimal'].sum())} of {int(listed['rounds'].sum())} rounds, "
    text += f"and the optimum was too small in {int(listed['pessimistic_exact'].sum())}"
    return Decision(failed == 0, text, informative=n_rounds > 0, checked=f"{n_rounds:,} rounds")


def bonus_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the share of arms whose bonus is negative, of all and of the best tenth, after two kinds of queries.
    The share does not depend on the strength of optimism, which scales the bonus."""
    mine = rows[(rows["check"] == "bonus") & (rows["optimism"] == rows["optimism"].max())]
    kinds = {"all arms": ("negative", "mean"), "best tenth": ("negative_top", "mean")}
    return summarise(mine, kinds, profile=profile).assign(low=np.nan, high=np.nan)
