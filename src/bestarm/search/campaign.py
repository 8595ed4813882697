"""Campaigns of `bestarm suggest`: a search saved as a folder, with a file for each round that no later round changes.

A round's file is JSON of a `bestarm.search.rounds.Round`, as in the file of a search. Beside them are the candidates as
they were read, so that every batch can be made anew and a table that changed is compared name by name.
"""

import contextlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bestarm.search.atomic_files import hold_lock, write_atomically
from bestarm.search.candidates import Candidates
from bestarm.search.errors import reading
from bestarm.search.explanations import expected_hits, hit_threshold, learned
from bestarm.search.next_batch import Plan
from bestarm.search.rounds import FORMAT, Round, as_json, known_at, of_json, reward
from bestarm.search.search import Search
from bestarm.search.search_files import NUMBERS, archive_of, as_text, candidate_parts, candidates_of, parts_of
from bestarm.search.state_files import DAMAGED
from bestarm.search.tables import listed

_CANDIDATES, _META = "candidates.zip", "candidates.json"


class Campaign:
    """A folder of rounds, made if it is not there."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.candidates_path = self.folder / _CANDIDATES

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from adding a round, and remove what killed runs left, and a new folder that stays empty."""
        if self.folder.is_file():
            raise ValueError(f"{self.folder} is a file; name a folder by --campaign.")
        is_new = not self.folder.exists()
        self.folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(self.folder / ".lock", patience=0.0) as got:
            if not got:
                remedy = "nothing was changed. Wait until it has ended, then run it again"
                raise ValueError(f"somebody else is running bestarm suggest on {self.folder}; {remedy}.")
            for left in self.folder.glob(".*.tmp"):
                left.unlink(missing_ok=True)
            try:
                yield
            finally:
                if is_new and [path.name for path in self.folder.iterdir()] == [".lock"]:
                    shutil.rmtree(self.folder, ignore_errors=True)

    def rounds(self) -> list[Round]:
        """Return all rounds in order."""
        there = [path for path in self.folder.glob("round_*.json") if re.fullmatch(r"round_\d{3,}", path.stem)]
        found = [_read(path) for path in sorted(there, key=lambda path: (len(path.stem), path.stem))]
        for number, each in enumerate(found, start=1):
            if each.number != number:
                remedy = f"put {self._path(number).name} back"
                raise ValueError(f"{self.folder} has no round {number}, but round {each.number}; {remedy}.")
        return found

    def append(self, new: Round) -> None:
        """Write a round; no file that is there is changed."""
        if (path := self._path(new.number)).exists():
            raise ValueError(f"{path} is there already; run bestarm suggest again, which reads it.")
        write_atomically(path, as_text(as_json(new)))

    def withdraw(self, last: Round) -> Path:
        """Rename the file of the last round, so that it is kept but counts no more."""
        path, number = self._path(last.number), 1
        while (kept := path.with_suffix(f".withdrawn{number}.json")).exists():
            number += 1
        os.rename(path, kept)
        if (plate := self.plate_path(last.number)).exists():
            os.rename(plate, plate.with_suffix(f".withdrawn{number}.csv"))
        return kept

    def candidates(self) -> Candidates | None:
        """Return the candidates of the last round, None where there is none, or a log of format 1 alone."""
        if not (path := self.candidates_path).exists():
            return None
        try:
            parts = parts_of(path.read_bytes())
            return candidates_of(json.loads(parts[_META]), parts[NUMBERS])
        except DAMAGED:
            raise ValueError(f"{path} is damaged or half-written; take another copy of it.") from None

    def reconciled(
        self, given: Candidates, rounds: Sequence[Round], where: str, notes: list[str]
    ) -> tuple[Candidates, list[str]]:
        """Return the candidates after their table was read again, new ones last, and those gone; both are said."""
        if (kept := self.candidates()) is None:
            if rounds and rounds[-1].features not in (given.digest, given.digest_1):
                what = f"{where} is not what round {len(rounds)} in {self.folder} used; take that file again"
                remedy = "or begin another log by --campaign: what was measured is then taken as known"
                raise ValueError(f"{what}, {remedy}.")
            return given, []
        now, before = (dict(zip(each.names, each.digests, strict=True)) for each in (given, kept))
        if changed := [name for name in kept.names if name in now and now[name] != before[name]]:
            what = f"{where} is not what earlier rounds used: {listed(changed)} has other features or columns now"
            a, b = (each.shown(each.places(changed[:1])).to_dict("records")[0] for each in (given, kept))
            other = [f" ({c} {a[c]!r} in place of {b[c]!r})" for c in b if c in a and repr(a[c]) != repr(b[c])]
            what += "".join(other[:1])
            remedy = "put them back, give what changed a new name, or begin another log by --campaign"
            raise ValueError(f"{what}; {remedy}.")
        gone = [name for name in kept.names if name not in now]
        if new := [name for name in given.names if name not in before]:
            notes.append(f"{Path(where).name}: {len(new)} genes are new ({listed(new)}).")
            kept = kept.joined(Candidates(tuple(new), given.shown(given.places(new))))
        if gone:
            notes.append(f"{Path(where).name}: {len(gone)} genes are gone, and will not be suggested ({listed(gone)}).")
        return kept, gone

    def keep_candidates(self, candidates: Candidates) -> None:
        """Write the candidates, whole or not at all, unless they are there."""
        if (kept := self.candidates()) is None or kept.names != candidates.names:
            meta, numbers = candidate_parts(candidates)
            write_atomically(self.candidates_path, archive_of({_META: json.dumps(meta).encode(), NUMBERS: numbers}))

    def search(self) -> Search:
        """Return the campaign as its last round knew it, whose batch waits."""
        rounds, candidates = self.rounds(), self.candidates()
        if not rounds or candidates is None:
            lacks = _CANDIDATES if rounds else self._path(1).name
            raise ValueError(f"{self.folder} has no {lacks}; run bestarm suggest, which writes it.")
        last = rounds[-1]
        plan, hit = Plan.of(last.settings), None if math.isnan(last.hit) else last.hit
        search = Search(candidates, plan.choice, aim=plan.aim, seed=plan.seed, components=plan.components, hits=hit)
        known = {n: [reading(v, *last.errors.get(n, ())) for v in values] for n, values in known_at(rounds).items()}
        search.resume(rounds, known, [*last.pending, *last.names], last.withdrawn)
        return search

    def plate_path(self, number: int) -> Path:
        return self.folder / f"round_{number:03d}_plate.csv"

    def _path(self, number: int) -> Path:
        return self.folder / f"round_{number:03d}.json"


def _read(path: Path) -> Round:
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        number, version = meta["format"], meta["version"]
        if number <= FORMAT:
            return of_json(meta)
    except DAMAGED:
        raise ValueError(f"{path} is damaged or half-written; take another copy. The others are untouched.") from None
    rule = f"this bestarm reads up to {FORMAT}; install bestarm {version} or later"
    raise ValueError(f"{path} has format {number}, {rule}.")


def refuse_lost(rounds: Sequence[Round], phenotypes: Mapping[str, float]) -> None:
    """Refuse phenotypes without those of genes that a round used."""
    if gone := [gene for gene in known_at(rounds) if gene not in phenotypes]:
        remedy = "is the file half-written? Put the rows back; write failed for a gene that is to count as failed"
        raise ValueError(f"{len(gone)} genes that earlier rounds used have no row now ({listed(gone)}); {remedy}.")


def next_round(
    plan: Plan,
    candidates: Candidates,
    phenotypes: Mapping[str, float],
    rounds: Sequence[Round],
    hit: float | None = None,
    pending: Sequence[str] = (),
    withdrawn: Sequence[str] = (),
) -> Round | None:
    """Return the next round of a screen with its reasons, None where no gene is left.

    Phenotypes are means as of today, NaN where every well failed. What the last round asked for and is neither measured
    nor pending was not done. A hit is by default one of the best 5% measured.
    """
    known = {gene: (value,) for gene, value in phenotypes.items()}
    search = Search(candidates, plan.choice, aim=plan.aim, seed=plan.seed, components=plan.components)
    search.resume(rounds, known, pending, withdrawn)
    if not len(search.ask(plan.batch)):
        return None
    made = search.explained(search.rounds[-1])
    threshold = hit_threshold([reward(v, plan.aim) for v in phenotypes.values()], plan.aim, hit)
    expected = expected_hits(plan, made.suggested, rounds, known, threshold)
    hit = -threshold if plan.aim == "min" else threshold
    return replace(made, hit=hit, expected_hits=expected, learned=learned(rounds, known))
