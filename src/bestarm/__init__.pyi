# ruff: noqa: I001
# The public names for editors and type checkers; at run time `__init__.py` imports each when it is first used.
from bestarm.testing import check_policy
from bestarm.guards.protocol import EverythingFails, Guarded, NothingLearned, forget_asked, waiting
from bestarm.interface import Arms, Ask, Policy, State
from bestarm.kernels import Stationary
from bestarm.partition import Partition
from bestarm.policies.gaussian.batch_gp import (
    b_est,
    est_dpp_max,
    est_dpp_sample,
    gp_bucb,
    lp_ucb,
    thompson,
    ucb_dpp_max,
    ucb_dpp_sample,
)
from bestarm.policies.gaussian.batch_rules import DownUp, Eigen, Exchange, UpperBound
from bestarm.policies.batch_search import RandomBatches as random_batches
from bestarm.policies.linear.bayes_gap import BayesGap as bayes_gap
from bestarm.policies.linear.budgeted import lingape, lingape_greedy
from bestarm.policies.linear.fc2fb import Fc2fb as fc2fb
from bestarm.policies.linear.mislid import MisLid as mislid
from bestarm.lack_of_fit import linear_misfit
from bestarm.policies.linear.gifa import LinGifa as lingifa, Lucb as lucb, MLinGape as m_lingape, Ugape as ugape
from bestarm.policies.gaussian.gp_state import GPModel
from bestarm.policies.cells.gp_tree import NamedGpTree as gp_tree
from bestarm.policies.cells.gpoo import NamedGpoo as gpoo
from bestarm.policies.cells.grid_search import NamedGrid as grid_search
from bestarm.policies.linear.gse import GseLin as gse_lin, GseLinAllRewards as gse_lin_all_rewards, GseLog as gse_log
from bestarm.policies.linear.lin_ucb import LinUcb as lin_ucb
from bestarm.policies.linear.linear_oae import VanillaOae as linear_oae
from bestarm.policies.linear.lingame import LinGame as lin_game
from bestarm.policies.networks.oae import (
    DetD as det_d,
    Greedy as greedy,
    HingePNorm as hinge_p_norm,
    MaxOpt as max_opt,
    MeanOpt as mean_opt,
)
from bestarm.policies.networks.oae_ensemble import Ensemble as ensemble, EnsembleNoiseY as ensemble_noise_y
from bestarm.policies.networks.oae_sequential import (
    PlainEnsembleSeqB as ensemble_seq_b,
    EnsembleSeqBNoiseY as ensemble_seq_b_noise_y,
    MeanOptSeqB as seq_b,
)
from bestarm.policies.linear.od_linbai import OdLinBai as od_linbai
from bestarm.policies.linear.p1_rage import P1Rage as p1_rage
from bestarm.policies.linear.peace import PeaceLiveArms as peace_live_arms
from bestarm.policies.linear.peace_all_arms import PeaceAllArms as peace
from bestarm.policies.linear.static_design import (
    OracleAllocation as oracle_allocation,
    StaticGOptimal as static_g_optimal,
)
from bestarm.policies.cells.stooo import AveStooo as ave_stooo, MunosStooo as stooo
from bestarm.policies.linear.top_two import TopTwo as top_two
from bestarm.policies.linear.ucb_glm import UcbGlm as ucb_glm
from bestarm.search.candidates import Candidates
from bestarm.search.state_files import load, save
from bestarm.search.search import Search
from bestarm.search.tuning import BatchSearchCV
from bestarm.streams import Streams

__version__: str
__all__ = [
    "Arms",
    "Ask",
    "BatchSearchCV",
    "Candidates",
    "DownUp",
    "Eigen",
    "EverythingFails",
    "Exchange",
    "GPModel",
    "Guarded",
    "NothingLearned",
    "Partition",
    "Policy",
    "Search",
    "State",
    "Stationary",
    "Streams",
    "UpperBound",
    "ave_stooo",
    "b_est",
    "bayes_gap",
    "check_policy",
    "det_d",
    "ensemble",
    "ensemble_noise_y",
    "ensemble_seq_b",
    "ensemble_seq_b_noise_y",
    "est_dpp_max",
    "est_dpp_sample",
    "fc2fb",
    "forget_asked",
    "gp_bucb",
    "gp_tree",
    "gpoo",
    "greedy",
    "grid_search",
    "gse_lin",
    "gse_lin_all_rewards",
    "gse_log",
    "hinge_p_norm",
    "lin_game",
    "lin_ucb",
    "linear_misfit",
    "linear_oae",
    "lingape",
    "lingape_greedy",
    "lingifa",
    "load",
    "lp_ucb",
    "lucb",
    "m_lingape",
    "max_opt",
    "mean_opt",
    "mislid",
    "od_linbai",
    "oracle_allocation",
    "p1_rage",
    "peace",
    "peace_live_arms",
    "random_batches",
    "save",
    "seq_b",
    "static_g_optimal",
    "stooo",
    "thompson",
    "top_two",
    "ucb_dpp_max",
    "ucb_dpp_sample",
    "ucb_glm",
    "ugape",
    "waiting",
]
