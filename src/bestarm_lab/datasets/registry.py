"""Registered data files: in ``data/raw``, in a local mirror or at their official address, and always checked."""

import gzip
import hashlib
import os
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bestarm_lab.paths import DATA, RAW_DATA, data_mirror

TIMEOUT_SECONDS = 20


class DataUnavailable(FileNotFoundError):
    """Nobody has the file: not ``data/raw``, not the mirror, not its official address.

    The first argument says what is missing, in words that a file may keep; a second, where this machine has looked.
    """

    def __str__(self) -> str:
        return ": ".join(map(str, self.args))


class DataDamaged(ValueError):
    """A file was found whose content is not the registered one."""


@cache
def registry() -> dict[str, dict[str, Any]]:
    """Return ``data/registry.yaml``: name of a data file → path, url, sha256 of its uncompressed content, licence."""
    return yaml.safe_load((DATA / "registry.yaml").read_text(encoding="utf-8"))


def _describe(name: str) -> dict[str, Any]:
    if name not in registry():
        raise ValueError(f"unknown data file {name!r}; data/registry.yaml has: {', '.join(sorted(registry()))}.")
    return registry()[name]


def content_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, unpacked first if its name ends in ``.gz``."""
    raw = path.read_bytes()
    return hashlib.sha256(gzip.decompress(raw) if path.suffix == ".gz" else raw).hexdigest()


def _checked(path: Path, expected: str, name: str) -> Path:
    try:
        found = content_sha256(path)
    except (OSError, EOFError, zlib.error) as error:
        raise DataDamaged(f"{path} cannot be read ({error}). Delete it, so that {name!r} is fetched again.") from error
    if found != expected:
        raise DataDamaged(
            f"{path} is not the registered {name!r}: its content has sha256 {found}, expected {expected}. "
            "Delete it, so that it is fetched again; nothing was computed from it."
        )
    return path


def fetch(name: str) -> Path:
    """Return the path of a registered data file.

    Looks in ``data/raw``, then in the mirror (``$BESTARM_DATA``, default ``../shared/data``), then downloads the
    official file into ``data/raw`` unless ``$BESTARM_OFFLINE`` is set. Raises ValueError if the name is no key of
    ``data/registry.yaml``, DataDamaged if a file is not the registered one, and DataUnavailable if there is none.
    """
    entry = _describe(name)
    for folder in (RAW_DATA, data_mirror()):
        for path in (folder / entry["path"], folder / (entry["path"] + ".gz")):
            if path.is_file():
                return _checked(path, entry["sha256"], name)
    if "url" not in entry:
        raise _absent(name, f"it has no official address. It comes from: {entry['origin']}.")
    if os.environ.get("BESTARM_OFFLINE"):
        raise _absent(name, "BESTARM_OFFLINE is set.")
    return _download(name, entry)


def _absent(name: str, why: str) -> DataUnavailable:
    looked = f"it is neither in {RAW_DATA} nor in {data_mirror()}, and {why}"
    return DataUnavailable(f"nobody here has {name!r}", looked)


def _download(name: str, entry: dict[str, Any]) -> Path:
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    target, member = RAW_DATA / entry["path"], entry.get("member")
    try:
        found = pooch.retrieve(
            entry["url"],
            known_hash=None if member else f"sha256:{entry['sha256']}",
            fname=f"{name}.zip" if member else target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS),
        )
    except requests.exceptions.RequestException as error:
        silent = f"{entry['url']} did not answer ({type(error).__name__})"
        remedy = f"Put the file at {target}, or set BESTARM_DATA to a folder that has it."
        raise _absent(name, f"{silent}. {remedy}") from error
    except ValueError as error:  # pooch found another hash
        raise DataDamaged(
            f"{entry['url']} is not the registered {name!r} ({error}). "
            f"Nothing was kept; put the right file at {target}."
        ) from error
    return _unpacked(Path(found), member, target, name, entry) if member else target


def _unpacked(archive: Path, member: str, target: Path, name: str, entry: dict[str, Any]) -> Path:
    """Take one file out of a downloaded archive, and keep nothing that is not the registered one."""
    try:
        with zipfile.ZipFile(archive) as files:
            content = files.read(member)
    except (OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise DataDamaged(f"{entry['url']} has no readable {member!r} ({error}). Put {name!r} at {target}.") from error
    finally:
        archive.unlink(missing_ok=True)
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise DataDamaged(
            f"{member!r} in {entry['url']} is not the registered {name!r}. Nothing was kept; put the right file at "
            f"{target}."
        )
    temporary = target.with_name(target.name + ".part")
    temporary.write_bytes(content)
    return temporary.rename(target)


def available(*names: str) -> bool:
    """Return whether every one of these data files can be had; a damaged file raises."""
    try:
        for name in names:
            fetch(name)
    except DataUnavailable:
        return False
    return True


def checksums(*names: str) -> dict[str, str]:
    """Return name → sha256 for a figure's provenance."""
    return {name: _describe(name)["sha256"] for name in names}
