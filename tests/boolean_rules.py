"""Judges of gene networks: simplified rules as another way to write one, edges alone, and what constants determine."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bestarm.guards.files import says_which_file
from bestarm_objectives.drug.boolean_network import BooleanNetwork, Edge
from bestarm_objectives.drug.gene_table import UNKNOWN, StateArray
from bestarm_objectives.drug.rein_model import _named, parse_edges


def forced_values(network: BooleanNetwork, clamp: StateArray | None = None) -> StateArray:
    """Return the value that each gene has in every fixed point, as far as constants propagate.

    A gene whose function has one value, whatever its undetermined regulators do, is determined; repeat. Where fixed
    points may differ the result, shape (G,), is `UNKNOWN`.
    """
    forced = np.full(network.n_genes, UNKNOWN, dtype=np.int8) if clamp is None else clamp.astype(np.int8, copy=True)
    rows = np.arange(network.truth.shape[1])
    while True:
        before = forced.copy()
        for gene in np.flatnonzero(forced == UNKNOWN):
            possible = np.ones(len(rows), dtype=bool)
            for k, regulator in enumerate(network.regulators[gene]):
                known = 0 if regulator < 0 else forced[regulator]
                if known != UNKNOWN:
                    possible &= (rows >> k & 1) == known
            values = network.truth[gene, possible]
            if (values == values[0]).all():
                forced[gene] = values[0]
        if (forced == before).all():
            return forced


@says_which_file
def read_rules(path: Path) -> BooleanNetwork:
    """Read simplified rules, as `parse_rules`; errors name the file."""
    return _named(path, parse_rules)


@says_which_file
def read_edges(path: Path) -> tuple[Edge, ...]:
    """Read the edges of a model, inferred or not, as `parse_edges`; errors name the file."""
    return _named(path, parse_edges)


def parse_rules(text: str) -> BooleanNetwork:
    """Parse simplified rules ``GRF(GENE) <- expression`` with ``~``, ``&``, ``|``, brackets, True and False.

    The variables ``KO_GENE`` of knock-downs are taken as false: here a perturbed gene is clamped instead. Raises
    ValueError if a line is no rule.
    """
    functions = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if (rule := re.fullmatch(r"GRF\((\S+)\) <- (.+)", line.strip())) is None:
            raise ValueError(f"line {number}: expected 'GRF(GENE) <- expression', found {line!r}.")
        try:
            expression = ast.parse(rule[2], mode="eval").body
            names = sorted({n.id for n in ast.walk(expression) if isinstance(n, ast.Name)})
            _evaluate(expression, dict.fromkeys(names, False))
        except (SyntaxError, TypeError) as error:
            raise ValueError(f"line {number}: {rule[2]!r} is not made of names, ~, &, | and brackets.") from error
        functions[rule[1]] = (
            [name for name in names if not name.startswith("KO_")],
            lambda active, e=expression: _evaluate(e, active),
        )
    return BooleanNetwork.from_functions(list(functions), functions)


def _evaluate(expression: ast.expr, active: Mapping[str, bool]) -> bool:
    match expression:
        case ast.Constant(value=bool(value)):
            return value
        case ast.Name(id=name):
            return active.get(name, False)
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return not _evaluate(operand, active)
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
            return _evaluate(left, active) and _evaluate(right, active)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _evaluate(left, active) or _evaluate(right, active)
    raise TypeError(type(expression).__name__)
