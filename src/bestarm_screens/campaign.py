"""The log of a screen: a folder with one file for each round, which no later round changes.

A round's file is JSON, see `bestarm.search.rounds.Round`. It is written beside its name and renamed, so that it is
whole or absent; a lock keeps two people from adding a round at the same time. Beside the rounds the folder holds the
candidates as they were read, so that every batch can be made anew and a table that changed is compared name by name.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bestarm.search.candidates import Candidates
from bestarm.search.files import candidates_as_json, candidates_of
from bestarm.search.reader import listed
from bestarm.search.rounds import FORMAT, Round, as_json, of_json
from bestarm.search.saving import DAMAGED
from bestarm.search.whole import locked, write_whole

AIMS = ("high", "low", "both")
_CANDIDATES = "candidates.zip"


class Campaign:
    """A folder of rounds.

    Parameters
    ----------
    folder : str or Path
        Made if it is not there.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from adding a round, and remove what killed runs left; the lock ends with the process.

        Raises
        ------
        ValueError
            If somebody else has the lock.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / ".lock", patience=0.0) as got:
            if not got:
                raise ValueError(
                    f"somebody else is running bestarm suggest on {self.folder}; nothing was changed. Wait until it "
                    "has ended, then run it again: both get the same batch."
                )
            for left in self.folder.glob(".*.tmp"):
                left.unlink(missing_ok=True)
            yield

    def rounds(self) -> list[Round]:
        """Return all rounds in order.

        Raises
        ------
        ValueError
            For a file that is damaged, or a round that is missing.
        """
        paths = sorted(self.folder.glob("round_[0-9][0-9][0-9].json")) if self.folder.is_dir() else []
        found = [_read(path) for path in paths]
        for number, each in enumerate(found, start=1):
            if each.number != number:
                raise ValueError(
                    f"{self.folder} has no round {number}, but round {each.number}; put {self._path(number).name} back."
                )
        return found

    def append(self, new: Round) -> Path:
        """Write a round and return its file; no file that is there is changed.

        Raises
        ------
        ValueError
            If this round is there already.
        """
        path = self._path(new.number)
        if path.exists():
            raise ValueError(f"{path} is there already; run bestarm suggest again, which reads it.")
        write_whole(path, (json.dumps(as_json(new), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
        return path

    def withdraw(self, last: Round) -> Path:
        """Rename the file of the last round, so that it is kept but counts no more."""
        path, number = self._path(last.number), 1
        while (kept := path.with_suffix(f".withdrawn{number}.json")).exists():
            number += 1
        os.rename(path, kept)
        plate = self.plate_path(last.number)
        if plate.exists():
            os.rename(plate, plate.with_suffix(f".withdrawn{number}.csv"))
        return kept

    def candidates(self) -> Candidates | None:
        """Return the candidates of the last round, None where there is none, or a log of format 1 alone.

        Raises
        ------
        ValueError
            For a file that is damaged.
        """
        path = self.folder / _CANDIDATES
        if not path.exists():
            return None
        try:
            with zipfile.ZipFile(path) as archive:
                meta = json.loads(archive.read("candidates.json"))
                numbers = np.load(io.BytesIO(archive.read("numbers.npy")), allow_pickle=False)
            return candidates_of(meta, numbers)
        except DAMAGED:
            raise ValueError(f"{path} is damaged or half-written; take another copy of it.") from None

    def keep_candidates(self, candidates: Candidates) -> None:
        """Write the candidates, whole or not at all, unless they are there."""
        kept = self.candidates()
        if kept is not None and kept.names == candidates.names:
            return
        meta, numbers = candidates_as_json(candidates)
        file, array = io.BytesIO(), io.BytesIO()
        np.save(array, numbers, allow_pickle=False)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, content in (("candidates.json", json.dumps(meta)), ("numbers.npy", array.getvalue())):
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
        write_whole(self.folder / _CANDIDATES, file.getvalue())

    def plate_path(self, number: int) -> Path:
        """Return the file of a round's plate map."""
        return self.folder / f"round_{number:03d}_plate.csv"

    def _path(self, number: int) -> Path:
        return self.folder / f"round_{number:03d}.json"


def reconciled(kept: Candidates | None, given: Candidates, where: str) -> tuple[Candidates, list[str], list[str]]:
    """Return the candidates of a campaign after their table was read again, those that are new and those gone.

    They are compared name by name, whatever the order of rows and columns; new ones come after those that were there.

    Raises
    ------
    ValueError
        For other columns, or a candidate whose features changed.
    """
    if kept is None:
        return given, [], []
    now, before = dict(zip(given.names, given.digests, strict=True)), dict(zip(kept.names, kept.digests, strict=True))
    if changed := [name for name in kept.names if name in now and now[name] != before[name]]:
        raise ValueError(
            f"{where} is not what earlier rounds used: {listed(changed)} has other features or columns now; put them "
            "back, give what changed a new name, or begin another log by --campaign."
        )
    new = [name for name in given.names if name not in before]
    gone = [name for name in kept.names if name not in now]
    if not new:
        return kept, [], gone
    places = [i for i, name in enumerate(given.names) if name not in before]
    return kept.joined(Candidates(tuple(new), given.shown(places))), new, gone


def _read(path: Path) -> Round:
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        number, version = meta["format"], meta["version"]
        if not isinstance(number, int):
            raise TypeError
    except DAMAGED:
        raise _damaged(path) from None
    if number > FORMAT:
        raise ValueError(
            f"{path} has format {number}, this bestarm reads up to {FORMAT}; install bestarm {version} or later."
        )
    try:
        return of_json(meta)
    except DAMAGED:
        raise _damaged(path) from None


def _damaged(path: Path) -> ValueError:
    return ValueError(f"{path} is damaged or half-written; take another copy of it. The other rounds are untouched.")
