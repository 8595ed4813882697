"""Robustness of verdicts: what each claim becomes with another margin, under Holm's rule, and under open choices.

A paper leaves choices open: settings, initial values, what is counted. A study declares of each choice which rows are
substituted for which, or which value is read from them. A claim's own test is then decided anew on those of its
comparisons that these rows have, alone and unadjusted, and beside it on the study's own rows of the same comparisons,
so that a difference is that of the choice. Choices are changed one at a time, or drawn together at random.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from bestarm_lab.claims.cells import Quantity, Rows, SharedRows, Value, run_as
from bestarm_lab.claims.kinds import ClaimTest, Share, Slope
from bestarm_lab.claims.layout import Best, Part, Side, series_of
from bestarm_lab.claims.records import Claim
from bestarm_lab.claims.statistics import Comparison, Relation
from bestarm_lab.claims.verdicts import LEVEL, adjust, by_holm, states, verdict_alone, verdict_of
from bestarm_lab.figures.values import as_values

STATES = ("for", "open", "against")
COUNTS_THEN = [f"{state}_then" for state in STATES]
COLUMNS = ["claim", "convention", "kind", "choice", "word", *STATES, "word_then", *COUNTS_THEN, "of", "strength"]
MARGINS = {"margin halved": 0.5, "margin doubled": 2.0}
HOLM = "adjusted by Holm"
# of a mixed claim something is refuted; other words than these leave a claim open
KINDS = {"confirmed": "confirmed", "refuted": "refuted", "mixed": "refuted"}
VERDICTS = ("confirmed", "refuted", "open")


@dataclass(frozen=True)
class Substitution:
    """Rows under a choice that are substituted for those of an experiment."""

    experiment: str  # whose rows they are
    # by the series of the claims what each is called there; empty where all have their own names
    series: Mapping[str, str] = field(default_factory=dict)
    beside: Collection[str] = ()  # series that the choice leaves as they are: the study's own rows of them stand beside
    # a column of which the study's own rows are kept where these rows have the value, such as ``round`` where fewer
    # rounds are recorded; empty for all
    same: str = ""
    change: Callable[[pd.DataFrame], pd.DataFrame] | None = None  # from these rows to rows in the columns of the claims

    def rows(self, frame: pd.DataFrame, own: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the rows under the choice and those without it, by the names of the claims.

        The latter are of the substituted experiment where it has the unchanged series, so that both have the same runs.
        """
        there = frame if self.change is None else self.change(frame)
        own = own[own[self.same].isin(there[self.same].unique())] if self.same else own
        beside = own[own["series"].isin(self.beside)]
        if not self.series:
            return pd.concat([there, beside], ignore_index=True) if len(beside) else there, own
        unchanged = there[there["series"].isin(self.series)]
        if set(unchanged["series"]) != set(self.series):
            unchanged = own[own["series"].isin(self.series)]
        names = {name: mine for mine, name in self.series.items()}
        changed = there[there["series"].isin(names)]
        changed = changed.assign(series=changed["series"].map(names))
        return pd.concat([changed, beside], ignore_index=True), pd.concat([unchanged, beside], ignore_index=True)


@dataclass(frozen=True)
class OpenChoice:
    """One reading of what a paper leaves open."""

    words: str  # the reading
    # by experiments of the claims; empty where all rows are the study's own
    substitutions: Mapping[str, Substitution] = field(default_factory=dict)
    quantities: Collection[str] = ()  # the columns or values that it concerns; empty for all
    # by these names what is read from the rows in their stead; empty where they are as the study has them
    values: Mapping[str, Value] = field(default_factory=dict)
    ours: bool = False  # whether the project's own statements are decided under it, too
    # where choices are drawn together, the level of each in words
    levels: Mapping[str, str] = field(default_factory=dict)
    draw: int | None = None  # number of the draw
    named: str = ""  # what a claim depends on whose word is another one under this reading; its verdict says so


def dependences(table: pd.DataFrame, choices: Iterable[OpenChoice]) -> dict[tuple[str, str], str]:
    """Return what the word of a claim, by name and convention, depends on, of the readings that are ``named``."""
    found: dict[tuple[str, str], str] = {}
    for choice in choices:
        moved = table[(table["choice"] == choice.words) & (table["word"] != table["word_then"]) & bool(choice.named)]
        found |= dict.fromkeys(zip(moved["claim"], moved["convention"], strict=True), choice.named)
    return found


def other_margins(lines: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return what each verdict becomes if its margin is halved or doubled, or if p-values are adjusted by Holm.

    ``lines`` are of `bestarm_lab.claims.evaluation.decide`, ``table`` has the verdicts on them. The result has
    ``COLUMNS``. The margin moves on the scale of logarithms for ratios. The level that the adjustment leaves to the
    claim stays. A claim without margin (more than nothing, as large as), or that counts such, has no line of one.
    """
    holm, levels = by_holm(table), adjust(table)["level"]
    found = []
    for place, raw in enumerate(lines.to_dict("records")):
        line, comparisons = table.iloc[place], raw.get("found")
        if not isinstance(comparisons, list):
            continue
        need, test, level = int(line["needed"]), raw["asked"], float(levels.iloc[place])
        same = {"claim": line["id"], "convention": line["convention"], "kind": "margin", "of": len(comparisons)}
        same |= {"word": line["verdict"], **_counts(comparisons)}
        for choice, factor in MARGINS.items():
            if moved := _moved(comparisons, test, factor):
                word = verdict_alone(moved, need, level=level, mixed=test.mixes)
                found.append(same | {"choice": choice, "word_then": word, **_counts(moved, "_then")})
        word = verdict_of(comparisons, bool(holm.iloc[place] < LEVEL), need, mixed=test.mixes, level=level)
        found.append(same | {"choice": HOLM, "word_then": word, **_counts(comparisons, "_then")})
    return pd.DataFrame(found, columns=COLUMNS)


def _moved(comparisons: list[Comparison], test: ClaimTest, factor: float) -> list[Comparison]:
    """Return comparisons with another margin; none where there is no margin."""
    relation: Relation | None = getattr(test, "relation", None)
    share = isinstance(test, Share) and not test.printed
    other = None if relation is None else relation.scaled(factor, logged=comparisons[0].logged, share=share)
    if other is None:
        return []
    both = [c.against(other) if c.against is not None else (c.p, c.p_opposite) for c in comparisons]
    return [replace(c, p=p, p_opposite=q) for c, (p, q) in zip(comparisons, both, strict=True)]


def _counts(comparisons: Sequence[Comparison], suffix: str = "") -> dict[str, int]:
    found = states(comparisons)
    return {f"{state}{suffix}": found.count(state) for state in STATES}


def under_choices(claims: Mapping[str, Claim], choices: Iterable[OpenChoice], rows: Rows) -> pd.DataFrame:
    """Return what each of the paper's claims is under each choice.

    ``rows`` are the study's own of each experiment, and those that are substituted; exact claims are left out. The
    result has ``COLUMNS``: ``word_then`` is the verdict by itself, unadjusted for the number of claims; ``word`` that
    on the study's own rows of the same comparisons; how many comparisons are ``for`` the claim, ``open`` and
    ``against`` it without the choice and then; ``of``, how many the claim has; ``strength``, how far the effects under
    the choice are from their margins on the claim's side, in standard deviations of a run, in the mean over
    comparisons. A number of comparisons that a claim names is asked of those that are there in proportion. A claim none
    of whose comparisons a choice has is left out. Raises ValueError for an experiment without rows.
    """
    rows = {name: run_as(frame, "as_written") for name, frame in rows.items()}
    first = {name: _first_run(frame) for name, frame in rows.items()}
    table, known = [], {}
    for choice in choices:
        own, then = map(SharedRows, _rows_of_both(choice, rows))
        seen = {name: _first_run(frame) for name, frame in then.items()} if choice.substitutions else first
        for identity, claim in claims.items():
            test = claim.tests.get("as_written")
            if (claim.ours and not choice.ours) or not isinstance(test, ClaimTest):
                continue
            if choice.quantities and test.quantity.name not in choice.quantities:
                continue
            if (asked := _comparable(test, choice, first, seen)) is None:
                continue
            quantity = replace(test.quantity, values={**test.quantity.values, **choice.values})
            word, found = decided_alone(replace(asked, quantity=quantity), then)
            # where no choice narrows them, own rows say the same beside all
            some = any(s.series or s.same for s in choice.substitutions.values())
            key = (identity, str(asked.parts), choice.words if some else "")
            if key not in known:
                before, same = decided_alone(asked, own)
                known[key] = {"word": before, **_counts(same)}
            line: dict[str, Any] = {"claim": identity, "convention": "as_written", "choice": choice.words}
            line |= {"kind": "choice" if choice.draw is None else "draw", "word_then": word, "of": n_comparisons(test)}
            line["strength"] = float(np.mean([c.strength for c in found])) if found else float("nan")
            table.append(line | known[key] | _counts(found, "_then"))
    order = {identity: place for place, identity in enumerate(claims)}
    result = pd.DataFrame(table, columns=COLUMNS)
    return result.sort_values("claim", key=lambda ids: ids.map(order), kind="stable", ignore_index=True)


def experiments(choices: Iterable[OpenChoice]) -> list[str]:
    """Return the experiments whose rows `under_choices` needs for some substitutions, each once."""
    pairs = [(old, new.experiment) for choice in choices for old, new in choice.substitutions.items()]
    return list(dict.fromkeys(name for pair in pairs for name in pair))


def _first_run(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one run, in which one sees what was run at all."""
    return rows[rows["replication"] == rows["replication"].min()]


def _rows_of_both(choice: OpenChoice, rows: Rows) -> tuple[Rows, Rows]:
    """Return the study's own rows and those under a choice, both by the experiments of the claims."""
    if absent := [name for name in experiments([choice]) if name not in rows]:
        raise ValueError(f"{choice.words}: no current rows of {', '.join(absent)}; make them by bestarm rows.")
    both = {old: new.rows(rows[new.experiment], rows[old]) for old, new in choice.substitutions.items()}
    if not both:
        return rows, rows
    then = {old: both[old][0].assign(experiment=new.experiment) for old, new in choice.substitutions.items()}
    return {name: own for name, (_, own) in both.items()}, then


def _comparable(test: ClaimTest, choice: OpenChoice, own: Rows, then: Rows) -> ClaimTest | None:
    """Return a test with the comparisons that a choice concerns and has, or None if there is none."""
    kept = [part for part in single_cells(test) if set(part.experiments()) <= set(then)]
    kept = [there for part in kept if (there := _there(part, test.quantity, choice, own, then)) is not None]
    if not kept:
        return None
    asked = replace(test, parts=tuple(kept))
    if test.need is None:
        return asked
    return replace(asked, need=math.ceil(test.need * n_comparisons(asked) / n_comparisons(test)))


def decided_alone(test: ClaimTest, rows: Rows) -> tuple[str, list[Comparison]]:
    """Return the verdict of a test by itself, at 5% and unadjusted for other claims, and the comparisons it rests on.

    Without a comparison that says something the word is "not informative".
    """
    found = [comparison for comparison in test.comparisons(rows) if comparison.informative]
    if not found:
        return "not informative", found
    return verdict_alone(found, test.needed(len(found)), mixed=test.mixes), found


def single_cells(test: ClaimTest) -> Iterator[Part]:
    """Yield the parts of a test with one cell each; a slope keeps all values of the setting that it is along."""
    along = test.along if isinstance(test, Slope) else ""
    for part in test.parts:
        for experiment, entry in part.cells:
            kept = {along: entry[along]} if along in entry else {}
            for _, where in replace(part, cells=((experiment, entry),)).each_cell(without=along):
                yield replace(part, cells=((experiment, {k: [v] for k, v in where.items()} | kept),))


def n_comparisons(test: ClaimTest) -> int:
    """Return how many comparisons a test has, whether they say anything or not."""
    return sum(max(1, len(part.pairs)) for part in single_cells(test))


def _there(part: Part, quantity: Quantity, choice: OpenChoice, own: Rows, then: Rows) -> Part | None:
    """Return a part of one cell with the comparisons that a choice concerns and has; None if none is left."""
    ((experiment, _),) = part.cells
    changed = set(choice.substitutions[experiment].series) if choice.substitutions else set()
    kept = [pair for pair in part.pairs if not changed or changed & {*series_of(pair[0]), *series_of(pair[1])}]
    if part.pairs and not kept:
        return None
    for _, where in part.each_cell():
        before, after = (_series(part, experiment, where, quantity, rows) for rows in (own, then))
        if not all(before.values()) or not all(after.values()):
            return None
        right = {"against" if "against" in before else "left", "from"}
        places = [(0, p) for p in before if p != "against"] + [(1, p) for p in before if p in right]
        kept = [pair for pair in kept if all(_has(pair[side], before[p], after[p]) for side, p in places)]
    return replace(part, pairs=tuple(kept)) if kept or not part.pairs else None


def _series(part: Part, experiment: str, where: Mapping[str, Any], quantity: Quantity, rows: Rows) -> dict[str, Any]:
    return {
        place: {series for name in experiments for series in quantity.select(rows[name], settings)["series"].unique()}
        for place, (experiments, settings) in part.places(experiment, where).items()
    }


def _has(side: Side | None, before: Collection[str], after: Collection[str]) -> bool:
    """Return whether a side is among the series under a choice: of a best all that the study's own rows have."""
    named = set(series_of(side))
    if isinstance(side, Best):
        named &= set(before)
    return side is None or (bool(named) and named <= set(after))


def effects(found: pd.DataFrame, choices: Iterable[OpenChoice]) -> pd.DataFrame:
    """Return the effect of each choice that is drawn, for each claim: how far its levels are apart in its favour.

    Verdicts on a draw's few runs are coarse, so levels are compared by the comparisons' strength. Only draws are read.

    The columns are ``claim, choice, more, less, difference, low, high, draws, words``: the levels with the largest and
    the smallest mean strength; their difference, in standard deviations of a run, with an interval at 95% over all
    pairs of levels of a claim's choices together (t, Bonferroni); in ``words`` how often the two confirm and refute the
    claim. Draws are the sample; a choice that has several levels in each draw is compared within draws.
    """
    drawn = {choice.words: {"draw": choice.draw, **choice.levels} for choice in choices if choice.draw is not None}
    levels = pd.DataFrame.from_dict(drawn, orient="index")
    table = []
    for claim, mine in found[found["choice"].isin(drawn)].set_index("choice").groupby("claim", sort=False):
        at = levels.loc[mine.index].dropna(axis="columns", how="all")
        kinds, strength = _kinds(mine["word_then"]), mine["strength"]
        of_draw = strength.groupby(at["draw"]).mean().dropna()
        groups: dict[str, dict[str, pd.Series]] = {}
        for name in at.columns.drop("draw"):
            wide = strength.groupby([at["draw"], at[name]]).mean().unstack()
            if wide.notna().sum(axis="columns").max() > 1:
                groups[name] = {str(level): values for level, values in wide.dropna().items()}
            else:
                groups[name] = {str(level): of_draw.loc[wide.index[wide[level].notna()]] for level in wide}
        pairs = sum(math.comb(len(values), 2) for values in groups.values())
        for name, values in groups.items():
            order = sorted(values, key=lambda level: float(values[level].mean()))
            more, less = order[-1], order[0]
            told = [f"{level} {_shares(kinds[at[name] == level])}" for level in (more, less)]
            line = {"claim": claim, "choice": name, "more": more, "less": less, "draws": at["draw"].nunique()}
            line |= _difference(values[more], values[less], pairs)
            table.append(line | {"words": f"{name}: {'; '.join(told)}"})
    return pd.DataFrame(table)


def _kinds(words: pd.Series) -> pd.Series:
    return words.map(KINDS).fillna("open")


def _shares(kinds: pd.Series) -> str:
    return ", ".join(f"{(kinds == kind).mean():.0%} {kind}" for kind in VERDICTS[:2])


def _difference(more: pd.Series, less: pd.Series, pairs: int) -> dict[str, float]:
    """Return a difference of means, one of so many, with its interval; of the same draws it is paired."""
    if more.index.equals(less.index):
        error, freedom = float((more - less).std() / np.sqrt(len(more))), len(more) - 1
    else:
        error = float(np.hypot(more.std() / np.sqrt(len(more)), less.std() / np.sqrt(len(less))))
        freedom = len(more) + len(less) - 2
    difference, reach = float(more.mean() - less.mean()), -float(special.stdtrit(freedom, LEVEL / 2 / pairs)) * error
    return {"difference": difference, "low": difference - reach, "high": difference + reach}


def deciding(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the effects whose interval excludes 0, for each claim that with the largest lower end first."""
    return effects[effects["low"] > 0.0].sort_values("low", ascending=False, kind="stable")


def summary(found: pd.DataFrame, effects: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return of each claim under how many choices it is confirmed, and what changes it.

    ``found`` is of `under_choices`, ``effects`` of `effects` where choices are drawn together. The columns are
    ``claim``; ``choices``, how many were read, of which the claim is ``confirmed`` under so many, ``refuted`` (mixed
    counts as such) and ``open`` under the others; ``fewest`` and ``most`` comparisons that a choice has, ``of`` all;
    ``differs``, the choices under which it is another of these three than on the study's own rows of the same
    comparisons, or with ``effects`` the two choices that matter most, in words.
    """
    table = []
    for claim, mine in found.groupby("claim", sort=False):
        kinds, own = _kinds(mine["word_then"]), _kinds(mine["word"])
        compared = mine[COUNTS_THEN].sum(axis="columns")
        if effects is None:
            columns = ["choice", "word_then", "word"]
            told = [f"{c} ({v}, else {o})" for c, v, o in mine.loc[kinds != own, columns].to_numpy()]
        else:
            told = deciding(effects[effects["claim"] == claim])["words"].head(2).to_list()
        line = {"claim": claim, "choices": len(mine), **{kind: int((kinds == kind).sum()) for kind in VERDICTS}}
        line |= {"fewest": compared.min(), "most": compared.max(), "of": mine["of"].iloc[0]}
        table.append(line | {"differs": "; ".join(told)})
    return pd.DataFrame(table, columns=["claim", "choices", *VERDICTS, "fewest", "most", "of", "differs"])


def summary_table(
    table: pd.DataFrame, last: str = "differs under (verdict, else that of our own choice)"
) -> pd.DataFrame:
    """Return the table of `summary` as text; ``last`` is the heading of what changes a claim."""
    ranges = zip(table["fewest"], table["most"], table["of"], strict=True)
    extent = [f"{low} to {high} of {of}" if low < high else f"{high} of {of}" for low, high, of in ranges]
    confirmed = table["confirmed"].astype(str) + " of " + table["choices"].astype(str)
    texts: dict[str, Any] = {"confirmed under": confirmed, "refuted under": table["refuted"], "comparisons": extent}
    return table[["claim"]].assign(**texts, **{last: table["differs"]})


def change_table(found: pd.DataFrame, own: str) -> pd.DataFrame:
    """Return one choice as text: a row for each claim, its words with counts without it (``own``) and then."""

    def told(word: str, counts: list[str]) -> pd.Series:
        return found[word] + " (" + found[counts].astype(str).agg(" / ".join, axis="columns") + ")"

    (choice,) = found["choice"].unique()
    words = {own: told("word", list(STATES)), choice: told("word_then", COUNTS_THEN)}
    extent = found[COUNTS_THEN].sum(axis="columns").astype(str) + " of " + found["of"].astype(str)
    return pd.DataFrame({"claim": found["claim"].str.partition("-")[2], **words, "comparisons": extent})


def choice_values(found: pd.DataFrame, profile: str, own: str = "") -> pd.DataFrame:
    """Return `under_choices` in the columns of a figure's CSV: the statistic is the verdict, the value its ``for``.

    With ``own``, what the study's own rows have, lines on these are there as well.
    """
    sides = [(own, "word", list(STATES))] if own else []
    frames = []
    for name, word, counts in [*sides, ("", "word_then", COUNTS_THEN)]:
        values = {"panel": found["claim"], "series": name or found["choice"], "statistic": found[word]}
        frames.append(pd.DataFrame({**values, "x": found[counts].sum(axis="columns"), "value": found[counts[0]]}))
    return as_values(pd.concat(frames), n=np.nan, profile=profile)


def draw_values(found: pd.DataFrame, effects: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return choices that are drawn together in the columns of a figure's CSV.

    Statistic ``readings`` is how many of a claim's draws have the verdict that ``series`` names, of ``n``; statistic
    ``difference`` is that of `effects` for the choice that ``series`` names, with its interval.
    """
    kinds = _kinds(found["word_then"])
    counts = kinds.groupby([found["claim"], kinds], sort=False).size().unstack(fill_value=0)
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0)
    shares = counts.melt(ignore_index=False, var_name="series").reset_index(names="panel")
    shares = shares.assign(statistic="readings", n=shares["panel"].map(counts.sum(axis="columns")))
    names = {"claim": "panel", "choice": "series", "difference": "value", "draws": "n"}
    worth = effects.rename(columns=names).assign(statistic="difference")
    return as_values(pd.concat([shares, worth[[*shares.columns, "low", "high"]]]), profile=profile)
