"""Rows on disk: files that are whole or absent, that notice damage, and that are never mistaken for one another.

A file of rows carries its seal inside: a SHA-256 over its columns and values, and the name of what it holds. Reading
computes the seal again; rows whose seal differs count as absent, so that they are computed again.
"""

import hashlib
import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet

logger = logging.getLogger(__name__)

_SEAL, _NAME, _MADE_BY = b"bestarm.seal", b"bestarm.name", b"bestarm.made_by"
_CATEGORIES = b"bestarm.categories"  # columns of words that are categories of pandas, and whether in order

MadeBy = dict[str, tuple[str, str]]  # key of rows → hashes of their settings and of their code


def seal(frame: pd.DataFrame) -> str:
    """Return a SHA-256 over the names, types and values of a frame's columns."""
    total = hashlib.sha256()
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            values = column.to_numpy()
            total.update(f"{name}:{values.dtype.str}:{len(values)}\n".encode())
            total.update(values.tobytes())
        else:  # few words, often repeated
            codes, words = pd.factorize(column)
            total.update(f"{name}:text:{len(codes)}:{chr(0).join(map(str, words))}\n".encode())
            total.update(codes.astype("<i4").tobytes())
    return total.hexdigest()


def _categories(frame: pd.DataFrame) -> bytes:
    return json.dumps({c: bool(frame[c].cat.ordered) for c in frame.select_dtypes("category")}).encode()


def write_rows(frame: pd.DataFrame, path: Path, name: str, made_by: MadeBy | None = None) -> None:
    """Write rows with their seal, so that the file is either absent or whole, whatever happens in between.

    Rows are refused when they are read under another name; ``made_by`` is for `read_made_by`. Raises OSError if the
    disk is full or read-only; the message names the file, and no partial file stays.
    """
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    known = {_SEAL: seal(frame).encode(), _NAME: name.encode(), _CATEGORIES: _categories(frame)}
    if made_by is not None:
        known[_MADE_BY] = json.dumps(made_by).encode()
    table = table.replace_schema_metadata({**table.schema.metadata, **known})
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # whole numbers, such as those of replications, by their differences: a third of the size where runs are many
        whole = [field.name for field in table.schema if pyarrow.types.is_integer(field.type)]
        others = [name for name in table.column_names if name not in whole]
        packed: Any = dict.fromkeys(whole, "DELTA_BINARY_PACKED") or None
        pyarrow.parquet.write_table(table, temporary, compression="zstd", use_dictionary=others, column_encoding=packed)
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot write results to {path}: {error.strerror or error}. Free the disk or choose another store",
        ) from error
    finally:
        try:
            temporary.unlink(missing_ok=True)
        except OSError:
            logger.debug("%s could not be removed", temporary)


def read_rows(path: Path, name: str) -> pd.DataFrame | None:
    """Return the rows in a file, or None if it is absent or, with a warning, not what was written under this name."""
    if not path.is_file():
        return None
    try:
        table = pyarrow.parquet.read_table(path).combine_chunks()  # rows are selected in half the time
        metadata = table.schema.metadata or {}
        frame = table.to_pandas()
        whole = metadata.get(_NAME) == name.encode() and metadata.get(_SEAL) == seal(frame).encode()
        whole &= metadata.get(_CATEGORIES, _categories(frame)) == _categories(frame)  # older files do not have them
    except (OSError, ValueError, KeyError, TypeError, pyarrow.ArrowException) as error:
        logger.warning("%s cannot be read (%s); its rows are computed again", path, error)
        return None
    if not whole:
        logger.warning("%s is damaged or holds other rows (its seal differs); its rows are computed again", path)
        return None
    return frame


def read_made_by(path: Path) -> MadeBy:
    """Return the hashes of settings and of code behind each key in a file of rows; none of a file without them."""
    if not path.is_file():
        return {}
    known = json.loads((pyarrow.parquet.read_schema(path).metadata or {}).get(_MADE_BY, b"{}"))
    return {key: (settings, code) for key, (settings, code) in known.items()}


@dataclass(frozen=True)
class Store:
    """Blocks of rows below one folder, found by the key of the part that they belong to."""

    folder: Path  # where the blocks lie; made when needed, safe to delete

    def path(self, key: str, start: int, stop: int) -> Path:
        """Return the file of replications ``start`` to ``stop - 1`` of one part."""
        return self.folder / key[:2] / key / f"{start:06d}-{stop:06d}.parquet"

    def write(self, key: str, start: int, stop: int, frame: pd.DataFrame) -> None:
        """Store a block."""
        write_rows(frame, self.path(key, start, stop), f"{key}:{start}-{stop}")

    def read(self, key: str, start: int, stop: int) -> pd.DataFrame | None:
        """Return a block, or None if it is not there; a damaged one is reported and counts as not there."""
        return read_rows(self.path(key, start, stop), f"{key}:{start}-{stop}")
