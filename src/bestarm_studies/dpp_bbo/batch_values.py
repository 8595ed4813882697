r"""Values inside a batch: posteriors before and within it, laws of batches, and logs of searches.

A *moment* is a search between two batches, with the next batch chosen: its rewards are hallucinated, so the rows of the
model hold the arms of the batch one after the other. Functions whose names end in ``values`` return the columns of a
figure's CSV, those whose names end in ``rows`` one row for each replication.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Algorithms 1 and 2.
.. [2] Gonzalez, Dai, Hennig, Lawrence. "Batch Bayesian Optimization via Local Penalization". AISTATS 2016.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from bestarm.designs.k_dpp import greedy_map, log_determinants, subset_law
from bestarm.designs.k_dpp_exact import low_rank, mixture_law, sample_mixture
from bestarm.designs.k_dpp_mixing import Chain, distances, transition_matrix
from bestarm.interface import Ask, FloatArray, IntArray
from bestarm.policies.batch_gp import BatchGP
from bestarm.policies.batch_rules import Hallucinate, Penalty, UpperBound
from bestarm.policies.gp_acquisition import est_width, ucb_width
from bestarm.policies.gp_state import LOG, BatchGPState
from bestarm.policies.local_penalty import N_TRIED, lipschitz_constant, log_softplus, mean_weights, penalise
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.figures.values import QUANTILES, as_values
from bestarm_studies.dpp_bbo.asked_batch import dpp_kernel, relevance_regions
from bestarm_studies.dpp_bbo.batch_observer import BatchObserver
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms

TEXT, CODE = "as written", "Contal's software"  # two relevance regions
_WIDTH, _MAXIMUM = LOG.index("width"), LOG.index("maximum")


class Moment(NamedTuple):
    """A search between two batches, with the next one chosen.

    Attributes
    ----------
    policy : BatchGP
        What searches; its hyper-parameters are known.
    state : BatchGPState
        Its state; the rows of each replication are the arms with rewards, then the batch.
    batch : ndarray of int64, shape (R, B)
        The batch.
    pulled : ndarray of int64, shape (R, n_arms)
        How often each arm has been evaluated.
    """

    policy: BatchGP
    state: BatchGPState
    batch: IntArray
    pulled: IntArray

    def posterior(self, n_arms: int = 0, replication: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return means and standard deviations given the rewards and the first arms of the batch, each (n_arms,)."""
        state, r = self.state, replication
        rows = state.rows[r, : state.n_known[r] + n_arms]
        variances = state.signal[r] + state.constant - (rows**2).sum(axis=0)
        return state.means[r], np.sqrt(np.maximum(variances, 0.0))

    def kernel(self, region: IntArray, b: int = 1, replication: int = 0) -> FloatArray:
        r"""Return :math:`L=I+\sigma^{-2}k_{t,b}` of a region after the first b arms of the batch, shape (n, n)."""
        return dpp_kernel(self.state, replication, region, b)

    def width(self, b: int = 0, replication: int = 0) -> float:
        """Return the deviations that the arm after the first b of the batch is chosen by ([1]_, Algorithm 1).

        A rule that fills its batch from a region has a width for the first arm alone, and it is returned.
        """
        policy, known = self.policy, float(self.state.log[replication, _WIDTH])
        rule = policy.rule
        if b == 0 or not isinstance(rule, Hallucinate):
            return known
        means, deviations = self.posterior(b, replication)
        if not isinstance(rule.acquisition, UpperBound):
            maximum = self.state.log[replication, _MAXIMUM]
            return rule.inflation * float(est_width(means, deviations**2, maximum))
        turn = self.state.round + (policy.first == 0)
        t = (turn - 1) * policy.batch + b + 1 if rule.by_evaluations else turn
        return rule.inflation * float(ucb_width(len(means), t, rule.acquisition.delta, rule.acquisition.beta_scale))


def moment(policy: BatchGP, problem: CandidateArms, streams: Streams) -> Moment:
    """Return a search at its first batch; all policies with as many first arms share them and their rewards."""
    state = policy.start(problem.arms, streams)
    first, pulled = policy.ask(state), problem.arms.no_pulls(len(streams.replications))
    if policy.first:
        policy.tell(state, first, problem.rewards(first, pulled, streams))
        return Moment(policy, state, policy.ask(state).arms, pulled)
    return Moment(policy, state, first.arms, pulled)


def following(now: Moment, problem: CandidateArms, streams: Streams) -> Moment:
    """Update the search with the rewards of its batch, and return it with its next batch; ``now`` must not be used."""
    asked = Ask(now.batch, np.ones_like(now.batch))
    now.policy.tell(now.state, asked, problem.rewards(asked, now.pulled, streams))
    return now._replace(batch=now.policy.ask(now.state).arms)


def regions(now: Moment, replication: int = 0) -> dict[str, IntArray]:
    r"""Return the arms of two relevance regions: of the paper, :math:`2\beta_{t+1}^{1/2}`, and of Contal's software."""
    forms = {TEXT: False, CODE: True}
    return {
        name: np.flatnonzero(relevance_regions(now.policy, now.state, as_coded)[replication])
        for name, as_coded in forms.items()
    }


def bounds_values(now: Moment, problem: CandidateArms, panel: str, profile: str, b: int = 0) -> pd.DataFrame:
    """Return confidence bounds on a line, by which the arm after the first b of a batch is chosen, as plotted values.

    The search has one replication, and its arms one feature, which is x. Statistics are ``mean`` with its bounds,
    ``f``, ``observation``, ``chosen`` (the first b arms), ``next arm`` (value: its upper bound), ``estimated maximum``
    (EST), and, before the first arm, the arms of both `regions` (value: the largest lower bound).
    """
    x, state, arms = problem.features[..., 0].ravel(), now.state, now.batch[0]
    order, seen = np.argsort(x), state.conditioned[0, : state.n_known[0]]
    means, deviations = now.posterior(b)
    low, high = means - now.width(b) * deviations, means + now.width(b) * deviations
    parts = {
        "mean": (order, means, {"low": low[order], "high": high[order]}),
        "f": (order, problem.means[0], {}),
        "observation": (seen, None, {"value": state.rewards[0, : len(seen)]}),
        "chosen": (arms[:b], means, {}),
        "next arm": (arms[b : b + 1], high, {}),
    }
    if np.isfinite(state.log[0, _MAXIMUM]):
        parts["estimated maximum"] = (order[[0, -1]], None, {"value": state.log[0, _MAXIMUM]})
    if b == 0:
        parts |= {name: (np.sort(inside), None, {"value": low.max()}) for name, inside in regions(now).items()}
    frames = [
        pd.DataFrame({"x": x[at], "statistic": name} | ({} if y is None else {"value": y[at]}) | others)
        for name, (at, y, others) in parts.items()
    ]
    return as_values(pd.concat(frames, ignore_index=True), panel=panel, series=now.policy.label, profile=profile)


def penalty_values(now: Moment, problem: CandidateArms, n_arms: int, profile: str) -> pd.DataFrame:
    r"""Return the penalised acquisition ([2]_) before each of some arms, as plotted values, on arms with one feature.

    Statistics: ``acquisition``, :math:`g(\mu+w\sigma)` times the penalties so far; ``next arm``, its maximiser; and
    ``Lipschitz constant``, in the panel of the first arm.
    """
    state, x = now.state, problem.features[..., 0].ravel()
    points, seen, order = state.points[state.point_set[0]], state.conditioned[0, : state.n_known[0]], np.argsort(x)
    means, deviations = now.posterior()
    scaled = (state.rewards[0, : len(seen)] - state.offset[0]) / state.scale[0]
    found = lipschitz_constant(
        points,
        np.ascontiguousarray(points[:, seen].T),
        mean_weights(state.rows[0], state.pivots[0], seen, scaled),
        state.lengthscales[0],
        state.signal[0],
        N_TRIED,
        state.batch_key,
        state.replications[0],
        state.round,
    )
    rule = now.policy.rule
    width = (
        now.width()
        if not isinstance(rule, Penalty) or isinstance(rule.penalty_width, UpperBound)
        else rule.penalty_width
    )
    scores = log_softplus(means + width * deviations)
    frames = [pd.DataFrame({"statistic": ["Lipschitz constant"], "value": found, "panel": "arm 1"})]
    for b in range(n_arms):
        arm = int(scores.argmax())
        curve = pd.DataFrame({"statistic": "acquisition", "x": x[order], "value": np.exp(scores[order])})
        chosen = pd.DataFrame({"statistic": ["next arm"], "x": x[arm], "value": np.exp(scores[arm])})
        frames.append(pd.concat([curve, chosen]).assign(panel=f"arm {b + 1}"))
        penalise(scores, points, arm, means[arm], max(float(deviations[arm]), 1e-8), found, scaled.max())
    return as_values(pd.concat(frames, ignore_index=True), series=now.policy.label, profile=profile)


def plane_values(
    now: Moment, panel: str, profile: str, b: int | None = None, so_far: bool = False, coordinates: bool = False
) -> pd.DataFrame:
    """Return a batch in the plane as plotted values of the first replication; x is the number of an arm.

    Statistics are ``observed`` (how often), ``place`` of the arms of the batch, from 1, and, if b is given, the
    ``deviation`` of every arm after the first b of the batch. With ``so_far`` the batch has these b arms only. With
    ``coordinates``, which one panel of a figure needs, there are ``first coordinate`` and ``second coordinate``, too.
    """
    state, arms = now.state, now.batch[0, : b if so_far else None]
    points, seen = state.points[state.point_set[0]], np.flatnonzero(now.pulled[0])
    parts = {"observed": (seen, now.pulled[0, seen]), "place": (arms, np.arange(1, len(arms) + 1))}
    every = np.arange(points.shape[1])
    if coordinates:
        parts |= {"first coordinate": (every, points[0]), "second coordinate": (every, points[1])}
    if b is not None:
        parts["deviation"] = (every, now.posterior(b)[1])
    frames = [pd.DataFrame({"statistic": name, "x": x, "value": y}) for name, (x, y) in parts.items()]
    return as_values(pd.concat(frames, ignore_index=True), panel=panel, series=now.policy.label, profile=profile)


def moment_rows(now: Mapping[str, Moment]) -> pd.DataFrame:
    """Return what searches log of their batch: ``series, replication`` and `bestarm.policies.gp_state.LOG`."""
    frames = [
        pd.DataFrame(m.state.log, columns=list(LOG)).assign(series=label, replication=m.state.replications)
        for label, m in now.items()
    ]
    return pd.concat(frames, ignore_index=True)


def search_rows(searches: Mapping[str, BatchGP], problem: CandidateArms, streams: Streams) -> pd.DataFrame:
    """Return what `BatchObserver` finds of every batch: ``series, replication, batch`` and its columns.

    ``excess`` is the estimated maximum minus the largest value of a candidate, in units of the reward, for searches
    whose offset and scale stay; ``not_below`` is 1 where it is at least 0, else 0. Both are NaN without an estimate.
    """
    best = pd.Series(np.broadcast_to(problem.means.max(axis=1), len(streams.replications)), index=streams.replications)
    frames = []
    for label, policy in searches.items():
        observer = BatchObserver(policy, problem)
        simulate(observer, problem, streams, metrics={})
        rows = observer.findings(streams.replications)
        rows = rows.assign(series=label, batch=rows["round"] - int(policy.first > 0))
        estimated = policy.model.offset + policy.model.scale * rows["maximum"].astype(np.float64)
        rows["excess"] = estimated - rows["replication"].map(best)
        frames.append(rows[rows["batch"] > 0])
    found = pd.concat(frames, ignore_index=True)
    return found.assign(not_below=(found["excess"] >= 0).astype(np.float64).where(found["excess"].notna()))


def variance_rows(now: Mapping[str, Moment]) -> pd.DataFrame:
    """Return how the posterior shrinks within a batch: ``series, replication, arm, largest, average``.

    Both are standard deviations of f over all candidates after so many arms of the batch, divided by the largest one
    before it; ``average`` is the root of the mean variance.
    """
    table = []
    for label, m in now.items():
        for r, replication in enumerate(m.state.replications):
            before = m.posterior(0, r)[1].max()
            for b in range(m.batch.shape[1] + 1):
                left = m.posterior(b, r)[1] / before
                line = {"series": label, "replication": replication, "arm": b, "largest": left.max()}
                table.append(line | {"average": np.sqrt((left**2).mean())})
    return pd.DataFrame(table)


def volume_values(kernel: FloatArray, k: int, streams: Streams, panel: str, profile: str) -> pd.DataFrame:
    """Return quantiles and mean of the log determinant of greedy, exactly sampled and uniform sets of one kernel."""
    n = len(kernel)
    sets = {
        "UCB-DPP-MAX": greedy_map(kernel, k),
        "UCB-DPP-SAMPLE": sample_mixture(low_rank(kernel - np.eye(n)), k, streams),
        "UCB-UNIFORM": sample_mixture(np.zeros((0, n)), k, streams, item=1),  # the k-DPP of I
    }
    table = []
    for label, found in sets.items():
        volumes = log_determinants(kernel, found)
        statistics = {name: float(np.quantile(volumes, q)) for name, q in QUANTILES.items()}
        statistics |= {"largest": float(volumes.max()), "mean": float(volumes.mean())}
        table += [{"series": label, "statistic": s, "value": v, "n": len(found)} for s, v in statistics.items()]
    return as_values(pd.DataFrame(table), panel=panel, profile=profile)


def mixture_values(kernel: FloatArray, k: int, panel: str, series: str, profile: str) -> pd.DataFrame:
    """Return the law of how many of k points M chooses if the kernel is I + M, and its mean, as plotted values."""
    eigenvalues = np.asarray(np.linalg.eigvalsh(kernel) - 1.0, dtype=np.float64)
    law = mixture_law(eigenvalues[eigenvalues > 1e-9 * eigenvalues[-1]], len(kernel), k)
    table = [{"x": j, "statistic": "probability", "value": p} for j, p in enumerate(law)]
    table.append({"x": np.nan, "statistic": "mean", "value": float(np.arange(k + 1) @ law)})
    return as_values(pd.DataFrame(table), panel=panel, series=series, profile=profile)


def chain_values(kernel: FloatArray, k: int, n_steps: Mapping[Chain, int], profile: str) -> pd.DataFrame:
    """Return distances of chains to the k-DPP after each step, from the greedy and from the least likely set."""
    sets, table = subset_law(kernel, k)[0], []
    first = int((sets == np.sort(greedy_map(kernel, k)[0])).all(axis=1).argmax())
    for chain, most in n_steps.items():
        moves, law = transition_matrix(kernel, k, chain)
        for name, start in (("greedy start", first), ("worst start", int(law.argmin()))):
            for t, value in enumerate(distances(moves, law, start, most)):
                table.append({"series": f"{chain}, {name}", "x": t, "value": value})
    return as_values(pd.DataFrame(table), panel="distance", statistic="total variation", profile=profile)
