"""One message for out-of-memory errors of NumPy, Numba and Torch."""

import re


def lack_of_memory(error: BaseException) -> str | None:
    """Return what an error says about memory that ran out, in one line, or None if it is about something else.

    Torch reports a lack of memory as a `RuntimeError` of many words.
    """
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return text.rstrip(".") or "an array did not fit"
    if isinstance(error, RuntimeError) and re.search(r"can't allocate memory|out of memory", text):
        size = re.search(r"[Tt]ried to allocate (\d+) bytes", text)
        return f"Torch could not get {int(size[1]) / 2**30:.1f} GiB" if size else "Torch got no more"
    return None


def out_of_memory(label: str, error: Exception) -> Exception:
    """Return what to raise for an error of a policy: one line where memory ran out, otherwise the error itself."""
    if (said := lack_of_memory(error)) is None:
        return error
    remedy = "take fewer candidates, smaller layers, batches or ensembles"
    return MemoryError(f"{label}: memory ran out ({said}); {remedy}.")
