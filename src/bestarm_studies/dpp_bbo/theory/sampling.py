r"""The cost of a sample of a k-DPP, exactly and by chains."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.designs.k_dpp_chains import sample_chain
from bestarm.designs.k_dpp_exact import sample_exact
from bestarm.designs.k_dpp_mixing import down_up_steps, exchange_steps, greedy_deficit
from bestarm.streams import Streams
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.figures.figures import line_panels
from bestarm_lab.figures.styles import Style
from bestarm_lab.figures.values import as_values, summarise
from bestarm_studies.dpp_bbo.gp_draws import batch_kernel

SAMPLER_STYLES = {
    "exact": Style("0.2", "o"),
    "exchange chain": Style("#D55E00", "s", "--"),
    "down-up chain": Style("#0072B2", "^", "-."),
}


def sampling_times(
    replications: int, sizes: Sequence[int], ks: Sequence[int], noise: float, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    """Return the processor seconds of one sample of a k-DPP whose kernel is given, whatever ``workers``.
    Exactly by eigen-decomposition, and by both chains from the greedy set with as many steps as their bounds ask for at
    a distance of 0.01. Each is timed on other points in every replication, after one that compiles."""
    samplers: dict[str, Callable[..., Any]] = {
        "exact": sample_exact,
        "exchange chain": partial(sample_chain, chain="exchange"),
        "down-up chain": partial(sample_chain, chain="down-up"),
    }
    lines = []
    for n in (16, *sizes):
        for item in range(1 if n == 16 else replications):
            kernel = batch_kernel(n, noise, seed, item)
            streams = Streams(seed, "times", np.array([item]))
            for k in ks:
                for series, sampler in samplers.items():
                    began = time.process_time()
                    sampler(kernel, k, streams)
                    seconds = time.process_time() - began
                    lines.append({"series": series, "replication": item, "points": n, "k": k, "seconds": seconds})
    rows = pd.DataFrame(lines)
    return rows[rows["points"] > 16].reset_index(drop=True).assign(convention="as_written")


def sampling_operations(n: int, k: int, epsilon: float) -> dict[str, float]:
    """Return the multiplications behind one sample of a k-DPP of size n, within ``epsilon`` in total variation.
    Exact: an eigen-decomposition with all vectors, counted as :math:`9n^3`, the table of elementary symmetric
    polynomials nk, and k projections, :math:`2nk^2`. A step of the exchange chain factors a k by k matrix and solves
    with it twice, :math:`k^3/6+k^2`; a step of the down-up chain does the same once for all n points,
    :math:`k^3/6+nk^2/2`. Both start at the greedy set, :math:`nk^2/2`."""
    deficit, greedy = greedy_deficit(n, k), 0.5 * n * k**2
    return {
        "exact": 9.0 * n**3 + n * k + 2.0 * n * k**2,
        "exchange chain": greedy + exchange_steps(deficit, n, k, epsilon) * (k**3 / 6.0 + k**2),
        "down-up chain": greedy + down_up_steps(deficit, k, epsilon) * (k**3 / 6.0 + 0.5 * n * k**2),
    }


def cost_values(times: pd.DataFrame, sizes: Sequence[int], ks: Sequence[int], profile: str) -> pd.DataFrame:
    """Return counted multiplications and measured seconds of one sample within 0.01 of its k-DPP."""
    lines = [
        {"panel": f"k = {k}: multiplications", "series": series, "x": n, "value": count}
        for k in ks
        for n in sizes
        for series, count in sampling_operations(n, k, 0.01).items()
    ]
    counted = as_values(pd.DataFrame(lines), statistic="cost", profile=profile)
    measured = summarise(times, {"cost": ("seconds", "median")}, x="points", panel="k = {k}: seconds", profile=profile)
    return pd.concat([counted, measured], ignore_index=True)


def cost_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return counted multiplications and measured seconds of one sample against the number of points."""
    figure = line_panels(
        values,
        list(SAMPLER_STYLES),
        title=title,
        setting=setting,
        statistic="cost",
        titles={panel: panel.replace(": ", "\n") for panel in dict.fromkeys(values["panel"])},
        log="xy",
        styles=SAMPLER_STYLES,
        marks="none",
        x="points n",
        wrap=4,
        share_y=False,
    )
    for axis in figure.axes:
        axis.set_xticks([250, 1000, 4000], ["250", "1000", "4000"])
    return figure


def sampling_cost(test: Test) -> Decision:
    """Check that the exchange chain takes at least ``factor`` times fewer multiplications than the exact sampler."""
    words, holds = [], True
    for k in test["ks"]:
        counts = [sampling_operations(n, k, 0.01) for n in test["sizes"]]
        ratios = [c["exact"] / c["exchange chain"] for c in counts]
        slope = np.polyfit(np.log(test["sizes"]), np.log([c["exchange chain"] for c in counts]), 1)[0]
        holds &= ratios[-1] >= test["factor"]
        words.append(f"k = {k}: {ratios[0]:.3g} to {ratios[-1]:.3g} times fewer, growing like n^{slope:.2f}")
    return Decision(holds, f"n = {test['sizes'][0]} to {test['sizes'][-1]}; {'; '.join(words)}")


def sampling_speed(test: Test, rows: Rows) -> Decision:
    """Check that at the most points the exchange chain is at least ``factor`` times faster than the exact sampler."""
    seconds = rows[test["experiments"][0]].groupby(["k", "points", "series"])["seconds"].median().unstack("series")
    ratios = (seconds["exact"] / seconds["exchange chain"]).unstack("points")
    words = [
        f"k = {k}: {', '.join(f'{ratio:.2g} (n = {n})' for n, ratio in line.items())}" for k, line in ratios.iterrows()
    ]
    holds = bool((ratios.iloc[:, -1] >= test["factor"]).all())
    return Decision(holds, f"seconds of exact over exchange, {'; '.join(words)}")


CHECKS = {
    "sampling_cost": Check(sampling_cost, {"ks": "numbers", "sizes": "numbers", "factor": "number"}),
    "sampling_speed": Check(sampling_speed, {"factor": "number"}),
}
