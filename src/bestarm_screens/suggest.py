r"""The next batch of a screen from its files, why each gene is in it, and what the batch before has taught.

The state of a policy is made anew for each round: what was measured is told round by round, as an uninterrupted search
would have been told it, and then the policy is asked. Where every gene measured had been suggested, under the same
settings, and no phenotype was revised, the batch is that of an uninterrupted search to the last bit (tested).
Phenotypes known beforehand are told first and count as a round; a revised phenotype is told as it is now, in its old
place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from bestarm import __version__
from bestarm.interface import Arms, FloatArray, IntArray
from bestarm.policies.batch_search import BatchState
from bestarm.policies.linear_search import LinearSearch, LinearState
from bestarm.settings import check_whole
from bestarm.streams import Streams
from bestarm_screens.campaign import AIMS, Round, Suggestion, known_at, newly_told, of_prediction, revisions, reward
from bestarm_screens.gaussian import GpScreen, GpScreenState
from bestarm_screens.policies import Choice, explaining_ensemble
from bestarm_screens.searches import ScaledSearch, as_told, spread_of
from bestarm_screens.tables import Features

MEMBERS = 5  # networks whose mean and spread explain a batch
TOP_SHARE = 0.05  # of the measured genes, by which a hit is defined if nobody says from which phenotype
FEWEST = 20  # measured genes for that
_HIGH = 0.9  # share of the genes left that an uncertain, or a novel, gene exceeds


@dataclass(frozen=True)
class Plan:
    """How a batch is chosen.

    Parameters
    ----------
    choice : Choice
        The policy.
    batch : int
        Genes of the batch.
    seed : int
        Seed of all random choices.
    aim : {"high", "low", "both"}
        Whether large, small, or large positive and negative phenotypes are looked for.
    components : int
        Principal components in the place of the features; 0 keeps the features.

    Raises
    ------
    ValueError
        For a setting out of its range.
    """

    choice: Choice
    batch: int
    seed: int = 0
    aim: str = "high"
    components: int = 0

    def __post_init__(self) -> None:
        check_whole("batch", self.batch, 1)
        check_whole("seed", self.seed, 0)
        check_whole("components", self.components, 0)
        if self.aim not in AIMS:
            raise ValueError(f"aim must be one of {', '.join(AIMS)}, got {self.aim!r}.")

    def described(self) -> dict[str, Any]:
        """Return all settings as JSON can hold them."""
        more = {"seed": self.seed, "batch": self.batch, "aim": self.aim, "components": self.components}
        return self.choice.described() | more

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Plan:
        """Return the plan of a description."""
        names = ("batch", "seed", "aim", "components")
        return cls(Choice.of(described), **{name: described[name] for name in names})


def told_state(plan: Plan, scores: FloatArray, chunks: Sequence[tuple[IntArray, FloatArray]]) -> tuple[Any, Any]:
    """Return a policy and its state after some rounds of measurements.

    Parameters
    ----------
    plan : Plan
        Policy, batch and seed.
    scores : ndarray, shape (n_genes, d)
        Features, see `bestarm_screens.tables.Features.scores`.
    chunks : sequence of (ndarray, ndarray)
        Of each round the genes, by their place in the features, and their rewards; NaN where all wells failed.
    """
    known = sum(len(arms) for arms, _ in chunks)
    rounds = max(len(chunks), -(-known // plan.batch)) + 1
    policy = plan.choice.search(plan.batch, rounds)
    state = policy.start(Arms(scores), Streams.first(1, seed=plan.seed))
    for arms, rewards in chunks:
        as_told(policy, state, arms, rewards)
    return policy, state


def chunks_of(
    rounds: Sequence[Round],
    new: Sequence[tuple[str, float]],
    revised: Mapping[str, float],
    genes: Sequence[str],
    aim: str,
) -> list[tuple[IntArray, FloatArray]]:
    """Return what was measured in each round, by the latest phenotypes."""
    latest = known_at(rounds) | dict(revised) | dict(new)
    place = {gene: i for i, gene in enumerate(genes)}
    told = [[gene for gene, _ in each.told] for each in rounds] + [[gene for gene, _ in new]]
    return [
        (np.array([place[g] for g in names], np.int64), np.array([reward(latest[g], aim) for g in names]))
        for names in told
        if names
    ]


def chosen_genes(
    plan: Plan, scores: FloatArray, chunks: Sequence[tuple[IntArray, FloatArray]]
) -> tuple[IntArray, Any, Any]:
    """Return the next batch, by places in the features, with the policy and its state."""
    policy, state = told_state(plan, scores, chunks)
    asked = policy.ask(state)
    return asked.arms[0][asked.counts[0] > 0], policy, state


def predictions(policy: Any, state: Any) -> tuple[FloatArray, FloatArray]:
    r"""Return the predicted reward of every gene and the standard deviation of the prediction, shape (n_genes,) each.

    Gaussian processes and linear functions have their own: posterior mean and deviation; centre and half-width of what
    is plausible. Networks, and random batches, are explained by an ensemble of plain networks, its mean and spread.
    """
    if isinstance(policy, GpScreen):
        assert isinstance(state, GpScreenState)
        means, variances = state.gp.predict()
        return means[0], np.sqrt(np.maximum(variances[0], 0.0))
    assert isinstance(policy, ScaledSearch)
    copy: BatchState = policy.scaled_state(state)
    mean, sd = spread_of(state.rewards, state.n_observed) if policy.scaled else (np.zeros((1, 1)), np.ones((1, 1)))
    inner = policy.policy
    if isinstance(inner, LinearSearch):
        assert isinstance(copy, LinearState)
        centre, _ = inner.plausible(copy)
        everything = np.arange(copy.available.shape[1])[None]
        found, spread = inner.outputs(copy, centre)[0], inner.width(copy, everything)[0] / 2.0
    else:
        outputs = explaining_ensemble(inner, MEMBERS).ensemble(copy, copy.arms, copy.rewards, copy.n_observed)[0]
        found, spread = outputs.mean(axis=0), outputs.std(axis=0, ddof=1)
    return found * sd[0, 0] + mean[0, 0], spread * sd[0, 0]


def nearest_measured(scores: FloatArray, genes: IntArray, measured: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the root mean square difference of each gene to the nearest measured one, and which one that is."""
    squares = (scores**2).sum(axis=1)
    best, where = np.full(len(genes), np.inf), np.zeros(len(genes), np.int64)
    for start in range(0, len(measured), 512):
        some = measured[start : start + 512]
        found = squares[genes][:, None] + squares[some] - 2.0 * scores[genes] @ scores[some].T
        closest = found.argmin(axis=1)
        value = found[np.arange(len(genes)), closest]
        where = np.where(value < best, some[closest], where)
        best = np.minimum(best, value)
    return np.sqrt(np.maximum(best, 0.0) / scores.shape[1]), where


def explained(
    plan: Plan, features: Features, scores: FloatArray, batch: IntArray, policy: Any, state: Any, measured: IntArray
) -> list[Suggestion]:
    """Return why each gene of a batch is in it, see `Suggestion`."""
    genes = features.genes
    known = state.n_observed[0] > 0
    if not known:
        why = "random, since nothing is known yet" if not len(measured) else "random, since every well failed so far"
        return [Suggestion(genes[a], math.nan, math.nan, math.nan, "", 0, why) for a in batch]
    predicted, spread = predictions(policy, state)
    left = np.setdiff1d(np.arange(len(genes)), measured)
    novelty, nearest = nearest_measured(scores, left, measured)
    rank = np.empty(len(genes), np.int64)
    rank[left[np.argsort(-predicted[left], kind="stable")]] = 1 + np.arange(len(left))
    place = {int(a): i for i, a in enumerate(left)}
    uncertain, novel = np.quantile(spread[left], _HIGH), np.quantile(novelty, _HIGH)
    found = []
    for a in map(int, batch):
        i = place[a]
        reasons = [f"prediction {rank[a]} of {len(left)}"] if rank[a] <= 2 * len(batch) else []
        reasons += ["uncertain"] if spread[a] > uncertain else []
        reasons += ["unlike what was measured"] if novelty[i] > novel else []
        fallback = "random" if plan.choice.name == "random" else "the policy's own score"
        sign = -1.0 if plan.aim == "low" else 1.0
        found.append(
            Suggestion(
                genes[a],
                sign * float(predicted[a]),
                float(spread[a]),
                float(novelty[i]),
                genes[nearest[i]],
                int(rank[a]),
                "; ".join(reasons) or fallback,
            )
        )
    return found


def hit_threshold(rewards: Sequence[float], aim: str, hit: float | None) -> float:
    """Return the reward from which a gene is a hit: that of a given phenotype, or of the best twentieth measured."""
    if hit is not None:
        return reward(hit, aim)
    found = np.array([r for r in rewards if not math.isnan(r)])
    return float(np.quantile(found, 1.0 - TOP_SHARE)) if len(found) >= FEWEST else math.nan


def expected_hits(
    plan: Plan, suggested: Sequence[Suggestion], rounds: Sequence[Round], known: Mapping[str, float], threshold: float
) -> float:
    """Return how many of a batch are expected to be hits: predictions with the error that they have had so far.

    The error is the root mean square of measured minus predicted over all genes suggested before with a prediction; the
    standard deviation of what is known where there are fewer than `FEWEST` of them.
    """
    rewards = [reward(v, plan.aim) for v in known.values() if not math.isnan(v)]
    errors = [
        reward(known[s.gene], plan.aim) - of_prediction(s.predicted, plan.aim)
        for each in rounds
        if each.settings["aim"] == plan.aim
        for s in each.suggested
        if not (math.isnan(s.predicted) or math.isnan(known.get(s.gene, math.nan)))
    ]
    if math.isnan(threshold) or len(rewards) < 2 or math.isnan(suggested[0].predicted):
        return math.nan
    error = float(np.sqrt(np.mean(np.square(errors)))) if len(errors) >= FEWEST else float(np.std(rewards))
    predicted = np.array([of_prediction(s.predicted, plan.aim) for s in suggested])
    return float(ndtr((predicted - threshold) / max(error, 1e-300)).sum())


def learned(rounds: Sequence[Round], known: Mapping[str, float]) -> dict[str, float]:
    """Return what the last batch taught: how well it had been predicted, and how many hits it had.

    Returns
    -------
    dict
        ``measured, failed``: genes of the batch; ``rank_correlation``: of prediction and phenotype over the batch
        (Spearman), NaN for fewer than three; ``hits``, and ``expected_hits`` as said before it was measured.
    """
    if not rounds:
        return {}
    last = rounds[-1]
    aim = last.settings["aim"]
    rewards = np.array([reward(known[s.gene], aim) for s in last.suggested])
    predicted = np.array([of_prediction(s.predicted, aim) for s in last.suggested])
    there = ~np.isnan(rewards)
    pairs = pd.DataFrame({"predicted": predicted, "reward": rewards}).dropna()
    varied = len(pairs) > 2 and (pairs.nunique() > 1).all()
    threshold = reward(last.hit, aim)
    return {
        "measured": int(there.sum()),
        "failed": int((~there).sum()),
        "rank_correlation": float(pairs["predicted"].corr(pairs["reward"], method="spearman")) if varied else math.nan,
        "hits": math.nan if math.isnan(threshold) else int((rewards[there] >= threshold).sum()),
        "expected_hits": last.expected_hits,
    }


def next_round(
    plan: Plan, features: Features, phenotypes: Mapping[str, float], rounds: Sequence[Round], hit: float | None = None
) -> Round | None:
    """Return the next round of a screen, None where every gene has been measured.

    Parameters
    ----------
    plan : Plan
        How to choose.
    features : Features
        The genes.
    phenotypes : mapping of str to float
        Mean phenotype of every gene measured; NaN where every well failed.
    rounds : sequence of Round
        All rounds so far, the last one measured.
    hit : float, optional
        Phenotype from which a gene is a hit; by default that of the best twentieth of those measured.

    Raises
    ------
    ValueError
        See `bestarm_screens.campaign.newly_told`.
    """
    new = newly_told(rounds, phenotypes, features.genes)
    revised = revisions(rounds, phenotypes)
    known = known_at(rounds) | revised | dict(new)
    if len(known) == len(features.genes):
        return None
    scores = features.scores(plan.components)
    chunks = chunks_of(rounds, new, revised, features.genes, plan.aim)
    batch, policy, state = chosen_genes(plan, scores, chunks)
    measured = np.concatenate([arms for arms, _ in chunks]) if chunks else np.zeros(0, np.int64)
    suggested = explained(plan, features, scores, batch, policy, state, measured)
    threshold = hit_threshold([reward(v, plan.aim) for v in known.values()], plan.aim, hit)
    return Round(
        number=len(rounds) + 1,
        settings=plan.described(),
        features=features.digest,
        told=tuple(new),
        revised=revised,
        suggested=tuple(suggested),
        hit=-threshold if plan.aim == "low" else threshold,
        expected_hits=expected_hits(plan, suggested, rounds, known, threshold),
        learned=learned(rounds, known),
        version=__version__,
    )


def rebuilt(rounds: Sequence[Round], features: Features) -> list[list[str]]:
    """Return the batch of every round made anew from what the log says was known then."""
    found, scores = [], {}
    for number, each in enumerate(rounds):
        plan = Plan.of(each.settings)
        if plan.components not in scores:
            scores[plan.components] = features.scores(plan.components)
        chunks = chunks_of(rounds[:number], each.told, each.revised, features.genes, plan.aim)
        batch, _, _ = chosen_genes(plan, scores[plan.components], chunks)
        found.append([features.genes[a] for a in batch])
    return found
