"""Which modules a result was computed by, and a hash of what they do.

The hash is taken over syntax trees without docstrings, so comments, formatting and docstrings cost nothing, while a
changed statement anywhere below a result makes its stored rows unusable. Guards (`bestarm.guards`) raise or warn and
change no number: where a module only decorates with them, or calls one in a statement of its own, they do not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import bestarm

SOURCE = Path(bestarm.__file__).parents[1]
PACKAGES = ("bestarm", "bestarm_studies")
GUARDS = "bestarm.guards"


def module_file(name: str) -> Path | None:
    """Return the file of a module of these packages, or None if there is no such module."""
    base = SOURCE.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def without_guards(source: str) -> ast.Module:
    """Return the syntax tree of a piece of Python without what only refuses.

    Left out are decorators whose name was imported from the guards, statements that only call such a name with names,
    attributes, items and constants, and then the imports of names that nothing uses any more. A guard whose value is
    used stays, and so does its import.
    """
    tree = ast.parse(source)
    guards = {
        alias.asname or alias.name
        for node in tree.body
        if _imports_guards(node)
        for alias in node.names  # type: ignore[attr-defined]
    }
    if not guards:
        return tree
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.decorator_list = [d for d in node.decorator_list if not _only_refuses(d, guards)]
        for part in ("body", "orelse", "finalbody"):
            if isinstance(statements := getattr(node, part, None), list):
                kept = [s for s in statements if not (isinstance(s, ast.Expr) and _is_call(s.value, guards))]
                setattr(node, part, kept)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in tree.body:
        if _imports_guards(node):
            node.names = [a for a in node.names if (a.asname or a.name) in used]  # type: ignore[attr-defined]
    tree.body = [node for node in tree.body if not _imports_guards(node) or node.names]  # type: ignore[attr-defined]
    return tree


def _imports_guards(node: ast.stmt) -> bool:
    """Return whether a statement is ``from bestarm.guards... import ...``."""
    return isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{GUARDS}.")


def _only_refuses(node: ast.expr, guards: set[str]) -> bool:
    return (isinstance(node, ast.Name) and node.id in guards) or _is_call(node, guards)


def _is_call(node: ast.expr, guards: set[str]) -> bool:
    """Return whether an expression is the call of a guard whose arguments do nothing themselves."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in guards):
        return False
    plain = (ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Constant, ast.Tuple, ast.UnaryOp)
    inside = (part for a in [*node.args, *(k.value for k in node.keywords)] for part in ast.walk(a))
    return all(isinstance(part, (*plain, ast.expr_context, ast.unaryop)) for part in inside)


def imported_modules(source: str) -> set[str]:
    """Return the modules of these packages that a piece of Python imports, at any depth of its syntax tree.

    Guards that only refuse are left out, see `without_guards`.
    """
    found: set[str] = set()
    for node in ast.walk(without_guards(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] in PACKAGES and module_file(name)}


@cache
def _imports_of(name: str) -> frozenset[str]:
    path = module_file(name)
    return frozenset(imported_modules(path.read_text(encoding="utf-8"))) if path else frozenset()


def reached_modules(names: Iterable[str]) -> list[str]:
    """Return these modules and every module of these packages that they import, directly or not, sorted."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _imports_of(name)
    return sorted(reached)


def _dump(node: object) -> object:
    """Return a syntax tree as nested lists; empty fields are left out, since Python versions differ in those."""
    if isinstance(node, ast.AST):
        fields = [[name, _dump(value)] for name, value in ast.iter_fields(node) if value is not None and value != []]
        return [type(node).__name__, fields]
    if isinstance(node, list):
        return [_dump(item) for item in node]
    return repr(node)


def _own(name: str | None) -> Path | None:
    """Return the file of an imported module, or None if it is not of these packages."""
    return module_file(name) if name and name.split(".")[0] in PACKAGES else None


def _forget_names(node: ast.ImportFrom) -> None:
    """Put digests in the place of the names of imported modules; what the importing module calls them stays."""
    for alias in node.names:
        if path := _own(f"{node.module}.{alias.name}"):  # the module itself, not something in it
            alias.asname = alias.asname or alias.name
            alias.name = syntax_digest(path.read_text(encoding="utf-8"))
    if path := _own(node.module):
        node.module = syntax_digest(path.read_text(encoding="utf-8"))


@cache
def syntax_digest(source: str) -> str:
    """Return a hash of the syntax tree of a piece of Python, without docstrings, comments and formatting.

    A module of these packages that is imported stands there with what it does, not with its name, and the order of
    imports, which depends on names, does not count. Guards that only refuse are left out.
    """
    tree = without_guards(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            _forget_names(node)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                    node.body = rest
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    tree.body = [*sorted(imports, key=lambda node: repr(_dump(node))), *(n for n in tree.body if n not in imports)]
    return hashlib.sha256(repr(_dump(tree)).encode()).hexdigest()


def code_hash(names: Iterable[str]) -> str:
    """Return one hash for these modules and everything of these packages that they reach.

    Only what modules do is hashed, not what they are called: renaming or moving one makes no rows stale.
    """
    files = [module_file(name) for name in reached_modules(names)]
    digests = sorted(syntax_digest(path.read_text(encoding="utf-8")) for path in files if path is not None)
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
