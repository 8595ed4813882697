"""bestarm: reproduce, audit and reuse five papers on finding the best arms with few queries.

The public names are here and are imported when they are first used: ``bestarm.Search`` for tables, ``bestarm.Arms``,
``bestarm.Partition`` and ``bestarm.Streams`` for arrays, and a constructor for each algorithm (``dir(bestarm)``).
"""

import hashlib
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _writable(folder: Path) -> bool:
    """Return whether a folder, or the nearest one above it that exists, can be written."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _keep_compiled_kernels_honest() -> None:
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
    for path in sorted(p for folder in (package, package.with_name("bestarm_studies")) for p in folder.rglob("*.py")):
        source = path.read_bytes()
        if b"njit" in source:
            digest.update(source)
    own = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "bestarm")
    places = [root / "_store", own] if checkout else [own]
    base = next((place for place in places if _writable(place)), None)
    if base is None:
        import atexit
        import shutil
        import tempfile

        base = Path(tempfile.mkdtemp(prefix="bestarm-"))
        atexit.register(shutil.rmtree, base, ignore_errors=True)
        print(
            f"bestarm: compiled code cannot be kept, since {' and '.join(map(str, places))} cannot be written; each "
            "start compiles anew. Set NUMBA_CACHE_DIR to a folder of your own.",
            file=sys.stderr,
        )
    folder = str(base / "numba" / digest.hexdigest()[:16])
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder


_keep_compiled_kernels_honest()

_NAMED = (
    "ave_stooo", "b_est", "det_d", "ensemble", "ensemble_noise_y", "ensemble_seq_b", "ensemble_seq_b_noise_y",
    "est_dpp_max", "est_dpp_sample", "gp_bucb", "gp_tree", "gpoo", "greedy", "grid_search", "gse_lin", "gse_log",
    "hinge_p_norm", "linear_oae", "lingape", "lingape_greedy", "lingifa", "lp_ucb", "lucb", "m_lingape", "max_opt",
    "mean_opt", "random_batches", "seq_b", "stooo", "thompson", "ucb_dpp_max", "ucb_dpp_sample", "ugape",
)  # fmt: skip
_PLACES = dict.fromkeys(_NAMED, "bestarm.search.named") | {
    "Arms": "bestarm.interface",
    "Ask": "bestarm.interface",
    "BayesGap": "bestarm.policies.bayes_gap",
    "EverythingFails": "bestarm.guards.protocol",
    "GPModel": "bestarm.policies.gp_state",
    "LinGame": "bestarm.policies.lingame",
    "LinUcb": "bestarm.policies.lin_ucb",
    "NothingLearned": "bestarm.guards.protocol",
    "OdLinBai": "bestarm.policies.od_linbai",
    "Partition": "bestarm.partition",
    "Peace": "bestarm.policies.peace",
    "Search": "bestarm.search.search",
    "Stationary": "bestarm.kernels",
    "Streams": "bestarm.streams",
    "UcbGlm": "bestarm.policies.ucb_glm",
    "forget_asked": "bestarm.guards.protocol",
    "load": "bestarm.search.saving",
    "save": "bestarm.search.saving",
    "waiting": "bestarm.guards.protocol",
}
__all__ = [*_PLACES]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module 'bestarm' has no attribute {name!r}; it has: {', '.join(sorted(_PLACES))}.")
    value = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
