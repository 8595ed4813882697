"""Names at the top of modules: the statements that bind them, and what imports lead to.

Followed are these packages, those of studies, and whatever else is no installed package: a policy in a file of one's
own is as good a part of a key as one of the library. Of installed packages names count; provenance has the versions.
"""

import ast
import importlib
import importlib.util
import sys
import sysconfig
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import bestarm
from bestarm.plugins import entry_points

SOURCE = Path(bestarm.__file__).parents[1]
PACKAGES = ("bestarm", "bestarm_lab", "bestarm_objectives", "bestarm_studies")

# Where files lie, and whether they are whole: what is in them is named in a key by its checksum.
PLACES = ("bestarm_lab.paths", "bestarm_lab.datasets.registry", "bestarm_lab.experiments.store")

WHOLE = "*"  # in place of a name: the whole module
LOOSE = ""  # in place of a name: statements at the top of a module that define nothing
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LIBRARIES = tuple({Path(p).resolve() for name, p in sysconfig.get_paths().items() if name.endswith("lib")})
_parse = cache(ast.parse)  # nobody changes a tree, and `forget` need not read again what stayed as it was
_SITES = {"site-packages", "dist-packages"}  # also of a user, or of another environment on the path


class Definition(NamedTuple):
    """A name at the top of a module; `WHOLE` and `LOOSE` stand for the module, and for its other statements."""

    module: str
    name: str


@dataclass
class Names:
    """The top of a module: statements by the names that they bind, and what its imports bind."""

    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)  # name → module, name in it or None
    stars: list[str] = field(default_factory=list)


@cache
def source_file(name: str) -> Path | None:
    """Return the file of a module whose definitions are followed, or None of an installed or unknown one."""
    if name in PLACES:
        return None
    if name.split(".")[0] in PACKAGES:
        base = SOURCE.joinpath(*name.split("."))
        return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)
    loaded = sys.modules.get(name)
    found = getattr(loaded, "__file__", None)
    if loaded is None:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            return None
        found = spec.origin if spec is not None and spec.has_location else None
    if found is None or not found.endswith(".py"):
        return None
    path = Path(found).resolve()  # it may be Python's, or a package's that this or another environment has installed
    installed = bool(_SITES & set(path.parts)) or any(path.is_relative_to(folder) for folder in _LIBRARIES)
    return None if installed and name.split(".")[0] not in _of_studies() else path


@cache
def _of_studies() -> frozenset[str]:
    """Return the packages of studies, which are followed even where they were installed."""
    return frozenset(entry.value.split(".")[0] for entry in entry_points("bestarm.studies").values())


@cache
def names_of(name: str) -> Names:
    """Return the names at the top of a module, none of one that is not followed."""
    path = source_file(name)
    found = Names()
    if path is None:
        return found
    tree = _parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            origin = _absolute(node, name, path)
            for alias in node.names:
                if alias.name == "*":
                    found.stars.append(origin)
                    continue
                inner = f"{origin}.{alias.name}"
                whole = source_file(inner) is not None
                found.imports[alias.asname or alias.name] = (inner, None) if whole else (origin, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.split(".")[0]
                found.imports[bound] = (alias.name if alias.asname else bound, None)
    for statement in tree.body:
        for bound in _bound_at_top(statement):
            found.statements.setdefault(bound, []).append(statement)
    return found


def _absolute(node: ast.ImportFrom, name: str, path: Path) -> str:
    if not node.level:
        return node.module or ""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *filter(None, [node.module])])


def _bound_at_top(statement: ast.stmt) -> list[str]:
    """Return the names that a statement at the top of a module defines or changes, `LOOSE` if there are none."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return []
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [statement.name]
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return []
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return []
    found = [node.name for node in ast.walk(statement) if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
    for node in ast.walk(statement):
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                found.append(node.id)
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                found += _base(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                found += _base(method) or [LOOSE]
            case ast.Expr(value=ast.Call()):
                found.append(LOOSE)
    return list(dict.fromkeys(found)) or [LOOSE]


def _base(node: ast.expr) -> list[str]:
    """Return the name at the beginning of ``name.attribute[item]``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return [node.id] if isinstance(node, ast.Name) else []


def locate(module: str, name: str, seen: frozenset[tuple[str, str]] = frozenset()) -> Definition | str:
    """Return the definition behind a name of a module, through imports, or a text for one that is not followed.

    Modules that hand a name to one another in a circle (``seen``) define it nowhere, and count whole.
    """
    if source_file(module) is None:
        return f"{module}.{name}"
    if (module, name) in seen:
        return Definition(module, WHOLE)
    seen |= {(module, name)}
    if name in (WHOLE, LOOSE) or name in names_of(module).statements:
        return Definition(module, name)
    if name in names_of(module).imports:
        origin, inner = names_of(module).imports[name]
        return locate(origin, inner or WHOLE, seen)
    for origin in names_of(module).stars:
        found = locate(origin, name, seen)
        if isinstance(found, Definition) and found.name in names_of(found.module).statements:
            return found
    made = getattr(sys.modules.get(module) or importlib.import_module(module), name, None)  # by a `__getattr__`
    if isinstance(made, ModuleType):
        return locate(made.__name__, WHOLE, seen)
    owner, own_name = getattr(made, "__module__", None), getattr(made, "__name__", None)
    if owner and own_name and owner != module:
        return locate(owner, own_name, seen)
    return Definition(module, WHOLE)
