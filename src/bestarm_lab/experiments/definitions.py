"""Definitions that a computation reaches, and a digest of what they do.

A definition is a function, a class or a constant at the top of a module. From the functions, classes and records that
an experiment names, the names in their syntax trees lead to all others that may run. So a key of rows changes with
whatever can change the rows, while what is added beside them, moved, or split into other modules changes no key.

What the trees cannot show is taken in whole: every method of a class that is reached, since the loop calls policies
and problems by protocol; a module that is handed on as an object; statements at the top of a module that are no
definition. What makes no number is left out: docstrings, comments, annotations, and statements that only refuse.
"""

import ast
import builtins
import hashlib
import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any

from bestarm.presets import plain_class
from bestarm_lab.experiments.names import FUNCTIONS, LOOSE, WHOLE, Definition, locate, names_of, source_file

_DEPTH = 6  # two definitions are the same if they, and what they call up to this depth, are spelled alike

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def forget() -> None:
    """Read all files again at the next call: for tests that change them."""
    for kept in (source_file, names_of, _spelled, _digest, only_refuses, _reached, _code_digest):
        kept.cache_clear()


class _Speller:
    """A syntax tree as nested lists, without what makes no number; names of definitions are gathered."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.names: list[Definition] = []

    def spell(self, node: Any, local: frozenset[str] = frozenset()) -> Any:
        """Return a node as nested lists; ``local`` are the names that functions around it bind."""
        if isinstance(node, list):
            return [self.spell(part, local) for part in node if not self._says_nothing(part, local)]
        if not isinstance(node, ast.AST):
            return repr(node)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._name(node, local)
        if isinstance(node, (*FUNCTIONS, ast.Lambda)):
            return self._function(node, local)
        if isinstance(node, ast.ClassDef):
            return self._class(node, local)
        if isinstance(node, _COMPREHENSIONS):
            first, *others = node.generators
            inside = local | _stored([g.target for g in node.generators])
            rest = {k: v for k, v in ast.iter_fields(node) if k != "generators"}
            parts = [self.spell(first.iter, local), self.spell([first.target, first.ifs, others], inside)]
            return [type(node).__name__, parts, [self.spell(part, inside) for part in rest.values()]]
        if isinstance(node, ast.AnnAssign):
            special = [n for n in ("ClassVar", "InitVar") if n in ast.unparse(node.annotation)]
            if special or node.value is None:
                return ["Field", special, self.spell(node.target, local), self.spell(node.value, local)]
            node = ast.Assign(targets=[node.target], value=node.value)
        return [type(node).__name__, [[k, self.spell(v, local)] for k, v in ast.iter_fields(node) if _counts(k, v)]]

    def _function(self, node: Any, local: frozenset[str]) -> Any:
        header = [[a.arg for a in part] for part in (node.args.posonlyargs, node.args.args, node.args.kwonlyargs)]
        stars = [a.arg if a else None for a in (node.args.vararg, node.args.kwarg)]
        inside = local | {name for part in (*header, stars) for name in part if name}
        body = node.body
        if isinstance(body, list):
            shared = {n for s in body for each in ast.walk(s) if isinstance(each, ast.Global) for n in each.names}
            inside = (inside | _stored(body)) - shared
            body = _without_docstring(body)
        defaults = self.spell([node.args.defaults, [d for d in node.args.kw_defaults if d]], local)
        decorators = self.spell(getattr(node, "decorator_list", []), local)
        name = getattr(node, "name", "")
        return [type(node).__name__, name, repr([header, stars]), defaults, decorators, self.spell(body, inside)]

    def _class(self, node: ast.ClassDef, local: frozenset[str]) -> Any:
        frozen = any("frozen=True" in ast.unparse(d) for d in node.decorator_list)
        inside = local | _stored(node.body)
        body = []
        for part in _without_docstring(node.body):
            if isinstance(part, FUNCTIONS) and part.name == "__post_init__" and frozen:
                kept = [s for s in _without_docstring(part.body) if not _refuses(s)]
                if not any("__setattr__" in ast.unparse(s) for s in kept):
                    kept = [s for s in kept if "super()" in ast.unparse(s)]  # a frozen record cannot change otherwise
                if not kept:
                    continue
                part = ast.copy_location(ast.FunctionDef(**{**dict(ast.iter_fields(part)), "body": kept}), part)
            # a method does not see the names of the class around it
            body.append(self.spell(part, local if isinstance(part, FUNCTIONS) else inside))
        return ["ClassDef", node.name, self.spell([node.decorator_list, node.bases, node.keywords], local), body]

    def _name(self, node: ast.Name | ast.Attribute, local: frozenset[str]) -> Any:
        path, base = [], node
        while isinstance(base, ast.Attribute):
            path.append(base.attr)
            base = base.value  # type: ignore[assignment]
        path.reverse()
        if not isinstance(base, ast.Name):
            assert isinstance(node, ast.Attribute)
            return ["Attribute", node.attr, type(node.ctx).__name__, self.spell(node.value, local)]
        found = None if base.id in local else self._behind(base.id)
        if found is None:
            return ["Name", type(node.ctx).__name__, ".".join([base.id, *path])]
        while path and isinstance(found, Definition) and found.name == WHOLE:
            inner = f"{found.module}.{path[0]}"
            found = Definition(inner, WHOLE) if source_file(inner) else locate(found.module, path[0])
            del path[0]
        if isinstance(found, str):
            return ["Name", type(node.ctx).__name__, ".".join([found.removesuffix(f".{WHOLE}"), *path])]
        self.names.append(found)
        return ["Definition", type(node.ctx).__name__, len(self.names) - 1, path]

    def _behind(self, name: str) -> Definition | str | None:
        """Return what a name that no function binds stands for, None of a built-in one."""
        here = names_of(self.module)
        if name in here.statements or name in here.imports:
            return locate(self.module, name)
        if hasattr(builtins, name) or name.startswith("__"):
            return None
        return locate(self.module, name) if here.stars else None

    def _says_nothing(self, node: Any, local: frozenset[str]) -> bool:
        """Return whether a statement makes no number: one that imports or declares names, or that only refuses."""
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal | ast.Pass):
            return True
        return isinstance(node, ast.Expr) and self._only_refuses(node.value, local)

    def _only_refuses(self, node: ast.expr, local: frozenset[str]) -> bool:
        """Return whether an expression is the call of a function that only raises, with arguments that do nothing."""
        if not isinstance(node, ast.Call):
            return False
        names = _Speller(self.module)
        spelled = names.spell(node.func, local)
        if spelled[0] != "Definition" or spelled[3] or not only_refuses(names.names[0]):
            return False
        plain = (ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Constant, ast.Tuple, ast.UnaryOp, ast.JoinedStr)
        inside = [part for a in [*node.args, *(k.value for k in node.keywords)] for part in ast.walk(a)]
        return all(isinstance(p, (*plain, ast.FormattedValue, ast.expr_context, ast.unaryop)) for p in inside)


def _counts(name: str, value: Any) -> bool:
    """Return whether a field of a node counts; empty ones do not, since Python versions differ in those."""
    return value is not None and value != [] and name not in ("ctx", "type_comment", "kind", "returns", "annotation")


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def _refuses(statement: ast.stmt) -> bool:
    """Return whether a statement is ``if ...: raise ...``, or a call whose result nothing uses, of no ``super()``."""
    match statement:
        case ast.If():
            return all(isinstance(s, ast.Raise) or _refuses(s) for s in [*statement.body, *statement.orelse])
        case ast.Assert():
            return True
        case ast.Expr():
            text = ast.unparse(statement)
            return "__setattr__" not in text and "super()" not in text
    return False


@cache
def only_refuses(definition: Definition) -> bool:
    """Return whether a function raises or returns nothing, and stores nothing but variables of its own."""
    statements = names_of(definition.module).statements.get(definition.name, [])
    if len(statements) != 1 or not isinstance(statements[0], ast.FunctionDef) or statements[0].decorator_list:
        return False
    raises = False
    for node in ast.walk(statements[0]):
        match node:
            case ast.Raise():
                raises = True
            case ast.Return(value=value) if value is not None:
                return False
            case ast.Global() | ast.Nonlocal() | ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Delete():
                return False
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                return False
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
                inner = locate(definition.module, name)
                if not (isinstance(inner, Definition) and (inner == definition or only_refuses(inner))):
                    return False
                raises = True
            case ast.Expr(value=ast.Call()):
                return False
    return raises


def _stored(nodes: Any) -> frozenset[str]:
    """Return the names that statements bind in their own scope; imports are found by their names."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, _COMPREHENSIONS):
            found |= {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(node.id)
        if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
        if isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        waiting += ast.iter_child_nodes(node)
    return frozenset(found)


@cache
def _spelled(definition: Definition) -> tuple[str, tuple[Definition, ...]]:
    """Return a definition as text, with a gap in place of each definition that it names, and these definitions."""
    module, name = definition
    known = names_of(module).statements
    if name == WHOLE:
        return "module", tuple(Definition(module, inner) for inner in known)
    speller = _Speller(module)
    text = repr(speller.spell([*known.get(name, [])]))
    loose = (Definition(module, LOOSE),) if name != LOOSE and LOOSE in known else ()
    return text, (*speller.names, *loose)


@cache
def _digest(definition: Definition, depth: int) -> str:
    """Return a hash of a definition with the digests of what it names, up to a depth, in place of their names."""
    text, names = _spelled(definition)
    inner = [d.name if depth == 0 else _digest(d, depth - 1) for d in names]
    if depth > 0 and definition.name == WHOLE:
        inner.sort()
    return hashlib.sha256("\n".join([text, *inner]).encode()).hexdigest()


@cache
def _reached(roots: frozenset[Definition]) -> frozenset[Definition]:
    found: set[Definition] = set()
    waiting = list(roots)
    while waiting:
        definition = waiting.pop()
        if definition not in found:
            found.add(definition)
            waiting += _spelled(definition)[1]
    return frozenset(found)


def reached(*values: Any) -> frozenset[Definition]:
    """Return all definitions that functions, classes and records may run: their own, and what their names lead to."""
    return _reached(frozenset(roots_of(values)))


@cache
def _code_digest(roots: frozenset[Definition]) -> str:
    return hashlib.sha256("\n".join(sorted({_digest(d, _DEPTH) for d in _reached(roots)})).encode()).hexdigest()


def code_digest(*values: Any) -> str:
    """Return one hash of all that functions, classes and records may run; a ValueError names one that no file holds."""
    return _code_digest(frozenset(roots_of(values)))


def roots_of(value: Any) -> set[Definition]:
    """Return the definitions of every function, class and record in some settings; installed packages have none.

    A record made by a preset is one of its base: it has no method of its own, and `describe` tells all its values.
    """
    if isinstance(value, partial):
        return roots_of([value.func, value.args, value.keywords])
    if isinstance(value, Mapping):
        return roots_of(value.values())
    if is_dataclass(value) and not isinstance(value, type):
        return _root(plain_class(type(value))) | roots_of(getattr(value, f.name) for f in fields(value))
    if callable(value):
        return _root(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes) and not hasattr(value, "dtype"):
        return set().union(*(roots_of(v) for v in value))
    return set()


def _root(value: Any) -> set[Definition]:
    """Return the definition of a function or class; none of an installed package."""
    value = getattr(value, "py_func", value)  # compiled by Numba
    value = value if hasattr(value, "__qualname__") else type(value)
    module, name = value.__module__, value.__qualname__.split(".")[0]
    if module == "builtins":
        return set()
    if source_file(module) is None:
        if module not in ("__main__",) and importlib.util.find_spec(module) is not None:
            return set()
        raise ValueError(
            f"{name} is defined at a prompt or in a notebook, so that its rows could not be told from those of another "
            f"{name}: put it into a file, and import it from there."
        )
    return {Definition(module, name if name in names_of(module).statements else WHOLE)}
