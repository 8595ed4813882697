r"""Boolean networks in the format of Re:In: regulation conditions, model files, simplified rules, observations.

The network of the drug simulator was inferred by a solver of this family. An inferred model gives each gene one
*regulation condition*, a number that says which combinations of active activators and repressors switch the gene on.
Source: Yordanov, Dunn, Kugler, Smith, Martello, Emmott, "A method to identify and analyze biological programs through
automated reasoning", npj Systems Biology and Applications 2, 2016.
"""

import gzip
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from bestarm.guards.files import says_which_file
from bestarm_objectives.drug.boolean_network import BooleanNetwork, Edge

_Parsed = TypeVar("_Parsed")

OWN_STATE_CONDITION = 18  # the only condition that reads the gene itself


class _Activity(NamedTuple):
    """What a regulation condition sees: counts of active and of present regulators, and the gene's own state."""

    activators: int
    all_activators: int
    repressors: int
    all_repressors: int
    own: bool


def _holds(condition: int, seen: _Activity) -> bool:
    """Return the value of one of the twenty regulation conditions of Re:In (Yordanov and others).
    "All activators" needs at least one to be present; a gene without repressors is free of repression under 0-17. A
    gene with activators only is never on without an active one; one with repressors only is on without repression."""
    some_a, some_r = seen.activators > 0, seen.repressors > 0
    all_a = some_a and seen.activators == seen.all_activators
    all_r = some_r and seen.repressors == seen.all_repressors
    if condition == OWN_STATE_CONDITION:
        return seen.activators > seen.repressors or (seen.activators == seen.repressors and seen.own)
    if condition == 19:
        return seen.activators > seen.repressors
    value = (
        all_a and not some_r,
        some_a and not some_r,
        all_a and not all_r,
        (some_a and not some_r) or (all_a and not all_r),
        all_a,
        all_a or (some_a and not some_r),
        some_a and not all_r,
        all_a or (some_a and not all_r),
        some_a,
        not some_r,
        not some_r or (all_a and not all_r),
        not some_r or (some_a and not all_r),
        not all_r,
        not some_r or all_a,
        not some_r or all_a or (some_a and not all_r),
        not all_r or all_a,
        not some_r or some_a,
        not all_r or some_a,
    )[condition]
    if seen.all_activators and not seen.all_repressors:
        return value and some_a
    if seen.all_repressors and not seen.all_activators:
        return value or not some_r
    return value


def network_from_conditions(
    genes: Sequence[str], edges: Sequence[Edge], conditions: Mapping[str, int], perturbed: Iterable[str] = ()
) -> BooleanNetwork:
    """Build a network from signed edges and one regulation condition (0-19) for each gene (Yordanov and others).
    Raises ValueError if a condition has another number, or an edge names a gene that is not listed."""
    outside = sorted({name for edge in edges for name in edge[:2]} - set(genes))
    if outside:
        raise ValueError(f"edges name genes that are not listed: {', '.join(outside)}.")
    for gene in genes:
        if not 0 <= conditions[gene] <= 19:
            raise ValueError(f"regulation conditions are numbered 0 to 19, got {conditions[gene]} for {gene}.")
    functions = {gene: _regulated(gene, edges, conditions[gene]) for gene in genes}
    return BooleanNetwork.from_functions(genes, functions, edges=edges, perturbed=perturbed)


def _regulated(
    gene: str, edges: Sequence[Edge], condition: int
) -> tuple[list[str], Callable[[Mapping[str, bool]], bool]]:
    activators = sorted({edge.regulator for edge in edges if edge.gene == gene and edge.sign > 0})
    repressors = sorted({edge.regulator for edge in edges if edge.gene == gene and edge.sign < 0})
    read = {*activators, *repressors} | ({gene} if condition == OWN_STATE_CONDITION else set())

    def next_value(active: Mapping[str, bool]) -> bool:
        n_active, n_repressing = sum(active[a] for a in activators), sum(active[r] for r in repressors)
        seen = _Activity(n_active, len(activators), n_repressing, len(repressors), active.get(gene, False))
        return _holds(condition, seen)

    return sorted(read), next_value


@says_which_file
def read_model(path: Path) -> BooleanNetwork:
    """Read an inferred model, as `parse_model`; errors name the file."""
    return _named(path, parse_model)


@says_which_file
def read_observations(path: Path) -> "tuple[Observation, ...]":
    """Read perturbation experiments, as `parse_observations`; errors name the file."""
    return _named(path, parse_observations)


def _named(path: Path, parse: Callable[[str], _Parsed]) -> _Parsed:
    try:
        raw = path.read_bytes()
        return parse((gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig"))
    except (ValueError, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: {error}") from error


def parse_model(text: str) -> BooleanNetwork:
    """Parse an inferred Re:In model in the dialect of the authors' solver.
    Five ``directive`` lines; one line of genes ``NAME[perturbations]{module}(condition);``; then one tab-separated edge
    a line, ``regulator target positive|negative;``. A model before inference (ranges of conditions, ``optional`` edges)
    has no update functions: read its edges with `parse_edges`. Raises ValueError if there is no line of genes, or a
    gene has not exactly one regulation condition."""
    nodes = re.findall(r"([^\s;\[]+)\[([^\]]*)\](?:\{[^}]*\})?\(([^)]*)\)", text)
    if not nodes:
        raise ValueError("expected a line of genes 'NAME[perturbations]{module}(condition); ...', found none.")
    undecided = [f"{name}({condition})" for name, _, condition in nodes if not condition.isdecimal()]
    if undecided:
        raise ValueError(
            f"expected one regulation condition for each gene, found a choice for {len(undecided)} of them, "
            f"first {undecided[0]}. Is this the model before inference?"
        )
    return network_from_conditions(
        [name for name, _, _ in nodes],
        parse_edges(text),
        {name: int(condition) for name, _, condition in nodes},
        [name for name, marks, _ in nodes if "-" in marks or "+" in marks],
    )


def parse_edges(text: str) -> tuple[Edge, ...]:
    """Return the edges of a Re:In model, ``optional`` ones included, each once and in order."""
    found = re.findall(r"^([^\s;]+)\t([^\s;]+)\t(positive|negative)\b", text, flags=re.MULTILINE)
    return tuple(dict.fromkeys(Edge(a, b, 1 if sign == "positive" else -1) for a, b, sign in found))


class Observation(NamedTuple):
    """One perturbation experiment that constrains the inference (a row of Table 6 of the paper)."""

    description: str  # cell line, exposure time, dose and perturbed gene, as written in the file
    knocked_down: tuple[str, ...]  # genes held at 0
    # initial, final: from gene to {0, 1}: where the trajectory starts, and what its fixed point must show; others: free
    initial: dict[str, int]
    final: dict[str, int]


def parse_observations(text: str) -> tuple[Observation, ...]:
    """Parse the experiments of a Re:In observation file; conditions that no experiment uses are left out.
    Raises ValueError if an experiment refers to a condition that is not defined."""
    conditions = {
        name: {gene: int(value) for gene, value in re.findall(r"([^\s(){}]+|KO\([^)]+\)) = ([01])", body)}
        for name, body in re.findall(r"\$(\w+) :=\s*\{(.*?)\}", text, flags=re.DOTALL)
    }
    experiments = re.findall(r"^// (.*)\n((?:#.*\n)+)", text.replace("\r\n", "\n"), flags=re.MULTILINE)
    observations = []
    for description, lines in experiments:
        used = dict.fromkeys(re.findall(r"\|= \$(\w+)", lines))
        missing = [name for name in used if name not in conditions]
        if missing:
            raise ValueError(f"experiment {description!r} uses undefined conditions: {', '.join(missing)}.")
        merged: dict[str, dict[str, int]] = {}
        for name in used:
            merged.setdefault(name.rstrip("0123456789"), {}).update(conditions[name])
        knocked_down = tuple(gene[3:-1] for gene, held in merged.get("KnockDown", {}).items() if held)
        observations.append(Observation(description, knocked_down, merged.get("Initial", {}), merged.get("Final", {})))
    return tuple(observations)
