"""Presets: policies that are their base class with other defaults and fixed parts, their signatures and their help.

The meaning of a setting stands once, on the class that has it; the help of a public constructor gathers it from there.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from types import FunctionType
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type[Any])


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def preset(cls: Class) -> Class:
    """Make a class a preset: its base with other defaults; ``field(init=False, default=...)`` fixes a part.

    Since it has nothing of its own, a policy made by it does what one of its base with the same values does. Raises
    TypeError for a class with a method, with a field that the base has not, or with two bases."""
    known = {f.name for f in fields(cls.__bases__[0])}
    others = [name for name, value in vars(cls).items() if not name.startswith("__") or type(value) is FunctionType]
    own = {*others, *inspect.get_annotations(cls)} - known - {"__annotate__", "__annotate_func__"}
    if own or len(cls.__bases__) > 1:
        raise TypeError(
            f"{cls.__name__} is no preset of {cls.__bases__[0].__name__}: it adds "
            f"{', '.join(sorted(own)) or 'a base'}; give fields of the base other defaults only."
        )
    dataclass(frozen=True, kw_only=True)(cls)
    cls._is_preset = True
    return cls


def plain_class(cls: type[Any]) -> type[Any]:
    """Return the class whose methods a record has: the base of a preset, else the class itself."""
    while "_is_preset" in vars(cls):
        cls = cls.__bases__[0]
    return cls


def signature_of(made: Callable[..., Any]) -> inspect.Signature:
    """Return the settings of a function as they are; of a class the required ones, then the others by name."""
    if not isinstance(made, type):
        return inspect.signature(made)
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    required, named = [], []
    for f in fields(made):
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if f.init and default is MISSING:
            required.append(inspect.Parameter(f.name, kinds[0], annotation=f.type))
        elif f.init:
            named.append(inspect.Parameter(f.name, kinds[1], default=default, annotation=f.type))
    named.sort(key=lambda parameter: parameter.name == "label")  # a name comes last
    return inspect.Signature([*required, *named])


def help_of(made: Callable[..., Any]) -> str:
    """Return the help of a constructor: its own text, and every setting with its default and its meaning.

    A setting is looked up in the text itself, in those of the bases, and in those of the classes that they name as
    ``As of `Base` `` or ``as of `Part` and `Whole` ``.
    """
    own = inspect.cleandoc(made.__doc__ or "")
    known = [entry for text in _texts(made) for entry in _entries(text)]
    lines = [own.partition("\nParameters\n---")[0].rstrip(), "", "Parameters", "----------"]
    for name, parameter in signature_of(made).parameters.items():
        found = ((kind, meaning) for names, kind, meaning in known if name in names)
        kind, meaning = next(found, ("", []))  # `python -OO` has no texts
        if parameter.default is not inspect.Parameter.empty:
            kind = f"{kind.removesuffix(', optional')}, default {parameter.default!r}"
        lines += [f"{name} : {kind}", *meaning]
    return "\n".join(lines)


def _texts(made: Any) -> Iterator[str]:
    """Yield the text of a function or class, of its bases, and of the classes that each says to be like."""
    for one in made.__mro__[:-1] if isinstance(made, type) else [made]:
        text = inspect.cleandoc(one.__doc__ or "")
        yield text
        for said in re.findall(r"\b[Aa]s of ((?:`\w+`(?:, | and )?)+)", text):
            for name in re.findall(r"\w+(?=`)", said):
                yield from _texts(getattr(inspect.getmodule(one), name))


def _entries(text: str) -> Iterator[tuple[list[str], str, list[str]]]:
    """Yield names, kind and lines of meaning of each entry of the section on parameters or attributes."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^[A-Z]\w+\n-{3,}$|\Z)", text, re.MULTILINE | re.DOTALL)
    for entry in re.split(r"\n(?=\S)", section[1].rstrip()) if section else []:
        head, *meaning = entry.splitlines()
        names, colon, kind = head.partition(" : ")
        if colon:
            yield names.split(", "), kind, [line for line in meaning if line]
