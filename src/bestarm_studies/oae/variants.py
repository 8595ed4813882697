"""Claims of the OAE paper under other choices where the paper is silent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bestarm_lab.claims.choices import decided_alone
from bestarm_lab.claims.kinds import ClaimTest
from bestarm_lab.claims.records import Claim, Exact
from bestarm_lab.claims.verdicts import states
from bestarm_lab.figures.values import as_values


def variant_verdicts(
    claims: Mapping[str, Claim], base: str, variants: Mapping[str, pd.DataFrame], identities: Sequence[str]
) -> pd.DataFrame:
    """Return what claims about one experiment become if it is run under other choices.

    Parameters
    ----------
    claims : mapping
        The study's claims.
    base : str
        The experiment that is replaced; comparisons about others are left out.
    variants : mapping of str to DataFrame
        Name of a choice to its rows.
    identities : sequence of str
        Which claims.

    Returns
    -------
    DataFrame
        ``id, variant, verdict, held, comparisons``: verdicts unadjusted for the number of claims, how many of the
        comparisons confirm. A variant without a claim's landscapes is left out.
    """
    table = []
    for identity in identities:
        test = claims[identity].test
        assert isinstance(test, ClaimTest)
        for variant, rows in variants.items():
            cells = [cell for part in test.parts for cell in part.cells if cell[0] == base]
            there = [n for _, where in cells for n in where.get("name", []) if n in set(rows["name"])]
            if not there:
                continue
            parts = tuple(replace(part, cells=((base, {"name": there}),)) for part in test.parts)
            verdict, found = decided_alone(replace(test, parts=parts), {base: rows})
            if not found:
                continue
            line = {"id": identity, "variant": variant, "verdict": verdict, "held": states(found).count("for")}
            table.append(line | {"comparisons": len(found)})
    return pd.DataFrame(table)


def ledger_verdicts(verdicts: pd.DataFrame, identities: Sequence[str], variant: str) -> pd.DataFrame:
    """Return the study's own verdicts on some claims in the columns of `variant_verdicts`."""
    mine = verdicts[verdicts["id"].isin(identities)].rename(columns={"for": "held"}).assign(variant=variant)
    whole = {"held": "int64", "comparisons": "int64"}
    return mine[["id", "variant", "verdict", "held", "comparisons"]].astype(whole).reset_index(drop=True)


def without_series(claims: Mapping[str, Claim], absent: str) -> dict[str, Claim]:
    """Return claims none of whose right-hand sides is a series that was not run."""

    def without(test: ClaimTest | Exact) -> ClaimTest | Exact:
        if isinstance(test, Exact):
            return test
        kept = [tuple(pair for pair in part.pairs if pair[1] != absent) or part.pairs for part in test.parts]
        return replace(test, parts=tuple(replace(p, pairs=q) for p, q in zip(test.parts, kept, strict=True)))

    return {i: replace(claim, tests={c: without(t) for c, t in claim.tests.items()}) for i, claim in claims.items()}


def map_values(found: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return verdicts in the columns of a figure's CSV: the statistic is the verdict, x the number of comparisons."""
    table = found.rename(columns={"id": "panel", "variant": "series", "comparisons": "x", "held": "value"})
    return as_values(table.assign(statistic=found["verdict"], n=np.nan), profile=profile)


def variant_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return the verdict words of `variant_verdicts` and `ledger_verdicts`: a row for each choice, a column a claim."""
    table = found.pivot(index="variant", columns="id", values="verdict")
    order = (list(dict.fromkeys(found[key])) for key in ("variant", "id"))
    table = table.reindex(index=next(order), columns=next(order)).fillna("no such set")
    return table.rename(columns=lambda name: name.removeprefix("OAE-")).rename_axis("choice").reset_index()
