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
from bestarm.policies.budgeted import lingape as lingape, lingape_greedy as lingape_greedy
from bestarm.policies.gp_state import GPModel as GPModel
from bestarm.search.candidates import Candidates as Candidates
from bestarm.search.saving import load as load, save as save
from bestarm.search.search import Search as Search
from bestarm.search.tuning import BatchSearchCV as BatchSearchCV
from bestarm.streams import Streams as Streams

__version__: str
__all__: list[str]
