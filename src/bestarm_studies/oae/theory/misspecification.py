"""Theorem 4.1 where the model is wrong by a known error: growth of the regret of exact linear OAE.

Of the paper: Section 4.3, Theorem 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bestarm.interface import IntArray
from bestarm.policies.linear.linear_oae import EllipsoidOae
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.figures.values import as_values
from bestarm_studies.oae.theory.linear_runs import (
    Tables,
    observed_run,
    replication_blocks,
    resampled_means,
    rows_as_written,
    rows_in_parallel,
)
from bestarm_studies.oae.theory.sphere_arms import ROUNDING, SphereArms


def _misspecified_block(
    omega: float, n_arms: int, d: int, batch: int, rounds: Sequence[int], starts: int, rows: IntArray, seed: int
) -> pd.DataFrame:
    law = SphereArms(n_arms, d, omega, seed)
    policy = EllipsoidOae("OAE", batch, max(rounds), omega=omega, starts=starts)
    observer, _ = observed_run(policy, law, rows, seed)
    regret = observer.table("regret").cumsum(axis=0)
    missing = observer.table("best")[1:] - batch * omega - observer.table("hope")[1:] > ROUNDING
    frames = [
        pd.DataFrame(
            {
                "series": f"ω = {omega:g}",
                "omega": omega,
                "n_features": d,
                "batch": batch,
                "rounds": t,
                "replication": rows,
                "regret": regret[t - 1],
                "pessimistic": missing[: t - 1].sum(axis=0),
            }
        )
        for t in rounds
    ]
    return pd.concat(frames, ignore_index=True)


def misspecified_rows(
    omegas: Sequence[float],
    replications: int,
    seed: int,
    *,
    dimensions: Sequence[int],
    batches: Sequence[int],
    rounds: Sequence[int],
    n_arms: int = 2000,
    starts: int = 50,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return the regret of vanilla OAE with :math:`\gamma_t=(t-1)b\omega^2` under misspecification, known to it.
    ``rounds`` are the T at which regret is recorded; ``starts`` those of the alternation. ``pessimistic`` are rounds in
    which the batch promised less than the best one left minus :math:`b\omega`."""
    jobs = [
        (float(omega), n_arms, int(d), int(batch), list(rounds), starts, rows, seed)
        for omega in omegas
        for d in dimensions
        for batch in batches
        for rows in replication_blocks(replications)
    ]
    return rows_in_parallel(_misspecified_block, jobs, workers)


def misspecification_rates(rows: pd.DataFrame) -> pd.DataFrame:
    r"""Return ``rate``, by how much regret grows a round because of :math:`\omega`, between the last two recorded
    rounds. That is growth minus that at :math:`\omega=0`, with ``low`` and ``high``; ``ratio`` is over :math:`\omega
    b\sqrt d`."""
    before, after = sorted(rows["rounds"].unique())[-2:]
    cell = ["n_features", "batch", "replication"]
    regret = rows.pivot_table(index=["omega", *cell], columns="rounds", values="regret")
    growth = ((regret[after] - regret[before]) / (after - before)).rename("growth").reset_index()
    base = growth[growth["omega"] == 0.0].set_index(cell)["growth"]
    mine = growth[growth["omega"] > 0.0].copy()
    mine["rate"] = mine["growth"] - base.loc[pd.MultiIndex.from_frame(mine[cell])].to_numpy()
    cells, means = resampled_means(mine, ["omega", "n_features", "batch"], "rate")
    low, high = np.quantile(means[1:], [0.025, 0.975], axis=0)
    unit = cells["omega"] * cells["batch"] * np.sqrt(cells["n_features"])
    return cells.assign(rate=means[0], low=low, high=high, ratio=means[0] / unit, ratio_high=high / unit)


def misspecification(test: Mapping[str, Any], tables: Tables) -> Decision:
    r"""Check that regret grows a round by at most a constant times :math:`\omega b\sqrt d`, or in proportion to it.
    With ``proportional`` the exponent of :math:`\omega` has to be 1 up to ``slack``; otherwise the ratio has to be at
    most ``ratio``, which is all that the theorem says."""
    rows = rows_as_written(test, tables)
    rates = misspecification_rates(rows)
    exponents = []
    for _, mine in rates[rates["rate"] > 0.0].groupby(["n_features", "batch"]):
        if len(mine) > 1:
            exponents.append(float(np.polyfit(np.log(mine["omega"]), np.log(mine["rate"]), 1)[0]))
    worst = rates.sort_values("ratio_high").iloc[-1]
    span = f"{min(exponents):.2f} to {max(exponents):.2f}" if exponents else "not to be had"
    text = f"growth a round at most {worst['ratio']:.2f} (95% upper limit {worst['ratio_high']:.2f}) times ωb√d"
    text += f", at ω = {worst['omega']:g}, d = {worst['n_features']:.0f}, b = {worst['batch']:.0f}"
    text += f"; exponent of ω {span} over {len(exponents)} cells"
    if test.get("proportional", False):
        return Decision(bool(exponents) and all(abs(e - 1.0) <= test["slack"] for e in exponents), text)
    return Decision(bool(worst["ratio_high"] <= test["ratio"]), text)


def rate_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the growth of the regret by misspecification over ``omega b sqrt(d)``; x is omega."""
    found = misspecification_rates(rows)
    table = found.drop(columns="high").rename(columns={"omega": "x", "ratio": "value", "ratio_high": "high"})
    unit = found["ratio"] / found["rate"]
    cell = [f"d = {d}, b = {b}" for d, b in found[["n_features", "batch"]].itertuples(index=False)]
    table = table.assign(panel=cell, low=found["low"] * unit, series="exact linear OAE")
    return as_values(table, statistic="rate over ωb√d", n=rows["replication"].nunique(), profile=profile)
