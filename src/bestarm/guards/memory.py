"""One message for out-of-memory errors of NumPy, Numba and Torch."""

import re
from collections.abc import Callable
from typing import Any


def lack_of_memory(error: BaseException) -> str | None:
    """Return in one line what an error, of Torch a `RuntimeError`, says about memory that ran out; None for others."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return text.rstrip(".") or "an array did not fit"
    if isinstance(error, RuntimeError) and re.search(r"can't allocate memory|out of memory", text):
        size = re.search(r"[Tt]ried to allocate (\d+) bytes", text)
        return f"Torch could not get {int(size[1]) / 2**30:.1f} GiB" if size else "Torch got no more"
    return None


def with_memory(label: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a method of a policy returns; one line says where memory ran out, whichever library finds it."""
    try:
        return call(*arguments)
    except (MemoryError, RuntimeError) as error:
        if (said := lack_of_memory(error)) is None:
            raise
        remedy = "take fewer candidates, smaller layers, batches or ensembles"
        raise MemoryError(f"{label}: memory ran out ({said}); {remedy}.") from error
