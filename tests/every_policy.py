"""One small search with every policy of the library, for tests of what all of them must do."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bestarm.guards.protocol import Guarded
from bestarm.interface import Arms
from bestarm.partition import Partition
from bestarm.policies.batch_search import RandomBatch
from bestarm.policies.cells.cell_search import CellSearch
from bestarm.policies.cells.gp_tree import GpTree
from bestarm.policies.cells.gpoo import Gpoo
from bestarm.policies.cells.grid_search import GridSearch
from bestarm.policies.cells.stooo import Stooo
from bestarm.policies.gaussian.batch_gp import gp_bucb, thompson, ucb_dpp_sample
from bestarm.policies.gaussian.gp_state import GPModel
from bestarm.policies.linear import linear_oae
from bestarm.policies.linear.bayes_gap import BayesGap
from bestarm.policies.linear.budgeted import lingape, lingape_greedy
from bestarm.policies.linear.fc2fb import Fc2fb
from bestarm.policies.linear.gifa import Gifa, LinGifa, Lucb, MLinGape, Ugape
from bestarm.policies.linear.gse import Gse
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm.policies.linear.lingame import LinGame
from bestarm.policies.linear.mislid import MisLid
from bestarm.policies.linear.od_linbai import OdLinBai
from bestarm.policies.linear.p1_rage import P1Rage
from bestarm.policies.linear.peace import Peace
from bestarm.policies.linear.peace_all_arms import PeaceAllArms
from bestarm.policies.linear.static_design import OracleAllocation, StaticGOptimal
from bestarm.policies.linear.top_two import TopTwo
from bestarm.policies.linear.ucb_glm import UcbGlm
from bestarm.policies.networks.oae import Oae
from bestarm.policies.networks.oae_ensemble import EnsembleSearch
from bestarm.policies.networks.oae_sequential import EnsembleSeqB, SeqB
from bestarm.streams import Streams

ARMS = Arms(np.random.default_rng(3).standard_normal((12, 3)) / 2.0)
CELLS = Partition(arity=2, n_representatives=4)
KNOWN = GPModel.frozen(0.5, 1.0, 0.01)

_batches: dict[str, Any] = {"batch": 2, "rounds": 3}
_nets: dict[str, Any] = _batches | {"hidden": (4,), "steps": 5}

EVERY: dict[str, Any] = {
    "LUCB": Lucb(2),
    "UGapE": Ugape(2),
    "m-LinGapE": MLinGape(2, sigma=0.1),
    "LinGIFA": LinGifa(2, sigma=0.1),
    "optimised": MLinGape(2, selection="optimised"),
    "both": Gifa("both", 2, selection="both"),
    "as coded": MLinGape(2).as_coded(),
    "LinGame": LinGame(),
    "MisLid": MisLid(2, 0.1),
    "FC2FB": Fc2fb(MLinGape(2, sigma=0.1), 100),
    "LinGapE": lingape(40),
    "LinGapE-Greedy": lingape_greedy(40, stops_early=False),
    "LinGapE as coded": lingape(40).as_coded(),
    "GSE-Lin": Gse(40, allocation="g-optimal"),
    "GSE-Log": Gse(40, model="logistic"),
    "GSE as coded": Gse(40).as_coded(),
    "OD-LinBAI": OdLinBai(80),
    "Peace": Peace(40),
    "Peace of all arms": PeaceAllArms(80),
    "P1-RAGE": P1Rage(80),
    "static G-optimal": StaticGOptimal(80),
    "oracle": OracleAllocation(80, tuple(range(12))),
    "LinUCB": LinUcb(20),
    "LinUCB as coded": LinUcb(20).as_coded(),
    "Top-two Thompson": TopTwo(20, 0.1),
    "UCB-GLM": UcbGlm(20),
    "UCB-GLM as coded": UcbGlm(20).as_coded(),
    "BayesGap": BayesGap(20, 0.1),
    "BayesGap as coded": BayesGap(20, 0.1, kernel="matern32").as_coded(),
    "GPOO": Gpoo("GPOO", 20),
    "GPOO as coded": Gpoo("GPOO", 20).as_coded(),
    "StoOO": Stooo("StoOO", 20),
    "StoOO posterior": Stooo("StoOO", 20, recommendation="posterior"),
    "GPTree": GpTree("GPTree", 20),
    "grid": GridSearch("uniform", 20, depth=3),
    "random batches": RandomBatch("random", **_batches),
    "MeanOpt": Oae("MeanOpt", optimism=0.1, **_nets),
    "DetD": Oae("DetD", optimism=0.1, diversity=1.0, **_nets),
    "Ensemble": EnsembleSearch("Ensemble", members=2, **_nets),
    "SeqB": SeqB("SeqB", optimism=0.1, **_nets),
    "Ensemble-SeqB": EnsembleSeqB("Ensemble-SeqB", members=2, **_nets),
    "linear OAE": linear_oae.LinearOae("OAE", **_batches),
    "ellipsoid": linear_oae.EllipsoidOae("OAE", omega=0.1, **_batches),
    "linear greedy": linear_oae.LinearGreedy("greedy", **_batches),
    "linear SeqB": linear_oae.LinearSeq("SeqB", **_batches),
    "linear DetD": linear_oae.LinearDiverse("DetD", **_batches),
    "log det": linear_oae.LinearLogDet("log det", **_batches),
    "GP-BUCB": gp_bucb(2, 3, model=KNOWN),
    "UCB-DPP-SAMPLE": ucb_dpp_sample(2, 4),
    "Thompson": thompson(2, 3, model=KNOWN),
}

AT_THE_DOOR = {name: Guarded(policy) for name, policy in EVERY.items()}
SAVED = {  # a file names records of the library alone, none of a study
    name: policy for name, policy in AT_THE_DOOR.items() if type(policy.policy).__module__.startswith("bestarm.")
}


def arms_for(policy: Any) -> Any:
    return CELLS if isinstance(getattr(policy, "policy", policy), CellSearch) else ARMS


def started(policy: Any, n_replications: int = 1) -> Any:
    return policy.start(arms_for(policy), Streams.first(n_replications))


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
