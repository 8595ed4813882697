# ruff: noqa: I001
# The public names for editors and type checkers; at run time `__init__.py` imports each when it is first used.
from bestarm.contract import check_policy as check_policy
from bestarm.guards.protocol import (
    EverythingFails as EverythingFails,
    Guarded as Guarded,
    NothingLearned as NothingLearned,
    forget_asked as forget_asked,
    waiting as waiting,
)
from bestarm.interface import Arms as Arms, Ask as Ask, Policy as Policy, State as State
from bestarm.kernels import Stationary as Stationary
from bestarm.partition import Partition as Partition
from bestarm.policies.batch_gp import (
    b_est as b_est,
    est_dpp_max as est_dpp_max,
    est_dpp_sample as est_dpp_sample,
    gp_bucb as gp_bucb,
    lp_ucb as lp_ucb,
    thompson as thompson,
    ucb_dpp_max as ucb_dpp_max,
    ucb_dpp_sample as ucb_dpp_sample,
)
from bestarm.policies.batch_rules import (
    DownUp as DownUp,
    Eigen as Eigen,
    Exchange as Exchange,
    UpperBound as UpperBound,
)
from bestarm.policies.batch_search import random_batches as random_batches
from bestarm.policies.bayes_gap import bayes_gap as bayes_gap
from bestarm.policies.budgeted import lingape as lingape, lingape_greedy as lingape_greedy
from bestarm.policies.gifa import lingifa as lingifa, lucb as lucb, m_lingape as m_lingape, ugape as ugape
from bestarm.policies.gp_state import GPModel as GPModel
from bestarm.policies.gp_tree import gp_tree as gp_tree
from bestarm.policies.gpoo import gpoo as gpoo
from bestarm.policies.grid_search import grid_search as grid_search
from bestarm.policies.gse import gse_lin as gse_lin, gse_log as gse_log
from bestarm.policies.lin_ucb import lin_ucb as lin_ucb
from bestarm.policies.linear_oae import linear_oae as linear_oae
from bestarm.policies.lingame import lin_game as lin_game
from bestarm.policies.oae import (
    det_d as det_d,
    greedy as greedy,
    hinge_p_norm as hinge_p_norm,
    max_opt as max_opt,
    mean_opt as mean_opt,
)
from bestarm.policies.oae_ensemble import ensemble as ensemble, ensemble_noise_y as ensemble_noise_y
from bestarm.policies.oae_sequential import (
    ensemble_seq_b as ensemble_seq_b,
    ensemble_seq_b_noise_y as ensemble_seq_b_noise_y,
    seq_b as seq_b,
)
from bestarm.policies.od_linbai import od_linbai as od_linbai
from bestarm.policies.peace import peace as peace
from bestarm.policies.stooo import ave_stooo as ave_stooo, stooo as stooo
from bestarm.policies.ucb_glm import ucb_glm as ucb_glm
from bestarm.search.candidates import Candidates as Candidates
from bestarm.search.state_files import load as load, save as save
from bestarm.search.search import Search as Search
from bestarm.search.tuning import BatchSearchCV as BatchSearchCV
from bestarm.streams import Streams as Streams

__version__: str
__all__: list[str]
