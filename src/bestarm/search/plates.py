"""Plate maps: which gene goes into which well."""

import re
from collections.abc import Sequence

PLATES = {96: (8, 12), 384: (16, 24)}


def wells_of(plate: int, free: Sequence[str] = ()) -> list[str]:
    """Return the wells of a plate row by row, A01, A02, ..., without those that are to stay free for controls."""
    if plate not in PLATES:
        raise ValueError(f"plate must be 96 or 384, got {plate}.")
    rows, columns = PLATES[plate]
    names = [f"{chr(ord('A') + row)}{column + 1:02d}" for row in range(rows) for column in range(columns)]
    kept_free = [re.sub(r"^([A-Z])(\d)$", r"\g<1>0\2", well.strip().upper()) for well in free]
    if unknown := [well for well in kept_free if well not in names]:
        raise ValueError(f"a plate of {plate} has no well {unknown[0]!r}; wells are {names[0]} to {names[-1]}.")
    left = [name for name in names if name not in kept_free]
    if not left:
        raise ValueError(f"all {plate} wells are kept free; leave at least one for a gene.")
    return left


def places(n: int, plate: int, free: Sequence[str] = ()) -> list[tuple[int, str]]:
    """Return plate number and well of each of n genes; the next plate begins where one is full."""
    wells = wells_of(plate, free)
    return [(1 + i // len(wells), wells[i % len(wells)]) for i in range(n)]
