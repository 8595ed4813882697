"""Atomic writes of files, and locks that end with their process."""

import contextlib
import errno
import os
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

PATIENCE = 60.0  # seconds to wait for a lock that others hold while they write a file


def checked_path(path: Any) -> Path:
    """Return a path, refusing what is none, folders and devices, and what is in no folder."""
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise ValueError(f"a file is named by a text or a Path, got {path!r}; give its name, such as search.zip.")
    if (found := Path(path)).is_dir():
        raise ValueError(f"{found} is a folder; name a file in it.")
    if found.exists() and not found.is_file():
        raise ValueError(f"{found} is a device or a pipe, no file; name a file.")
    if not found.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {found.parent}; make it, or name a file elsewhere.")
    return found


def saved_content(path: Any) -> tuple[Path, bytes]:
    """Return the path of a saved search, and what is in the file."""
    if not (found := checked_path(path)).is_file():
        raise FileNotFoundError(f"there is no saved search {found}.")
    return found, found.read_bytes()


def _try_lock(file: IO[Any]) -> bool:
    """Lock an open file if nobody else has, until the process ends; where there are no locks, it counts as locked."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
    return True


@contextlib.contextmanager
def hold_lock(lock: Path, patience: float = PATIENCE) -> Iterator[bool]:
    """Hold a lock, a file that is there while it is held; yield whether it was got in time."""
    ends = time.monotonic() + patience
    while True:
        with open(lock, "a", encoding="utf-8") as file:
            got = _try_lock(file)
            # whoever held it has removed the file: this one is locked, but nobody else will find it
            if got and not (lock.exists() and os.path.samestat(os.fstat(file.fileno()), os.stat(lock))):
                continue
            if got:
                try:
                    yield True
                finally:
                    with contextlib.suppress(OSError):  # Windows keeps a file that is open
                        lock.unlink(missing_ok=True)
                return
        if time.monotonic() >= ends:
            yield False
            return
        time.sleep(0.02)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Keep others from writing a file, and remove what killed writers left; errors have the file's own name."""
    try:
        with hold_lock(path.with_name(f".{path.name}.lock")) as got:
            if not got:
                raise TimeoutError(0, "somebody else has been writing it for a minute; try again", str(path))
            for left in path.parent.glob(f".{path.name}.*.tmp"):
                left.unlink(missing_ok=True)
            yield
    except OSError as error:
        if error.filename == str(path) or error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from None


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically, while others are kept from it."""
    with writing(path):
        write_atomically(path, content)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its name and rename it, so that it is whole or as it was before."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
