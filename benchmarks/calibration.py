"""How often each kind of a claim's test decides wrongly, and how often it sees what is there.

Runs are drawn by laws like those of the rows of the ledgers, at their numbers of runs and cells. A claim is put at its
margin, where either decision is wrong; a claim on many cells is put one cell off. Every ledger is simulated 400 times,
and decided at 2.5% a side as one claim that stands alone. A second table has laws that nobody here chose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.claims.statistics import (
    Comparison,
    Relation,
    are_shares,
    bootstrap_comparison,
    discordant_comparison,
    draws,
    joint_p,
    mean_comparison,
    mean_of,
    partial_conjunction,
    ratio_comparison,
    share_comparison,
    spread_comparison,
    weighted_means,
)

LEDGERS = 400
SIDE = 0.025
Law = Callable[[np.random.Generator, int], FloatArray]
Make = Callable[[np.random.Generator, float], Comparison]


def normal(rng: np.random.Generator, n: int) -> FloatArray:
    """Return noise as that of a simple regret."""
    return rng.normal(size=n)


def exponential(rng: np.random.Generator, n: int) -> FloatArray:
    """Return centred times until something that happens at random."""
    return rng.exponential(size=n) - 1.0


def heavy(rng: np.random.Generator, n: int) -> FloatArray:
    """Return noise with the tails of a t-distribution with three degrees of freedom."""
    return rng.standard_t(3, size=n) / np.sqrt(3.0)


def accuracy(rng: np.random.Generator, n: int) -> FloatArray:
    """Return centred differences of two shares of runs that agree in most."""
    return rng.choice([-1.0, 0.0, 1.0], p=[0.2, 0.6, 0.2], size=n)


def difference(rng: np.random.Generator, shift: float, n: int, law: Law, unit: float = 1.0) -> Comparison:
    """Return a difference that is ``shift`` standard errors on the claim's side of its margin."""
    values = law(rng, n)
    shares = law is accuracy
    scale = np.sqrt(0.4) if shares else 1.0
    change = pd.Series(values + shift * scale / np.sqrt(n)) if not shares else pd.Series(values)
    relation = Relation("above", -shift * scale / np.sqrt(n) if shares else 0.0)
    if not shares:
        change = change * unit
    return mean_comparison("", mean_of(change, shares=are_shares(change**2)), relation, True)


def times(rng: np.random.Generator, shift: float, n: int, unit: float = 1.0) -> Comparison:
    """Return a ratio of mean times, geometric and cut at 150, against its true value moved by standard errors."""
    left, right = (np.minimum(rng.geometric(p, n), 150).astype(float) * unit for p in (0.04, 0.02))
    truth = ((1 - 0.96**150) / 0.04) / ((1 - 0.98**150) / 0.02)
    bound = truth * float(np.exp(shift * np.sqrt((0.9**2 + 0.8**2) / n)))
    return ratio_comparison("", pd.Series(left), pd.Series(right), Relation("below", high=bound), paired=True)


def share(rng: np.random.Generator, shift: float, n: int) -> Comparison:
    """Return a share of the runs, 0.9 at the margin."""
    bound = 0.9 - shift * np.sqrt(0.09 / n)
    return share_comparison("", int(rng.binomial(n, 0.9)), n, Relation("above", bound))


def discordant(rng: np.random.Generator, shift: float, n: int) -> Comparison:
    """Return zeros and ones on both sides that differ in two runs of five."""
    differ = rng.random(n) < 0.4
    wins = rng.random(n) < 0.5 + 0.5 * shift / np.sqrt(0.4 * n)
    left, right = pd.Series((differ & wins) * 1.0), pd.Series((differ & ~wins) * 1.0)
    return discordant_comparison("", left, right, Relation("above", 0.0))


def within(rng: np.random.Generator, shift: float, n: int, law: Law) -> Comparison:
    """Return an effect at the upper end of an interval eight standard errors wide."""
    width = 8.0 / np.sqrt(n)
    change = pd.Series(law(rng, n) - shift / np.sqrt(n))
    return mean_comparison("", mean_of(change, shares=False), Relation("within", -width, 0.0), True)


def spread(rng: np.random.Generator, shift: float, n: int) -> Comparison:
    """Return how far two runs of a normal law are apart, in the median."""
    runs = pd.Series(rng.normal(size=n) * np.exp(-shift * 1.649 / np.sqrt(n)))
    return spread_comparison("", runs, Relation("below", high=0.9538726))


def slope(rng: np.random.Generator, shift: float, n: int) -> Comparison:
    """Return a slope of means along five places by the bootstrap over runs."""
    places = np.arange(5.0)
    centred = (places - places.mean()) / ((places - places.mean()) ** 2).sum()
    error = float(np.sqrt((centred**2).sum() / n))
    table = pd.DataFrame(rng.normal(size=(n, 5)) + shift * error * places)
    effect, drawn = float(table.mean() @ centred), weighted_means(table, draws(rng, n)) @ centred
    return bootstrap_comparison("", effect, drawn, n, Relation("above", 0.0))


def best(rng: np.random.Generator, shift: float, n: int, rivals: int = 4, rank: int = 1) -> Comparison:
    """Return a rank among rivals: ``shift`` standard errors ahead of all but those that may be ahead."""
    mine = rng.normal(size=n)
    ahead = [8.0] * (rank - 1) + [-shift] * (rivals - rank + 1)
    others = [rng.normal(size=n) + lead * np.sqrt(2.0 / n) for lead in ahead]
    tests = [mean_of(pd.Series(mine - other), shares=False).tails(0.0)[::-1] for other in others]
    ps, opposite = zip(*tests, strict=True)
    p, p_opposite = partial_conjunction(ps, rivals - rank + 1), partial_conjunction(opposite, rank)
    return Comparison("", float(rank), lambda level: (1.0, 1.0 + rivals), p, p_opposite, n)


def decided(make: Make, shifts: FloatArray, need: int, rng: np.random.Generator, ledgers: int) -> tuple[float, float]:
    """Return the shares of simulated claims that are confirmed, and refuted.

    Parameters
    ----------
    make : callable
        From a generator and a shift to one comparison.
    shifts : ndarray, shape (m,)
        How far each comparison is on the claim's side, in standard errors.
    need : int
        How many must hold.
    rng : Generator
        For the runs.
    ledgers : int
        Simulated claims.
    """
    found = [joint_p([make(rng, shift) for shift in shifts], need) for _ in range(ledgers)]
    confirmed, refuted = (np.array(found) <= SIDE).mean(axis=0)
    return float(confirmed), float(refuted)


KINDS: dict[str, tuple[str, Make]] = {
    "difference, 25 normal runs": ("difference", partial(difference, n=25, law=normal)),
    "difference, 25 exponential runs": ("difference", partial(difference, n=25, law=exponential)),
    "difference, 25 runs with heavy tails": ("difference", partial(difference, n=25, law=heavy)),
    "difference, 50 exponential runs": ("difference", partial(difference, n=50, law=exponential)),
    "difference of shares, 400 runs": ("difference", partial(difference, n=400, law=accuracy)),
    "difference, 25 runs, in units of 1/100": ("difference", partial(difference, n=25, law=normal, unit=100.0)),
    "ratio of times, 25 runs": ("ratio", partial(times, n=25)),
    "ratio of times, 100 runs": ("ratio", partial(times, n=100)),
    "ratio of times, 25 runs, in units of 1/10": ("ratio", partial(times, n=25, unit=10.0)),
    "share, 100 runs": ("share", partial(share, n=100)),
    "share, 500 runs": ("share", partial(share, n=500)),
    "discordant, 100 runs": ("discordant", partial(discordant, n=100)),
    "within, 25 runs": ("within", partial(within, n=25, law=normal)),
    "spread, 25 runs": ("spread", partial(spread, n=25)),
    "spread, 500 runs": ("spread", partial(spread, n=500)),
    "slope by the bootstrap, 50 runs": ("slope", partial(slope, n=50)),
    "best of five, 25 runs": ("rank", partial(best, n=25)),
    "second best of five, 25 runs": ("rank", partial(best, n=25, rank=2)),
}


def of_laws(rng: np.random.Generator, n: int, left: Law, right: Law | None, truth: float) -> Comparison:
    """Return a mean, or a ratio of means, at its true value."""
    values, relation = pd.Series(left(rng, n)), Relation("above", truth)
    if right is None:
        return mean_comparison("", mean_of(values, shares=False), relation, True)
    return ratio_comparison("", values, pd.Series(right(rng, n)), relation, paired=True)


def _beta(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.beta(0.3, 3.0, size=n)


def _zeros(rng: np.random.Generator, n: int, share: float) -> FloatArray:
    return np.where(rng.random(n) < share, 0.0, rng.lognormal(size=n))


def _capped(rng: np.random.Generator, n: int) -> FloatArray:
    return np.minimum(rng.exponential(size=n), -np.log(0.4))  # 40% reach it; the mean is 0.6


def _pareto(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.pareto(2.5, size=n) + 1.0


def _wide(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.lognormal(-1.125, 1.5, size=n)  # of mean 1


def _standard(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.exponential(size=n)


LAWS: dict[str, tuple[Law, Law | None, float]] = {  # of a referee: left, right, true mean or ratio
    "mean, beta(0.3, 3)": (_beta, None, 0.3 / 3.3),
    "mean, t with 3 degrees of freedom": (heavy, None, 0.0),
    "mean, 10% zeros, else lognormal": (partial(_zeros, share=0.1), None, 0.9 * np.exp(0.5)),
    "mean, 90% zeros, else lognormal": (partial(_zeros, share=0.9), None, 0.1 * np.exp(0.5)),
    "mean of times, 40% at the cap": (_capped, None, 0.6),
    "ratio of times, 40% at the cap": (_capped, _capped, 1.0),
    "ratio, Pareto 2.5": (_pareto, _pareto, 1.0),
    "ratio, lognormal 1.5": (_wide, _wide, 1.0),
    "ratio, lognormal 1.5 to exponential": (_wide, _standard, 1.0),
}
SIZES = ((4, 4), (12, 12), (5, 3), (12, 7), (4, 3), (14, 12), (22, 12), (39, 32))
CELLS = {
    "differences, 25 normal runs": KINDS["difference, 25 normal runs"][1],
    "differences, 25 exponential runs": KINDS["difference, 25 exponential runs"][1],
    "ratios of times, 25 runs": KINDS["ratio of times, 25 runs"][1],
    "best of five, 25 runs": KINDS["best of five, 25 runs"][1],
}


def lines(ledgers: int = LEDGERS) -> Iterator[dict[str, object]]:
    """Yield one line for each kind and for each number of cells."""
    for name, (_, make) in KINDS.items():
        rng = np.random.default_rng(20261123)
        wrong = decided(make, np.zeros(1), 1, rng, ledgers)
        power = [decided(make, np.array([shift]), 1, rng, ledgers // 4)[0] for shift in (3.0, 4.0)]
        yield _line(name, "1 of 1", wrong, power)
    for name, make in CELLS.items():
        for m, need in SIZES:
            rng = np.random.default_rng(20261123)
            one_short = np.where(np.arange(m) < need - 1, 4.0, 0.0)  # one too few ahead, the others at their margin
            just = np.where(np.arange(m) < need, 0.0, -4.0)  # just enough at their margin, the others clearly behind
            wrong = (decided(make, one_short, need, rng, ledgers)[0], decided(make, just, need, rng, ledgers)[1])
            power = [decided(make, np.full(m, shift), need, rng, ledgers // 10)[0] for shift in (3.0, 4.0)]
            yield _line(name, f"{need} of {m}", wrong, power)


def law_lines(runs: tuple[int, ...] = (10, 25, 50, 100), ledgers: int = 2000) -> Iterator[dict[str, object]]:
    """Yield for each law of a referee the larger of both rates of false decisions, by the number of runs."""
    for name, (left, right, truth) in LAWS.items():
        line: dict[str, object] = {"law": name}
        for n in runs:
            rng = np.random.default_rng(20261124)
            found = [joint_p([of_laws(rng, n, left, right, truth)], 1) for _ in range(ledgers)]
            line[f"{n} runs"] = float((np.array(found) <= SIDE).mean(axis=0).max())
        yield line


def _line(name: str, cells: str, wrong: tuple[float, float], power: list[float]) -> dict[str, object]:
    return {
        "test": name,
        "cells": cells,
        "falsely confirmed": wrong[0],
        "falsely refuted": wrong[1],
        "confirmed at 3 standard errors": power[0],
        "confirmed at 4": power[1],
    }


def main() -> None:
    """Print the tables."""
    found = pd.DataFrame(lines())
    print("\n".join(["| " + " | ".join(found.columns) + " |", "| --- | --: |" + " --: |" * 4]))
    for line in found.to_dict("records"):
        shares = [f"{value:.1%}" for value in list(line.values())[2:]]
        print("| " + " | ".join([line["test"], line["cells"], *shares]) + " |")
    for law in law_lines():
        print("| " + " | ".join([str(law["law"]), *(f"{rate:.1%}" for rate in list(law.values())[1:])]) + " |")


if __name__ == "__main__":
    main()
