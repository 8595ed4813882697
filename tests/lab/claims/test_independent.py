"""Lines of verdicts, recomputed from the rows by code that shares nothing with that of verdicts.

It is written from ``docs/verdicts.md``. Of `bestarm_lab` it takes what a claim says (its record), the study's own values, and
at the end what is to be compared.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import integrate, optimize, stats

from bestarm_lab.claims.evaluation import decide
from bestarm_lab.claims.verdicts import states, verdict_of
from bestarm_lab.paths import RESULTS, ROOT
from bestarm_lab.study import load_study

STUDIES = ("oae", "dpp_bbo", "gpoo", "gse", "linear_topm")
CHOSEN, SEED = 8, 20240607  # lines of a study
DIGITS = 5.1e-6  # relative, of a number that is written with six digits


def near(a, b, relative=1e-6, absolute=1e-9):
    """Return whether two numbers are one, up to rounding."""
    return (np.isnan(a) and np.isnan(b)) or abs(a - b) <= max(relative * abs(b), absolute)


# -- what a claim compares


@cache
def frame(study, experiment, scale):
    """Return the raw rows of an experiment; nobody is ranked before the first pull."""
    paper, laptop = (RESULTS / study / folder / f"{experiment}.parquet" for folder in ("paper", ""))
    rows = pd.read_parquet(paper if scale == "paper" and paper.is_file() else laptop)
    if "rank" in rows and "pulls" in rows:
        rows["rank"] = rows["rank"].astype(float).mask(rows["pulls"] == 0)
    return rows


def experiments_of(test):
    """Return the experiments that a claim names."""
    named = set()
    for part in test.parts:
        named |= {experiment for experiment, _ in part.cells} | {part.joined}
        for other in (part.against, part.base):
            named |= {other.experiment, other.joined} if other else set()
    return sorted(named - {""})


def cell(quantity, rows, names, settings):
    """Return the rows of a cell; of a second experiment the series that the first has not."""
    found = []
    for name in filter(None, names):
        have = set().union(*(set(f["series"]) for f in found))
        mine = rows[name]
        keep = ~mine["series"].isin(have)
        for setting, wanted in settings.items():
            of = mine[setting] if setting in mine else quantity.values[setting].of(mine, quantity.settings)
            span = hasattr(wanted, "low")
            keep = keep & (((of >= wanted.low) & (of <= wanted.high)) if span else of == wanted)
        mine = mine[keep]
        found.append(mine if "experiment" in mine else mine.assign(experiment=name))
    return pd.concat(found, ignore_index=True) if len(found) > 1 else found[0]


def by_series(quantity, value, rows, settings):
    """Return a table of runs and series; a run is averaged over a span of a setting."""
    if value is not None and value.of is not None:
        return value.of(rows, quantity.settings)
    if quantity.series_are:
        rows = rows.assign(series=quantity.values[quantity.series_are].of(rows, quantity.settings))
    grouped = rows.astype({quantity.name: float}).groupby(["replication", "series"], sort=False)[quantity.name]
    spans = any(hasattr(wanted, "low") for wanted in settings.values())
    assert spans or (grouped.size() == 1).all()
    return grouped.mean(skipna=spans).unstack("series").sort_index().sort_index(axis=1)


def one_side(table, side):
    """Return the values of a side by run: of a series, or of the best of some."""
    if not hasattr(side, "rule"):
        return table[side].dropna()
    names = [name for name in side.names if name in table]
    if side.rule == "highest":
        return table[max(names, key=lambda name: table[name].mean())].dropna()
    best, halves = pd.Series(np.nan, index=table.index), table.index.to_numpy() % 2
    for half in (0, 1):
        means = table.loc[halves != half, names].mean()
        chosen = means.idxmin() if side.rule.startswith("lowest") else means.idxmax()
        best[halves == half] = table.loc[halves == half, chosen]
    return best.dropna()


@dataclass
class Pair:
    """Both sides of a comparison, the right one or the earlier cell may be missing."""

    name: str
    left: pd.Series
    right: pd.Series | None
    before: tuple | None
    paired: bool
    limit: float | None
    chance: float | None

    @property
    def sides(self):
        return [side for side in (self.left, self.right) if side is not None]

    def says_nothing(self, guesses=True, cut=True):
        """Return whether both sides are one number but success, as good as a guess, or mostly ended early."""
        left, right = self.left, self.right
        if cut and self.limit is not None and all((s >= self.limit).mean() > 0.5 for s in self.sides):
            return True
        if right is None:
            return False
        if guesses and self.chance is not None and all(abs(s.mean() - self.chance) <= 0.02 for s in self.sides):
            return True
        same = len({*left}) == len({*right}) == 1 and left.iloc[0] == right.iloc[0]
        return same and left.iloc[0] != 1.0


def pairs(test, rows):
    """Yield both sides of every comparison."""
    quantity = test.quantity
    value = quantity.values.get(quantity.name)
    for part in test.parts:
        for experiment, entry in part.cells:
            for chosen in itertools.product(*entry.values()):
                where = dict(zip(entry, chosen, strict=True))
                places = {"left": ((experiment, part.joined), where)}
                for key, other in (("against", part.against), ("from", part.base)):
                    if other is not None:
                        names = (other.experiment or experiment, other.joined or part.joined)
                        places[key] = (names, where | dict(other.settings))
                cells = {key: cell(quantity, rows, *place) for key, place in places.items()}
                if value is not None and value.align is not None:
                    cells = dict(zip(cells, value.align(*cells.values()), strict=True))
                limit, chance = (
                    None if value is None or (f := getattr(value, key)) is None else f(cells["left"])
                    for key in ("limit", "chance")
                )
                tables = {key: by_series(quantity, value, cells[key], places[key][1]) for key in cells}
                here = tables["left"]
                facing = tables.get("against", here)
                for left, right in part.pairs or [(s, s if part.against else None) for s in here.columns]:

                    def both(a, b, left=left, right=right, part=part):
                        a, b = one_side(a, left), None if right is None else one_side(b, right)
                        if b is None or not part.paired:
                            return a, b
                        common = np.intersect1d(a.index, b.index)
                        return a[common], b[common]

                    before = both(tables["from"], tables["from"]) if "from" in tables else None
                    yield Pair(experiment, *both(here, facing), before, part.paired, limit, chance)


# -- one comparison


@dataclass
class Mean:
    """An effect that is a mean of runs, with bounds of its skewness over the root of n."""

    value: float
    error: float
    n: int
    skewed: tuple
    runs: pd.Series
    shares: bool = False


def zero_one(*sides):
    return all(set(side.unique()) <= {0.0, 1.0} for side in sides)


def skewed(values, least=None):
    """Return bounds of the skewness over the root of n: of two estimates the farther, and 3/4 standard errors more."""
    x, n = np.sort(np.asarray(values, dtype=float)), len(values)
    if n < 3 or np.ptp(x) <= 1e-12 * np.abs(x).max():
        return 0.0, 0.0
    x = x - x.mean()
    rank = np.arange(1, n + 1)
    b1 = np.sum((rank - 1) / (n - 1) * x) / n  # probability-weighted moments; the zeroth is 0
    b2 = np.sum((rank - 1) * (rank - 2) / ((n - 1) * (n - 2)) * x) / n
    by_l = 6.0 * (6.0 * b2 - 6.0 * b1) / (2.0 * b1)
    third = n / ((n - 1) * (n - 2)) * np.sum((x / x.std(ddof=1)) ** 3)
    least = least or n
    more = 0.75 * 6.0 * np.sqrt(0.1866 / least + 0.8 / least**2) * np.sqrt(n / least)
    return min(0.0, min(by_l, third) - more) / np.sqrt(n), max(0.0, max(by_l, third) + more) / np.sqrt(n)


def plain(d, shares=False):
    """Return the mean of values of runs; of differences of zeros and ones by Agresti and Min."""
    n = len(d)
    error = d.std(ddof=1) / np.sqrt(n)
    if shares:  # one pair more is won, one lost
        error = np.sqrt(((d**2).sum() + 1.0) / (n + 2) - (d.sum() / (n + 2)) ** 2) / np.sqrt(n + 2)
    return Mean(d.mean(), error, n, (0.0, 0.0) if shares else skewed(d), d, shares)


def clustered(value, weighted):
    """Return a value by run whose mean is a sum of means, with runs as clusters."""
    moves = pd.concat([weight * (runs - runs.mean()) / len(runs) for runs, weight in weighted])
    moves = moves.groupby(level=0).sum()
    return value + len(moves) * moves


def difference(pair):
    def change(left, right):
        return left if right is None else left - right

    shares = zero_one(*pair.sides)
    d = change(pair.left, pair.right)
    if pair.before is None:
        return plain(d, shares and pair.right is not None)
    old = change(*pair.before)
    variance = sum(
        (((x - x.mean()) ** 2).sum() + 1.0) / len(x) ** 2 if shares else x.var(ddof=1) / len(x) for x in (d, old)
    )
    value = d.mean() - old.mean()
    runs = clustered(value, [(d, 1.0), (old, -1.0)])
    return Mean(value, np.sqrt(variance), min(len(d), len(old)), (0.0, 0.0), runs, shares)


def ratio(pair):
    if pair.right is None:
        return plain(np.log(pair.left))
    a, b = (side / side.mean() for side in pair.sides)  # a - 1 is the linear term of the log of the mean
    value = np.log(pair.left.mean()) - np.log(pair.right.mean())
    if pair.paired:
        found = plain(a - b)
        return Mean(value, found.error, found.n, found.skewed, value + a - b)
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    runs, n = clustered(value, [(a, 1.0), (b, -1.0)]), min(len(a), len(b))
    if va + vb == 0.0:
        return Mean(value, 0.0, n, (0.0, 0.0), runs)
    (a_left, a_right), (b_left, b_right) = skewed(a), skewed(b)
    fa, fb = (va / (va + vb)) ** 1.5, (vb / (va + vb)) ** 1.5
    return Mean(value, np.sqrt(va + vb), n, (fa * a_left - fb * b_right, fa * a_right - fb * b_left), runs)


def hall(t, s):
    """Return Hall's transformation of t, and beyond s t = -1.25 the line that touches it there."""
    touch = t if s * t >= -1.25 else -1.25 / s
    cubic = touch + s * touch**2 / 3 + s**2 * touch**3 / 27 + s / 6
    return cubic + (1 + s * touch / 3) ** 2 * (t - touch)


def tails(mean, margin):
    """Return p of "below" and "above" a margin: the larger of the t-test's and that after the transformation."""
    if mean.error == 0.0:
        d = mean.value - margin
        return (0.5, 0.5) if d == 0.0 else (float(d > 0), float(d < 0))
    t, (left, right) = (mean.value - margin) / mean.error, mean.skewed
    return tuple(max(law((t, hall(t, s)), mean.n - 1)) for law, s in ((stats.t.cdf, right), (stats.t.sf, left)))


def against_margin(mean, relation, logged):
    """Return p of the claim and of its opposite."""
    low, high = (np.log(end) if logged and 0.0 < end < np.inf else end for end in (relation.low, relation.high))
    if relation.word == "within":
        (under, over_low), (under_high, over) = tails(mean, low), tails(mean, high)
        return max(over_low, under_high), min(1.0, under + under_high, over + over_low)
    under, over = tails(mean, high if relation.word == "below" else low)
    return (under, over) if relation.word == "below" else (over, under)


@dataclass
class Found:
    """One comparison."""

    name: str
    effect: float
    p: float
    opposite: float
    n: int
    mean: Mean


def compare(kind, test, pair):
    """Return one comparison of a claim, or None where it says nothing."""
    relation, left, right = test.relation, pair.left, pair.right
    runs = getattr(test, "runs", None)

    def counted(side):
        if runs is None:
            return side > 0
        return side <= runs.bound if runs.at_most else side > runs.bound

    if kind == "Share":
        hit = counted(left)
        k, n = int(hit.sum()), len(hit)
        below, above = stats.binom.cdf(k, n, relation.bound), stats.binom.sf(k - 1, n, relation.bound)
        ps = (1.0, 1.0) if n == 0 else (below, above) if relation.word == "below" else (above, below)
        return Found(pair.name, k / max(n, 1), *ps, n, plain(hit.astype(float), True))
    if kind == "Discordant":
        if runs is not None:
            left, right = counted(left).astype(float), counted(right).astype(float)
        won, lost = (left > right).sum(), (left < right).sum()
        differ = won + lost
        under, over = stats.binom.cdf(won, differ, 0.5), stats.binom.sf(won - 1, differ, 0.5)
        ps = (under, over) if relation.word == "below" else (over, under)
        mean = plain(np.sign(left - right), True)
        if zero_one(left, right):
            return Found(pair.name, (won - lost) / len(left), *ps, len(left), mean) if differ > 4 else None
        wins = lost if relation.word == "below" else won
        return Found(pair.name, wins / max(differ, 1), *ps, differ, mean) if differ else None
    logged = kind == "Ratio" or getattr(test, "by_ratio", False)
    if pair.says_nothing(guesses=kind != "Ratio", cut=kind != "Difference"):
        return None
    mean = (
        ratio(pair) if logged else plain(left - right, zero_one(left, right)) if kind == "Mostly" else difference(pair)
    )
    p, opposite = against_margin(mean, relation, logged)
    if kind == "Mostly" and mean.error == 0.0 and p == 0.5:  # equal in every run: at least as good, and not better
        p, opposite = (0.0, 1.0) if relation.word == "at_least" else (1.0, 0.0)
    return Found(pair.name, np.exp(mean.value) if logged else mean.value, p, opposite, mean.n, mean)


# -- one claim


def simes(ps, need):
    """Return p of "at least so many hold": partial conjunction with Simes' bound, rows of ps one by one."""
    tail = np.sort(np.atleast_2d(ps), axis=1)[:, need - 1 :]
    m = tail.shape[1]
    return np.minimum(1.0, (tail * m / (1.0 + np.arange(m))).min(axis=1))


def jointly(ps, opposite, need):
    """Return p of "at least ``need`` of all" and of its opposite."""
    m = np.atleast_2d(ps).shape[1]
    if need > m:
        return np.ones(1), np.zeros(1)
    if need == m:
        return np.max(np.atleast_2d(ps), axis=1), np.minimum(1.0, m * np.min(np.atleast_2d(opposite), axis=1))
    return simes(ps, need), simes(opposite, m - need + 1)


def paid(p, share):
    """Return p after an earlier look at a share of the runs, by the spending function like O'Brien and Fleming's."""
    if share >= 1.0 or not 1e-8 < p < 0.25:
        return p
    last, rho = stats.norm.isf(p), np.sqrt(share)

    def kept(level):  # P(beyond the early bound, or beyond the last) - level
        bound = stats.norm.isf(level / 2.0) / rho
        early = 2.0 * stats.norm.sf(bound)
        bound = stats.norm.isf(early)

        def last_only(x):
            return stats.norm.pdf(x) * stats.norm.cdf((bound - rho * x) / np.sqrt(1.0 - share))

        return early + integrate.quad(last_only, last, last + 12.0, epsabs=0.0, epsrel=1e-11, limit=200)[0] - level

    return p if kept(p) <= 0.0 else optimize.brentq(kept, p, 0.5, xtol=1e-16, rtol=1e-12)


def holm(ps):
    """Return which of these one-sided p-values are significant from two sides."""
    found = np.zeros(len(ps), dtype=bool)
    for place, at in enumerate(np.argsort(ps, kind="stable")):
        if min(1.0, 2.0 * ps[at]) * (len(ps) - place) >= 0.05:
            break
        found[at] = True
    return found


def needed(kind, test, m):
    """Return how many of m comparisons a claim needs."""
    if kind == "Mostly":
        x = test.share * m
        return int(np.floor(x)) + 1 if test.exceeded else max(1, int(np.ceil(x - 1e-9)))
    if test.need is not None:
        return min(test.need, m)
    return {"all": m, "exists": 1}.get(test.quantifier, m // 2 + 1)


def open_words(found, need, level):
    """Return which words an undecided claim may have: a simulation of more runs, of its own noise."""
    half = [(f.p, 1.0) if f.p <= 0.5 else (min(0.5, f.opposite), -1.0) for f in found]
    z = np.array([sign * np.clip(stats.norm.isf(p), -38.0, 38.0) for p, sign in half])
    rng = np.random.default_rng(SEED)
    noise = np.sqrt(0.5) * (rng.standard_normal((10000, 1)) + rng.standard_normal((10000, len(z))))
    power = 0.0
    for times in (1.0, 100.0):
        shifted = z * np.sqrt(times) + noise
        least = np.minimum(*jointly(stats.norm.sf(shifted), stats.norm.cdf(shifted), need))
        power = max(power, float((least <= level / 2.0).mean()))
    return {"undecided"} if power > 0.83 else {"at the margin"} if power < 0.77 else {"undecided", "at the margin"}


def averaged(found, relation, logged):
    """Return p of the mean over comparisons and of its opposite, runs being clusters."""
    value, n = np.mean([f.mean.value for f in found]), min(f.mean.n for f in found)
    runs = clustered(value, [(f.mean.runs, 1.0 / len(found)) for f in found])
    more = np.mean([f.mean.shares / len(f.mean.runs) for f in found])
    error = np.hypot(runs.std(ddof=1) / np.sqrt(len(runs)), more)
    return against_margin(Mean(value, error, n, skewed(runs, n), runs), relation, logged)


@dataclass
class Line:
    """What is found on a claim."""

    found: list
    need: int
    counts: tuple
    before: tuple  # p-values before earlier looks are paid for
    p: tuple
    average: tuple | None

    def words(self, significant, mixes, level=0.05):
        """Return the words that a claim may have."""
        if not significant:
            return open_words(self.found, self.need, level)
        if self.before[0] <= self.before[1]:
            return {"confirmed"}
        return {"mixed" if mixes and self.counts[0] else "refuted"}


def recomputed(study, test, convention, scale):
    """Return a line of the verdicts, from the rows."""
    kind = type(test).__name__
    rows = {name: frame(study, name, scale) for name in experiments_of(test)}
    rows = {n: f[f["convention"] == convention] if "convention" in f else f for n, f in rows.items()}
    found = [f for f in (compare(kind, test, pair) for pair in pairs(test, rows)) if f is not None]
    plan = ROOT / "src" / "bestarm_studies" / study / "plan.yaml"
    looks = yaml.safe_load(plan.read_text(encoding="utf-8"))["looks"] if plan.is_file() else {}
    looks = {n: looks[n] for n, f in rows.items() if n in looks and f["replication"].nunique() >= looks[n][-1]}
    share = max((runs[-2] / runs[-1] for runs in looks.values()), default=1.0)
    ps, opposite = np.array([f.p for f in found]), np.array([f.opposite for f in found])
    need, ours, theirs = needed(kind, test, len(found)), holm(ps), holm(opposite)
    n_for, n_against = int(ours.sum()), int((theirs & ~ours).sum())
    before = tuple(float(p[0]) for p in jointly(ps, opposite, need))
    average = None
    if test.quantifier in ("most", "typical") and len(found) > 1:
        logged = kind == "Ratio" or getattr(test, "by_ratio", False)
        average = tuple(paid(p, share) for p in averaged(found, test.relation, logged))
    counts = (n_for, len(found) - n_for - n_against, n_against)
    return Line(found, need, counts, before, tuple(paid(p, share) for p in before), average)


# -- the comparison with what is committed


def committed(study):
    """Return the committed verdicts of a study."""
    table = pd.read_csv(RESULTS / study / "verdicts.csv")
    return table.assign(**{key: table[key].fillna("") for key in ("ours", "of", "level")})


def is_known(test):
    """Return whether a test is of a kind that is recomputed here."""
    statistic = getattr(test, "quantity", None) and getattr(
        test.quantity.values.get(test.quantity.name), "statistic", 0
    )
    kinds = ("Difference", "Ratio", "Share", "Mostly", "Discordant")
    return type(test).__name__ in kinds and not statistic and not getattr(test, "printed", None)


def chosen(study, number=CHOSEN):
    """Return some lines of the paper's own claims by a fixed seed, of each kind in turn."""
    table, claims = committed(study), load_study(study).claims
    lines = [
        (type(test).__name__, line)
        for _, line in table[(table["ours"] == "") & table["p"].notna()].sample(frac=1.0, random_state=SEED).iterrows()
        if is_known(test := claims[line["id"]].tests[line["convention"]])
    ]
    turn = {kind: itertools.count() for kind, _ in lines}
    return [line for _, line in sorted(lines, key=lambda entry: next(turn[entry[0]]))][:number]


def levels(table, average=False):
    """Return two-sided p-values, adjusted by Benjamini and Hochberg in families, and the levels that this leaves."""
    ps = table[["p", "p_opposite"]].to_numpy(dtype=float)
    if average:
        own = table[["average_p", "average_p_opposite"]].to_numpy(dtype=float)
        ps = np.where(np.isnan(own), ps, own)
    two = np.minimum(1.0, 2.0 * ps.min(axis=1))
    adjusted, level = np.full(len(two), np.nan), np.full(len(two), np.nan)
    keys = list(zip(table["convention"], np.where(table["ours"] == "", table["level"], "ours"), strict=True))
    for key in set(keys):
        family = [i for i, k in enumerate(keys) if k == key and not np.isnan(two[i])]
        family.sort(key=lambda i: -two[i])
        least = 1.0
        for rank, i in zip(range(len(family), 0, -1), family, strict=True):
            least = adjusted[i] = min(least, two[i] * len(family) / rank)
        level[family] = 0.05 * max(1, (adjusted[family] < 0.05).sum()) / max(1, len(family))
    place = {key: i for i, key in enumerate(zip(table["id"], table["convention"], strict=True))}
    for i, (of, convention) in enumerate(zip(table["of"], table["convention"], strict=True)):
        claim = place.get((of, convention))
        if table["ours"].iloc[i] and claim is not None and not np.isnan(two[i]) and (ps[claim] == ps[i]).all():
            adjusted[i], level[i] = adjusted[claim], level[claim]
    return adjusted, level


@pytest.mark.parametrize("study", STUDIES)
def test_lines_follow_from_the_rows_by_other_code(study):
    loaded, found = load_study(study), 0
    words = committed(study)
    words["level_left"] = levels(words)[1]
    for line in chosen(study):
        claim, convention = loaded.claims[line["id"]], line["convention"]
        test = claim.tests[convention]
        mine = recomputed(study, test, convention, line["scale"])
        name = f"{line['id']} {convention}"
        # what the code finds on the same rows, with all digits
        rows = {e: frame(study, e, line["scale"]) for e in experiments_of(test)}
        theirs = decide(loaded, claim, convention, rows, rows if line["scale"] == "paper" else {})
        state = states(theirs["found"])
        assert mine.counts == tuple(state.count(word) for word in ("for", "open", "against")), name
        assert all(near(a, theirs[b]) for a, b in zip(mine.p, ("p", "p_opposite"), strict=True)), name
        for a, b in zip(mine.found, theirs["found"], strict=True):
            assert b.name.startswith(a.name), name
            assert near(a.effect, b.effect), (name, b.name)
            assert near(a.p, b.p), (name, b.name)
            assert near(a.opposite, b.p_opposite), (name, b.name)
        alone = min(theirs["p"], theirs["p_opposite"]) < 0.025
        word = verdict_of(theirs["found"], alone, theirs["needed"], mixed=test.mixes)
        assert word in mine.words(min(mine.p) < 0.025, test.mixes), name
        if mine.average is not None:
            assert all(near(a, theirs[f"average_{b}"]) for a, b in zip(mine.average, ("p", "p_opposite"), strict=True))
        # what is committed, with six
        assert mine.counts == tuple(line[key] for key in ("for", "open", "against")), name
        assert all(near(a, line[b], DIGITS) for a, b in zip(mine.p, ("p", "p_opposite"), strict=True)), name
        at = words.loc[line.name, "level_left"]
        assert line["verdict"] in mine.words(line["p_adjusted"] < 0.05, test.mixes, at), name
        found += 1
    assert found >= 4


@pytest.mark.parametrize("study", STUDIES)
def test_adjusted_p_values_follow_from_the_p_values(study):
    table = committed(study)
    for column in ("", "average_"):
        adjusted, _ = levels(table, bool(column))
        given = table[f"{column}p_adjusted"].to_numpy(dtype=float)
        tested = ~np.isnan(given)
        assert tested.any() or column
        for a, b, line in zip(adjusted[tested], given[tested], table["id"][tested], strict=True):
            assert near(a, b, 2 * DIGITS), line
