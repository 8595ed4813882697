"""One small search with every policy of the library, for tests of what all of them must do."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import bestarm
from bestarm.guards.protocol import Guarded
from bestarm.policies.cells.cell_search import CellSearch
from bestarm.policies.linear.linear_oae import EllipsoidOae, LinearDiverse, LinearGreedy, LinearLogDet, LinearSeq

ARMS = bestarm.Arms(np.random.default_rng(3).standard_normal((12, 3)) / 2.0)
CELLS = bestarm.Partition(arity=2, n_representatives=4)
KNOWN = bestarm.GPModel.frozen(0.5, 1.0, 0.01)

_batches: dict[str, Any] = {"batch": 2, "rounds": 3}
_nets: dict[str, Any] = _batches | {"hidden": (4,), "steps": 5}

AT_THE_DOOR: dict[str, Any] = {
    "LUCB": bestarm.lucb(2),
    "UGapE": bestarm.ugape(2),
    "m-LinGapE": bestarm.m_lingape(2, sigma=0.1),
    "LinGIFA": bestarm.lingifa(2, sigma=0.1),
    "optimised": bestarm.m_lingape(2, selection="optimised"),
    "both": bestarm.m_lingape(2, selection="both", threshold="heuristic"),
    "as coded": bestarm.m_lingape(2).as_coded(),
    "LinGame": bestarm.lin_game(),
    "MisLid": bestarm.mislid(2, 0.1),
    "FC2FB": bestarm.fc2fb(bestarm.m_lingape(2, sigma=0.1), 100),
    "LinGapE": bestarm.lingape(40),
    "LinGapE-Greedy": bestarm.lingape_greedy(40, stops_early=False),
    "LinGapE as coded": bestarm.lingape(40).as_coded(),
    "GSE-Lin": bestarm.gse_lin(40, allocation="g-optimal"),
    "GSE-Log": bestarm.gse_log(40),
    "GSE as coded": bestarm.gse_lin(40).as_coded(),
    "OD-LinBAI": bestarm.od_linbai(80),
    "Peace": bestarm.peace_live_arms(40),
    "Peace of all arms": bestarm.peace(80),
    "P1-RAGE": bestarm.p1_rage(80),
    "static G-optimal": bestarm.static_g_optimal(80),
    "oracle": bestarm.oracle_allocation(80, tuple(range(12))),
    "LinUCB": bestarm.lin_ucb(20),
    "LinUCB as coded": bestarm.lin_ucb(20).as_coded(),
    "Top-two Thompson": bestarm.top_two(20, 0.1),
    "UCB-GLM": bestarm.ucb_glm(20),
    "UCB-GLM as coded": bestarm.ucb_glm(20).as_coded(),
    "BayesGap": bestarm.bayes_gap(20, 0.1),
    "BayesGap as coded": bestarm.bayes_gap(20, 0.1, kernel="matern32").as_coded(),
    "GPOO": bestarm.gpoo(20),
    "GPOO as coded": bestarm.gpoo(20).as_coded(),
    "StoOO": bestarm.stooo(20),
    "StoOO posterior": bestarm.stooo(20, recommendation="posterior"),
    "GPTree": bestarm.gp_tree(20),
    "grid": bestarm.grid_search(20, depth=3),
    "random batches": bestarm.random_batches(**_batches),
    "MeanOpt": bestarm.mean_opt(optimism=0.1, **_nets),
    "DetD": bestarm.det_d(optimism=0.1, diversity=1.0, **_nets),
    "Ensemble": bestarm.ensemble(members=2, **_nets),
    "SeqB": bestarm.seq_b(optimism=0.1, **_nets),
    "Ensemble-SeqB": bestarm.ensemble_seq_b(members=2, **_nets),
    "linear OAE": bestarm.linear_oae(**_batches),
    "ellipsoid": Guarded(EllipsoidOae("OAE", omega=0.1, **_batches)),
    "linear greedy": Guarded(LinearGreedy("greedy", **_batches)),
    "linear SeqB": Guarded(LinearSeq("SeqB", **_batches)),
    "linear DetD": Guarded(LinearDiverse("DetD", **_batches)),
    "log det": Guarded(LinearLogDet("log det", **_batches)),
    "GP-BUCB": bestarm.gp_bucb(2, 3, model=KNOWN),
    "UCB-DPP-SAMPLE": bestarm.ucb_dpp_sample(2, 4),
    "Thompson": bestarm.thompson(2, 3, model=KNOWN),
}

EVERY: dict[str, Any] = {name: guarded.policy for name, guarded in AT_THE_DOOR.items()}
SAVED = {  # a file names records of the library alone, none of a study
    name: policy for name, policy in AT_THE_DOOR.items() if type(policy.policy).__module__.startswith("bestarm.")
}


def arms_for(policy: Any) -> Any:
    return CELLS if isinstance(getattr(policy, "policy", policy), CellSearch) else ARMS


def started(policy: Any, n_replications: int = 1) -> Any:
    return policy.start(arms_for(policy), bestarm.Streams.first(n_replications))


def rewards_of(policy: Any, asked: Any) -> np.ndarray:
    """Return sums of rewards that depend on the arm alone, in [0, 1] a pull, 0 or 1 for a logistic model."""
    if getattr(policy, "model", None) == "logistic":
        return asked.counts * (asked.arms % 2.0)
    return asked.counts * (0.5 + 0.4 * np.sin(asked.arms * 1.7))


def rounds_of(policy: Any, state: Any, most: int = 12) -> Iterator[Any]:
    """Yield what is asked and tell rewards, for so many rounds or until the search ends."""
    for _ in range(most):
        if policy.finished(state).all():
            return
        asked = policy.ask(state)
        if policy.finished(state).all():
            return
        yield asked
        policy.tell(state, asked, rewards_of(policy, asked))
