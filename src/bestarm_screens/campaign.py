"""The log of a screen: a folder with one file for each round, which no later round changes.

A round's file is JSON: the settings, seed and version, the phenotypes that became known since the round before, and the
genes suggested with their reasons. It is written beside its name and renamed, so that it is whole or absent; a lock
keeps two people from adding a round at the same time.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bestarm_screens.tables import listed

FORMAT = 1
AIMS = ("high", "low", "both")


@dataclass(frozen=True)
class Suggestion:
    """One gene of a batch and why it is there.

    Attributes
    ----------
    gene : str
        Its name in the features.
    predicted, uncertainty : float
        Predicted phenotype (its size, for the aim ``both``) and the standard deviation of the prediction; NaN while
        nothing is known.
    novelty : float
        Distance to the nearest gene measured, the root mean square difference of standardised features.
    nearest : str
        That gene; empty while there is none.
    rank : int
        Place of the prediction among all genes that were left; 0 while nothing is known.
    why : str
        The reason in words.
    """

    gene: str
    predicted: float
    uncertainty: float
    novelty: float
    nearest: str
    rank: int
    why: str


@dataclass(frozen=True)
class Round:
    """One round of a screen, as its file holds it.

    Attributes
    ----------
    number : int
        1, 2, ...
    settings : mapping
        What decides the batch beside the data: ``policy, settings, scaled, seed, batch, aim, components``.
    features : str
        SHA-256 of the features.
    told : tuple of (str, float)
        Genes whose phenotype became known since the round before, in the order in which they are told.
    revised : mapping of str to float
        Genes told before whose mean phenotype is another one now.
    suggested : tuple of Suggestion
        The batch.
    hit, expected_hits : float
        Phenotype from which a gene is a hit, and how many of the batch were expected to be.
    learned : mapping
        What the round before taught, see `bestarm_screens.suggest.learned`.
    version : str
        Of bestarm.
    """

    number: int
    settings: Mapping[str, Any]
    features: str
    told: tuple[tuple[str, float], ...]
    revised: Mapping[str, float]
    suggested: tuple[Suggestion, ...]
    hit: float
    expected_hits: float
    learned: Mapping[str, float]
    version: str
    format: int = field(default=FORMAT)

    @property
    def genes(self) -> list[str]:
        """The batch, in order."""
        return [s.gene for s in self.suggested]


def reward(value: float, aim: str) -> float:
    """Return what is maximised: the phenotype, its negative, or its size."""
    return abs(value) if aim == "both" else -value if aim == "low" else value


def of_prediction(value: float, aim: str) -> float:
    """Return the predicted reward of a predicted phenotype, which for the aim ``both`` is its size already."""
    return -value if aim == "low" else value


def known_at(rounds: Sequence[Round]) -> dict[str, float]:
    """Return gene → phenotype as the last of these rounds knew it."""
    known: dict[str, float] = {}
    for each in rounds:
        known |= dict(each.told)
        known |= dict(each.revised)
    return known


def same(a: float, b: float) -> bool:
    """Return whether two phenotypes are equal; two failures are."""
    return a == b or (math.isnan(a) and math.isnan(b))


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
        """Keep others from adding a round; the lock ends with the process, however it ends.

        Raises
        ------
        ValueError
            If somebody else has the lock.
        """
        import fcntl

        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / ".lock", "w", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ValueError(
                    f"somebody else is running bestarm suggest on {self.folder}; nothing was changed. Wait until it "
                    "has ended, then run it again: both get the same batch."
                ) from None
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
        meta = asdict(new)
        text = json.dumps(_plain(meta), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(path, text)
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

    def plate_path(self, number: int) -> Path:
        """Return the file of a round's plate map."""
        return self.folder / f"round_{number:03d}_plate.csv"

    def _path(self, number: int) -> Path:
        return self.folder / f"round_{number:03d}.json"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is whole or as it was before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    """Return a value with None in the place of NaN, which JSON has not."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _read(path: Path) -> Round:
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        if meta["format"] != FORMAT:
            raise ValueError(
                f"{path} has format {meta['format']}, this bestarm reads {FORMAT}; install bestarm {meta['version']}."
            )
        suggested = tuple(
            Suggestion(
                str(s["gene"]),
                _number(s["predicted"]),
                _number(s["uncertainty"]),
                _number(s["novelty"]),
                str(s["nearest"]),
                int(s["rank"]),
                str(s["why"]),
            )
            for s in meta["suggested"]
        )
        return Round(
            int(meta["number"]),
            meta["settings"],
            str(meta["features"]),
            tuple((str(gene), _number(value)) for gene, value in meta["told"]),
            {str(gene): _number(value) for gene, value in meta["revised"].items()},
            suggested,
            _number(meta["hit"]),
            _number(meta["expected_hits"]),
            {k: _number(v) for k, v in meta["learned"].items()},
            str(meta["version"]),
        )
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{path} is damaged or half-written; take another copy of it. The other rounds are untouched."
        ) from None


def newly_told(
    rounds: Sequence[Round], phenotypes: Mapping[str, float], order: Sequence[str]
) -> list[tuple[str, float]]:
    """Return what became known since the last round: its batch in order, then other genes as the features list them.

    Phenotypes of genes that nobody suggested are taken as known.

    Raises
    ------
    ValueError
        If a gene that was told before has no row now, or some of the last batch has none.
    """
    known = known_at(rounds)
    if gone := [gene for gene in known if gene not in phenotypes]:
        raise ValueError(
            f"{len(gone)} genes that earlier rounds used have no row now ({listed(gone)}); is the file half-written? "
            "Put the rows back; empty the phenotype of a gene that is to count as failed."
        )
    batch = rounds[-1].genes if rounds else []
    if missing := [gene for gene in batch if gene not in phenotypes]:
        raise ValueError(
            f"round {len(rounds)} waits for {len(missing)} of {len(batch)} genes ({listed(missing)}); add their rows, "
            "with an empty phenotype where the well failed."
        )
    fresh = [gene for gene in batch if gene not in known]
    others = [gene for gene in order if gene in phenotypes and gene not in known and gene not in set(batch)]
    return [(gene, phenotypes[gene]) for gene in [*fresh, *others]]


def revisions(rounds: Sequence[Round], phenotypes: Mapping[str, float]) -> dict[str, float]:
    """Return genes told before whose phenotype is another one now, as after a repeated well."""
    known = known_at(rounds)
    return {gene: phenotypes[gene] for gene, value in known.items() if not same(value, phenotypes[gene])}
