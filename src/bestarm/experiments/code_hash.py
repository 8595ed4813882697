"""Which modules a result was computed by, and a hash of what they do.

The hash is taken over syntax trees without docstrings, so comments, formatting and docstrings cost nothing, while a
changed statement anywhere below a result makes its stored rows unusable.
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


def module_file(name: str) -> Path | None:
    """Return the file of a module of these packages, or None if there is no such module."""
    base = SOURCE.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def imported_modules(source: str) -> set[str]:
    """Return the modules of these packages that a piece of Python imports, at any depth of its syntax tree."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
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
    imports, which depends on names, does not count.
    """
    tree = ast.parse(source)
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
