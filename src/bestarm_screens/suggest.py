"""The next round of a screen from its log and its phenotypes, by `bestarm.Search`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bestarm.search.candidates import Candidates
from bestarm.search.deciding import Plan
from bestarm.search.explaining import expected_hits, hit_threshold, learned
from bestarm.search.reader import listed
from bestarm.search.rounds import Round, known_at, reward
from bestarm.search.search import Search


def resumed(
    plan: Plan,
    candidates: Candidates,
    phenotypes: Mapping[str, float],
    rounds: Sequence[Round],
    pending: Sequence[str] = (),
    withdrawn: Sequence[str] = (),
) -> Search:
    """Return the search that a log and the phenotypes of today make.

    Parameters
    ----------
    plan : Plan
        How to choose the next batch.
    candidates : Candidates
        The genes, in the order of the log.
    phenotypes : mapping of str to float
        Mean phenotype of every gene measured; NaN where every well failed.
    rounds : sequence of Round
        All rounds so far.
    pending, withdrawn : sequence of str
        Genes at the bench, and genes that cannot be had any more.

    Raises
    ------
    ValueError
        If a gene that was told before has no row now.
    """
    if gone := [gene for gene in known_at(rounds) if gene not in phenotypes]:
        raise ValueError(
            f"{len(gone)} genes that earlier rounds used have no row now ({listed(gone)}); is the file half-written? "
            "Put the rows back; empty the phenotype of a gene that is to count as failed."
        )
    search = Search(candidates, plan.choice, aim=plan.aim, seed=plan.seed, components=plan.components)
    search.resume(rounds, {gene: (value,) for gene, value in phenotypes.items()}, pending, withdrawn)
    return search


def next_round(
    plan: Plan,
    candidates: Candidates,
    phenotypes: Mapping[str, float],
    rounds: Sequence[Round],
    hit: float | None = None,
    pending: Sequence[str] = (),
    withdrawn: Sequence[str] = (),
) -> Round | None:
    """Return the next round of a screen with its reasons, None where no gene is left.

    Parameters
    ----------
    plan, candidates, phenotypes, rounds, pending, withdrawn
        As of `resumed`; what the last round asked for and is neither measured nor pending was not done.
    hit : float, optional
        Phenotype from which a gene is a hit; by default that of the best twentieth of those measured.
    """
    search = resumed(plan, candidates, phenotypes, rounds, pending, withdrawn)
    if not len(search.ask(plan.batch)):
        return None
    made = search.explained(search.rounds[-1])
    known = {gene: (value,) for gene, value in phenotypes.items()}
    threshold = hit_threshold([reward(v, plan.aim) for v in phenotypes.values()], plan.aim, hit)
    return replace(
        made,
        hit=-threshold if plan.aim == "min" else threshold,
        expected_hits=expected_hits(plan, made.suggested, rounds, known, threshold),
        learned=learned(rounds, known),
    )
