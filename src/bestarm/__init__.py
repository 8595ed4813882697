"""bestarm: reproduce, audit and reuse five papers on finding the best arms with few queries.

The public names are here and are imported when they are first used: ``bestarm.Search`` for tables, ``bestarm.Arms``,
``bestarm.Partition`` and ``bestarm.Streams`` for arrays, and a constructor for each algorithm (``dir(bestarm)``). It
makes a class of `bestarm.policies` in guards, which check what the policy is told (`bestarm.guards.protocol`).
For a policy of one's own there are ``bestarm.check_policy`` and ``bestarm.Guarded``.
"""

import hashlib
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__version__ = "0.2.0"


def _writable(folder: Path) -> bool:
    """Return whether a folder, or the nearest one above it that exists, can be written."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _set_numba_cache() -> None:
    """Give Numba's cache a folder named after all sources: of the checkout, else of the user, else a temporary one.

    Numba looks only at the file of the cached function, so a kernel that calls a changed kernel of another module
    would run as it was before the change. Where the package is installed and can be written, Numba's own choice stays.
    """
    package = Path(__file__).parent
    root = package.parents[1]
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    checkout = (root / "pyproject.toml").is_file()
    if not checkout and _writable(package):
        return
    digest = hashlib.sha256()
    for path in sorted(p for folder in package.parent.glob("bestarm*") for p in folder.rglob("*.py")):
        source = path.read_bytes()
        if b"njit" in source:
            digest.update(source)
    own = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "bestarm")
    places = [root / "_store", own] if checkout else [own]
    base = next((place for place in places if _writable(place)), None)
    if base is None:
        import atexit
        import logging
        import shutil
        import tempfile

        base = Path(tempfile.mkdtemp(prefix="bestarm-"))
        atexit.register(shutil.rmtree, base, ignore_errors=True)
        logging.getLogger("bestarm").warning(
            f"bestarm: compiled code cannot be kept, since {' and '.join(map(str, places))} cannot be written; each "
            "start compiles anew. Set NUMBA_CACHE_DIR to a folder of your own."
        )
    folder = str(base / "numba" / digest.hexdigest()[:16])
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder


_set_numba_cache()

# `__init__.pyi` says the same to editors and type checkers
_PUBLIC = {
    "bestarm.testing": "check_policy",
    "bestarm.guards.protocol": "EverythingFails Guarded NothingLearned forget_asked waiting",
    "bestarm.interface": "Arms Ask Policy State",
    "bestarm.kernels": "Stationary",
    "bestarm.partition": "Partition",
    "bestarm.policies.gaussian.batch_gp": (
        "b_est est_dpp_max est_dpp_sample gp_bucb lp_ucb thompson ucb_dpp_max ucb_dpp_sample"
    ),
    "bestarm.policies.gaussian.batch_rules": "DownUp Eigen Exchange UpperBound",
    "bestarm.policies.batch_search": "random_batches=RandomBatches",
    "bestarm.policies.linear.bayes_gap": "bayes_gap=BayesGap",
    "bestarm.policies.linear.budgeted": "lingape lingape_greedy",
    "bestarm.policies.linear.fc2fb": "fc2fb=Fc2fb",
    "bestarm.policies.linear.mislid": "mislid=MisLid",
    "bestarm.lack_of_fit": "linear_misfit",
    "bestarm.policies.linear.gifa": "lingifa=LinGifa lucb=Lucb m_lingape=MLinGape ugape=Ugape",
    "bestarm.policies.gaussian.gp_state": "GPModel",
    "bestarm.policies.cells.gp_tree": "gp_tree=NamedGpTree",
    "bestarm.policies.cells.gpoo": "gpoo=NamedGpoo",
    "bestarm.policies.cells.grid_search": "grid_search=NamedGrid",
    "bestarm.policies.linear.gse": "gse_lin=GseLin gse_lin_all_rewards=GseLinAllRewards gse_log=GseLog",
    "bestarm.policies.linear.lin_ucb": "lin_ucb=LinUcb",
    "bestarm.policies.linear.linear_oae": "linear_oae=VanillaOae",
    "bestarm.policies.linear.lingame": "lin_game=LinGame",
    "bestarm.policies.networks.oae": "det_d=DetD greedy=Greedy hinge_p_norm=HingePNorm max_opt=MaxOpt mean_opt=MeanOpt",
    "bestarm.policies.networks.oae_ensemble": "ensemble=Ensemble ensemble_noise_y=EnsembleNoiseY",
    "bestarm.policies.networks.oae_sequential": (
        "ensemble_seq_b=PlainEnsembleSeqB ensemble_seq_b_noise_y=EnsembleSeqBNoiseY seq_b=MeanOptSeqB"
    ),
    "bestarm.policies.linear.od_linbai": "od_linbai=OdLinBai",
    "bestarm.policies.linear.p1_rage": "p1_rage=P1Rage",
    "bestarm.policies.linear.peace": "peace_live_arms=PeaceLiveArms",
    "bestarm.policies.linear.peace_all_arms": "peace=PeaceAllArms",
    "bestarm.policies.linear.static_design": "oracle_allocation=OracleAllocation static_g_optimal=StaticGOptimal",
    "bestarm.policies.cells.stooo": "ave_stooo=AveStooo stooo=MunosStooo",
    "bestarm.policies.linear.top_two": "top_two=TopTwo",
    "bestarm.policies.linear.ucb_glm": "ucb_glm=UcbGlm",
    "bestarm.search.candidates": "Candidates",
    "bestarm.search.state_files": "load save",
    "bestarm.search.search": "Search",
    "bestarm.search.tuning": "BatchSearchCV",
    "bestarm.streams": "Streams",
}

_SKLEARN = ("scikit-learn", "sklearn")
_EXTRAS = {"torch": ("Torch", "networks"), "sklearn": _SKLEARN, "joblib": _SKLEARN}  # what is not always installed
_NEEDED = {"bestarm.policies.networks": "torch", "bestarm.search.tuning": "sklearn"}  # by modules
_PLACES = {  # of each public name its module, and its name there
    public: (module, own or public)
    for module, names in _PUBLIC.items()
    for public, _, own in (name.partition("=") for name in names.split())
}
__all__ = [*_PLACES]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; constructors of policies return guarded ones."""
    if name not in _PLACES:
        raise AttributeError(f"module 'bestarm' has no attribute {name!r}; it has: {', '.join(sorted(_PLACES))}.")
    module, own = _PLACES[name]
    try:
        value = getattr(import_module(module), own)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing not in _EXTRAS:
            raise
        what, extra = _EXTRAS[missing]
        raise ImportError(f"{name} needs {what}: pip install 'bestarm[{extra}]'", name=missing) from None
    if module.startswith("bestarm.policies.") and name.islower():  # a constructor
        value = import_module("bestarm.guards.protocol").guarded_constructor(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    lacking = [module for module, package in _NEEDED.items() if find_spec(package) is None]  # or help() would end there
    there = [name for name, (module, _) in _PLACES.items() if not module.startswith(tuple(lacking))]
    return sorted([*globals(), *there])
