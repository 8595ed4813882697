"""Lines of verdicts, recomputed from the rows by code that shares nothing with that of verdicts.

Of `bestarm_lab` it takes what a claim says and what is to be compared, of a study its values and its looks.
"""

import itertools
from collections import namedtuple
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, optimize, stats

from bestarm_lab.claims.evaluation import decide
from bestarm_lab.claims.verdicts import states, verdict_of
from bestarm_lab.paths import RESULTS
from bestarm_lab.study import load_study

COUNTS = ("for", "open", "against")
STUDIES = ("oae", "dpp_bbo", "gpoo", "gse", "linear_topm")
CHOSEN, SEED = 6, 20240607  # lines of a study
DIGITS, LEAST = 5.1e-6, 1e-30  # how far six digits are from a number, relative; below it p-values are one
Pair = namedtuple("Pair", "name left right before paired limit chance")  # values by run; ``before`` in an earlier cell
Mean = namedtuple("Mean", "value error n skewed runs shares", defaults=[False])  # an effect that is a mean of runs
Found = namedtuple("Found", "name effect p opposite mean")  # one comparison
Line = namedtuple("Line", "found need counts before p average")  # p-values: joint, paid for earlier looks, of the mean


@cache
def frame(study, experiment, scale):
    paper, laptop = (RESULTS / study / folder / f"{experiment}.parquet" for folder in ("paper", ""))
    rows = pd.read_parquet(paper if scale == "paper" and paper.is_file() else laptop).drop(columns="key")
    rows = rows.astype(dict.fromkeys({"series", "convention", "data"} & set(rows), "category"))  # quicker than texts
    if {"rank", "pulls"} <= set(rows):  # before the first pull nobody has a rank (not on the page)
        rows["rank"] = rows["rank"].astype(float).mask(rows["pulls"] == 0)
    return rows


def logged(test):
    return getattr(test, "by_ratio", type(test).__name__ == "Ratio")


def value_of(test):
    return test.quantity.values.get(test.quantity.name)


def cell(quantity, rows, names, settings):
    """Return the rows of a cell; of a second experiment the series that the first has not."""
    found = []
    for name in filter(None, names):
        mine = rows[name]
        keep = ~mine["series"].isin(set().union(*(set(f["series"]) for f in found)))
        for setting, wanted in settings.items():
            of = mine[setting] if setting in mine else quantity.values[setting].of(mine, quantity.settings)
            keep = keep & (of.between(wanted.low, wanted.high) if hasattr(wanted, "low") else of == wanted)
        found.append(mine[keep] if "experiment" in mine else mine[keep].assign(experiment=name))
    return pd.concat(found, ignore_index=True)


def by_series(test, rows):
    """Return a table of runs and series; a run is averaged over a span of a setting."""
    if getattr(value_of(test), "of", None) is not None:
        return value_of(test).of(rows, test.quantity.settings)
    quantity = test.quantity
    series = quantity.values[quantity.series_are].of(rows, quantity.settings) if quantity.series_are else rows["series"]
    return rows[quantity.name].astype(float).groupby([rows["replication"], series.rename("s")]).mean().unstack("s")


def one_side(table, side):
    """Return the values of a series, or of the best of some: in the cell, or by the runs of the other parity."""
    if not hasattr(side, "rule"):
        return table[side].dropna()
    table = table[[name for name in side.names if name in table]]
    if side.rule == "highest":
        return table[table.mean().idxmax()].dropna()
    sign, odd = -1.0 if side.rule.startswith("lowest") else 1.0, table.index.to_numpy() % 2 == 1
    halves = [table.loc[mine, (sign * table[~mine].mean()).idxmax()] for mine in (odd, ~odd)]
    return pd.concat(halves).dropna().sort_index()


def pairs(test, rows):
    quantity = test.quantity
    align, limit, chance = (getattr(value_of(test), name, None) for name in ("align", "limit", "chance"))
    for part in test.parts:
        for experiment, entry in part.cells:
            for chosen in itertools.product(*entry.values()):
                where = dict(zip(entry, chosen, strict=True))
                cells = {"left": cell(quantity, rows, (experiment, part.joined), where)}
                for key, at in (("against", part.against), ("from", part.base)):
                    if at is not None:
                        names = (at.experiment or experiment, at.joined or part.joined)
                        cells[key] = cell(quantity, rows, names, where | dict(at.settings))
                if align is not None:
                    cells = dict(zip(cells, align(*cells.values()), strict=True))
                marks = [f and f(cells["left"]) for f in (limit, chance)]
                tables = {key: by_series(test, rows) for key, rows in cells.items()}
                here = tables["left"]
                for left, right in part.pairs or [(s, s if part.against else None) for s in here]:
                    sides = []
                    for ours, theirs in ((here, tables.get("against", here)), (tables.get("from"),) * 2):
                        a = None if ours is None else one_side(ours, left)
                        b = None if right is None or ours is None else one_side(theirs, right)
                        both = None if b is None or not part.paired else a.index.intersection(b.index)
                        sides.append((a, b) if both is None else (a[both], b[both]))
                    yield Pair(experiment, *sides[0], sides[1], part.paired, *marks)


def says_nothing(pair, kind):
    """Return whether both sides mostly ended early, are as good as a guess, or one number other than success."""
    sides = [side for side in pair[1:3] if side is not None]
    if kind != "Difference" and pair.limit is not None and all((s >= pair.limit).mean() > 0.5 for s in sides):
        return True
    guesses = kind != "Ratio" and pair.chance is not None and all(abs(s.mean() - pair.chance) <= 0.02 for s in sides)
    return len(sides) > 1 and (guesses or (len(numbers := {*sides[0], *sides[1]}) == 1 and numbers != {1.0}))


def skewed(values, few=None):
    """Return bounds of the skewness over the root of n: of two estimates the farther, and 3/4 standard errors more."""
    x, n = np.sort(np.asarray(values, dtype=float)), len(values)
    if n < 3 or np.ptp(x) <= 1e-12 * np.abs(x).max():
        return 0.0, 0.0
    x, rank, few = x - x.mean(), np.arange(n), few or n
    first, second = np.mean(x * rank) / (n - 1), np.mean(x * rank * (rank - 1)) / ((n - 1) * (n - 2))  # moments by rank
    both = 6.0 * (6.0 * second - 6.0 * first) / (2.0 * first), n * np.sum((x / x.std(ddof=1)) ** 3) / (n - 1) / (n - 2)
    more = 0.75 * 6.0 * np.sqrt(0.1866 / few + 0.8 / few**2) * np.sqrt(n / few)
    return min(0.0, min(both) - more) / np.sqrt(n), max(0.0, max(both) + more) / np.sqrt(n)


def plain(d, shares=False):
    """Return the mean of values of runs; of differences of zeros and ones by Agresti and Min (not on the page)."""
    n = len(d)
    if shares:
        error = np.sqrt(((d**2).sum() + 1.0) / (n + 2) - (d.sum() / (n + 2)) ** 2) / np.sqrt(n + 2)
        return Mean(d.mean(), error, n, (0.0, 0.0), d, True)
    return Mean(d.mean(), d.std(ddof=1) / np.sqrt(n), n, skewed(d), d)


def clustered(value, *weighted):
    """Return values by run whose mean is a sum of means with weights, runs being clusters."""
    moves = pd.concat([w * (runs - runs.mean()) / len(runs) for runs, w in weighted]).groupby(level=0).sum()
    return value + len(moves) * moves


def difference(pair):
    shares = all({*side} <= {0.0, 1.0} for side in pair[1:3] if side is not None)
    d, old = (left if right is None else left - right for left, right in (pair[1:3], pair.before))
    if old is None:
        return plain(d, shares and pair.right is not None)
    one, n = float(shares), min(len(d), len(old))  # of shares one run more is off by one (not on the page)
    variances = [(((x - x.mean()) ** 2).sum() + one) / len(x) / (len(x) - 1 + one) for x in (d, old)]
    value = d.mean() - old.mean()
    return Mean(value, np.sqrt(sum(variances)), n, (0.0, 0.0), clustered(value, (d, 1.0), (old, -1.0)), shares)


def ratio(pair):
    if pair.right is None:
        return plain(np.log(pair.left))
    (a, b), value = (side / side.mean() for side in pair[1:3]), np.log(pair.left.mean() / pair.right.mean())
    if pair.paired:
        return plain(a - b)._replace(value=value, runs=value + a - b)
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    fa, fb = ((v / (va + vb)) ** 1.5 if va + vb else 0.0 for v in (va, vb))  # third moments add (not on the page)
    bounds = (fa * skewed(a)[0] - fb * skewed(b)[1], fa * skewed(a)[1] - fb * skewed(b)[0])
    return Mean(value, np.sqrt(va + vb), min(len(a), len(b)), bounds, clustered(value, (a, 1.0), (b, -1.0)))


def hall(t, s):
    """Return Hall's transformation of t; beyond s t = -1.25 the line that touches it there (not on the page)."""
    at = t if s * t >= -1.25 else -1.25 / s
    return at + s * at**2 / 3 + s**2 * at**3 / 27 + s / 6 + (1 + s * at / 3) ** 2 * (t - at)


def tails(mean, margin):
    """Return p of "below" and "above" a margin: the larger of the t-test's and that after the transformation."""
    if mean.error == 0.0:
        return (0.5, 0.5) if mean.value == margin else (float(mean.value > margin), float(mean.value < margin))
    t, (left, right) = (mean.value - margin) / mean.error, mean.skewed
    return tuple(max(law((t, hall(t, s)), mean.n - 1)) for law, s in ((stats.t.cdf, right), (stats.t.sf, left)))


def against_margin(mean, relation, by_log):
    low, high = (np.log(end) if by_log and 0.0 < end < np.inf else end for end in (relation.low, relation.high))
    if relation.word == "within":
        (under, over_low), (under_high, over) = tails(mean, low), tails(mean, high)
        return max(over_low, under_high), min(1.0, under + under_high, over + over_low)
    return tails(mean, high) if relation.word == "below" else tails(mean, low)[::-1]


def compare(test, pair):
    """Return one comparison of a claim, or None where it says nothing."""
    kind, relation = type(test).__name__, test.relation
    if kind == "Share":
        bound, most = (0.0, False) if test.runs is None else (test.runs.bound, test.runs.at_most)
        held = ((pair.left <= bound) if most else (pair.left > bound)).astype(float)
        k, n = held.sum(), len(held)
        ps = (stats.binom.sf(k - 1, n, relation.bound), stats.binom.cdf(k, n, relation.bound)) if n else (1.0, 1.0)
        return Found(pair.name, k / max(n, 1), *(ps[::-1] if relation.word == "below" else ps), plain(held, True))
    if says_nothing(pair, kind):
        return None
    mean = ratio(pair) if logged(test) else difference(pair)
    p, opposite = against_margin(mean, relation, logged(test))
    if kind == "Mostly" and mean.error == 0.0 and p == 0.5:  # equal in every run: at least as good, and not better
        p, opposite = (0.0, 1.0) if relation.word == "at_least" else (1.0, 0.0)
    return Found(pair.name, np.exp(mean.value) if logged(test) else mean.value, p, opposite, mean)


def jointly(ps, opposite, need):
    """Return p of "at least so many hold" of each line, and of its opposite; Simes' bound is not on the page."""
    found, m = [], ps.shape[1]
    for sides, k in ((ps, need), (opposite, m - need + 1)):
        tail = np.sort(sides, axis=1)[:, k - 1 :]
        found.append((tail * tail.shape[1] / np.arange(1, tail.shape[1] + 1)).min(axis=1))
    return np.minimum(1.0, [found[0], m * opposite.min(axis=1) if need == m else found[1]])


def paid(p, share):
    """Return p after an earlier look at a share of the runs, by the spending function like O'Brien and Fleming's."""
    if share >= 1.0 or not 1e-8 < p < 0.25:  # the limits are not on the page
        return p
    last = stats.norm.isf(p)

    def kept(level):  # P(beyond the early bound, or beyond the last) - level
        early = 2.0 * stats.norm.sf(stats.norm.isf(level / 2.0) / np.sqrt(share))
        law = stats.norm(stats.norm.isf(early) / np.sqrt(share), np.sqrt(1.0 / share - 1.0))
        both = integrate.quad(lambda x: stats.norm.pdf(x) * law.sf(x), last, last + 12.0, epsabs=0.0, epsrel=1e-11)
        return early + both[0] - level

    return p if kept(p) <= 0.0 else optimize.brentq(kept, p, 0.5, xtol=1e-16, rtol=1e-12)


def holm(ps):
    """Return which of these one-sided p-values are significant from two sides."""
    order = np.argsort(ps, kind="stable")
    passed = np.logical_and.accumulate(np.minimum(1.0, 2.0 * ps[order]) * (len(ps) - np.arange(len(ps))) < 0.05)
    return np.isin(np.arange(len(ps)), order[passed])


def recomputed(study, test, convention, scale):
    rows = {name: frame(study, name, scale) for name in test.experiments()}
    rows = {n: f[f["convention"] == convention] if "convention" in f else f for n, f in rows.items()}
    found = [one for pair in pairs(test, rows) if (one := compare(test, pair)) is not None]
    looks, m = load_study(study).plan, len(found)
    seen = [looks[n] for n, f in rows.items() if n in looks and f["replication"].nunique() >= looks[n][-1]]
    share = max((runs[-2] / runs[-1] for runs in seen), default=1.0)
    need = {"all": m, "exists": 1}.get(test.quantifier, m // 2 + 1) if test.need is None else min(test.need, m)
    if type(test).__name__ == "Mostly":
        cells = test.share * m
        need = int(np.floor(cells)) + 1 if test.exceeded else max(1, int(np.ceil(cells - 1e-9)))
    ps, opposite = (np.array([getattr(f, key) for f in found]) for key in ("p", "opposite"))
    ours, theirs = holm(ps), holm(opposite) & ~holm(ps)
    counts = (int(ours.sum()), m - int(ours.sum() + theirs.sum()), int(theirs.sum()))
    before = [float(p[0]) for p in jointly(ps[None], opposite[None], need)] if need <= m else [1.0, 0.0]
    average = ()
    if test.quantifier in ("most", "typical") and m > 1:
        value, n = np.mean([f.mean.value for f in found]), min(f.mean.n for f in found)
        runs = clustered(value, *((f.mean.runs, 1.0 / m) for f in found))
        more = np.mean([f.mean.shares / len(f.mean.runs) for f in found])
        mean = Mean(value, np.hypot(runs.std(ddof=1) / np.sqrt(len(runs)), more), n, skewed(runs, n), runs)
        average = against_margin(mean, test.relation, logged(test))
    return Line(found, need, counts, before, *([paid(p, share) for p in both] for both in (before, average)))


def words(line, significant, mixes, level=0.05):
    """Return the words that a claim may have; of what is open by a simulation of more runs with noise of its own."""
    if significant:
        return {"confirmed" if line.before[0] <= line.before[1] else "mixed" if mixes and line.counts[0] else "refuted"}
    sides = [(f.p, 1.0) if f.p <= 0.5 else (min(0.5, f.opposite), -1.0) for f in line.found]
    z = np.array([sign * np.clip(stats.norm.isf(p), -38.0, 38.0) for p, sign in sides])
    rng, power = np.random.default_rng(SEED), 0.0
    noise = np.sqrt(0.5) * (rng.standard_normal((10000, 1)) + rng.standard_normal((10000, len(z))))
    for times in (1.0, 100.0):
        more = z * np.sqrt(times) + noise
        least = jointly(stats.norm.sf(more), stats.norm.cdf(more), line.need).min(axis=0)
        power = max(power, float((least <= level / 2.0).mean()))
    return {word for word, told in (("undecided", power > 0.77), ("at the margin", power < 0.83)) if told}


def committed(study):
    table = pd.read_csv(RESULTS / study / "verdicts.csv")
    return table.assign(**{key: table[key].fillna("") for key in ("ours", "of", "level")})


def chosen(study):
    """Return some lines of the paper's own claims by a fixed seed, of each kind that is recomputed here in turn."""
    table, claims = committed(study), load_study(study).claims
    lines = table[(table["ours"] == "") & table["p"].notna()].sample(frac=1.0, random_state=SEED)
    tests = [claims[i].tests[convention] for i, convention in zip(lines["id"], lines["convention"], strict=True)]
    known = [not (getattr(value_of(t), "statistic", None) or getattr(t, "printed", None)) for t in tests]
    kinds = pd.Series([type(t).__name__ for t in tests], lines.index)[known]
    kinds = kinds[kinds.isin(["Difference", "Ratio", "Share", "Mostly"])]
    return lines.loc[kinds.groupby(kinds).cumcount().sort_values(kind="stable").index[:CHOSEN]]


def adjusted(table, of=""):
    """Return the two-sided p-values after Benjamini and Hochberg in families, and the level that this leaves."""
    own = table[[f"{of}p", f"{of}p_opposite"]].to_numpy(dtype=float)
    ps = np.where(np.isnan(own), table[["p", "p_opposite"]].to_numpy(dtype=float), own)
    two, found = np.minimum(1.0, 2.0 * ps.min(axis=1)), np.full((2, len(ps)), np.nan)
    keys = table["convention"] + " " + table["level"].where(table["ours"] == "", "ours")
    for key in set(keys):
        family = np.flatnonzero((keys == key) & ~np.isnan(two))
        family = family[np.argsort(-two[family])]
        m = len(family)
        found[0, family] = np.minimum.accumulate(np.append(1.0, two[family] * m / np.arange(m, 0, -1)))[1:]
        found[1, family] = 0.05 * max(1, (found[0, family] < 0.05).sum()) / max(1, m)
    return ps, *found


def check(study, line, level):
    """Compare a committed line with that of other code; and with that of the present code, which has all digits."""
    claim, convention, scale = load_study(study).claims[line["id"]], line["convention"], line["scale"]
    test = claim.tests[convention]
    rows = {e: frame(study, e, scale) for e in test.experiments()}
    mine = recomputed(study, test, convention, scale)
    theirs = decide(load_study(study), claim, convention, rows, rows if scale == "paper" else {})
    of_each = states(theirs["found"])
    assert mine.counts == tuple(of_each.count(state) for state in COUNTS) == tuple(line[list(COUNTS)])
    for a, b in zip(mine.found, theirs["found"], strict=True):
        assert b.name.startswith(a.name)
        assert a.effect == pytest.approx(b.effect, 1e-6, 1e-9), b.name
        assert [a.p, a.opposite] == pytest.approx([b.p, b.p_opposite], 1e-6, LEAST), b.name
    keys = ["p", "p_opposite", *(["average_p", "average_p_opposite"] if "mean" in theirs else [])]
    assert mine.p + mine.average == pytest.approx([theirs[key] for key in keys], 1e-6, LEAST)
    assert mine.p + mine.average == pytest.approx([line[key] for key in keys], DIGITS, LEAST)
    alone = min(theirs["p"], theirs["p_opposite"]) < 0.025
    word = verdict_of(theirs["found"], alone, theirs["needed"], mixed=test.mixes)
    assert word in words(mine, min(mine.p) < 0.025, test.mixes)
    assert line["verdict"] in words(mine, line["p_adjusted"] < 0.05, test.mixes, level)


@pytest.mark.parametrize("study", STUDIES)
def test_lines_follow_from_the_rows_by_other_code(study):
    levels, lines = adjusted(committed(study))[2], chosen(study)
    assert len(lines) >= 4
    for at, line in lines.iterrows():
        check(study, line, levels[at])


@pytest.mark.parametrize("of", ["", "average_"])
@pytest.mark.parametrize("study", STUDIES)
def test_adjusted_p_values_follow_from_the_p_values(study, of):
    table = committed(study)
    ps, found, _ = adjusted(table, of)
    claims = {key: i for i, key in enumerate(zip(table["id"], table["convention"], strict=True))}
    for i, line in table[table[f"{of}p_adjusted"].notna()].iterrows():
        claim = claims.get((line["of"], line["convention"]), i) if line["ours"] else i
        may = {i, claim} if (ps[claim] == ps[i]).all() else {i}  # of six digits: the file does not tell whether of all
        assert any(line[f"{of}p_adjusted"] == pytest.approx(found[j], 2 * DIGITS, LEAST) for j in may), line["id"]
