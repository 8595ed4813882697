"""Arrays that are slow to compute and are needed by several experiments: computed once, kept beside the rows' store."""

import hashlib
import inspect
import os
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bestarm.interface import FloatArray
from bestarm_lab.paths import STORE


def kept(
    name: str, key: str, modules: Sequence[str], compute: Callable[[], dict[str, FloatArray]]
) -> dict[str, FloatArray]:
    """Return what ``compute`` returns; what was computed before from the same inputs by the same code is read.
    ``key`` is a hash of the inputs; the text of ``modules`` counts as well. Files lie in the folder ``arrays`` of
    ``$BESTARM_STORE``, are renamed when whole, and may be deleted; what cannot be read is computed anew."""
    code = hashlib.sha256("".join(inspect.getsource(sys.modules[module]) for module in modules).encode()).hexdigest()
    file = Path(os.environ.get("BESTARM_STORE", STORE)) / "arrays" / f"{name}-{key}-{code[:16]}.npz"
    if file.is_file():
        try:
            with np.load(file) as arrays:
                return dict(arrays)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            file.unlink(missing_ok=True)
    found = compute()
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.stem}.{os.getpid()}.npz")
    np.savez(temporary, allow_pickle=False, **found)
    os.replace(temporary, file)
    return found
