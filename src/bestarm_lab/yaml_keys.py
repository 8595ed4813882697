"""Keys of a study's YAML files, each read by its name; what is misspelt, missing or doubled is refused in one line."""

import io
from collections.abc import Callable, Iterable, Mapping
from difflib import SequenceMatcher, get_close_matches
from typing import Any

import yaml

REQUIRED: Any = object()
_SLIP = 0.8  # likeness from which a key that nobody knows is taken for the missing one


def nearest(word: object, known: Iterable[object]) -> str:
    """Return the known word that is most like another, in words; all of them where none is like it."""
    words = list(dict.fromkeys(map(str, known)))
    close = get_close_matches(str(word), words, 1, 0.5)
    return f"the nearest right word is {close[0]!r}" if close else f"there are: {', '.join(words) or 'none'}"


def refuse_unknown(place: str, what: str, words: Iterable[object], known: Iterable[object]) -> None:
    """Refuse the first word that is not known, with the place and the nearest right one."""
    known = list(known)
    for word in words:
        if word not in known:
            raise ValueError(f"{place}: unknown {what} {word!r}; {nearest(word, known)}.")


def refuse_twice(place: str, what: str, found: Iterable[str], known: Iterable[str]) -> None:
    """Refuse words that are known already, with the place."""
    if both := sorted(set(found) & set(known)):
        raise ValueError(f"{place}: {what} {', '.join(both)} is defined already; take another name.")


class YamlKeys:
    """The keys of one mapping; a key that is asked for is known, and `done` refuses all others.

    ``place`` is the file and the name of what the mapping describes, for messages; ``also`` are words that may stand
    here for somebody else: a slip is compared with them, too.
    """

    def __init__(self, place: str, mapping: object, also: Iterable[str] = ()) -> None:
        if not isinstance(mapping, Mapping):
            raise ValueError(f"{place}: expected keys with values, got {mapping!r}.")
        self.place = place
        self._unread: dict[str, Any] = dict(mapping)
        self._known: list[str] = []
        self._also = list(also)

    def __contains__(self, key: str) -> bool:
        self._known.append(key)
        return key in self._unread

    def take(self, key: str, kind: Callable[[str, Any], Any] | type | None = None, default: Any = REQUIRED) -> Any:
        """Return a key's value, or else the default: of a type (``kind``), or made by a function of (place, value)."""
        if key not in self:
            if default is REQUIRED:
                self._missing([key])
            return default
        value = self._unread.pop(key)
        place = f"{self.place}, {key}"
        if isinstance(kind, type):
            return of_type(place, value, kind)
        return value if kind is None else kind(place, value)

    def one_of(self, *keys: str) -> str:
        """Return the one of these keys that is given; none or several are refused."""
        there = [key for key in keys if key in self]
        if len(there) > 1:
            raise ValueError(f"{self.place}: {' and '.join(there)} exclude one another; leave one of them.")
        if not there:
            self._missing(keys)
        return there[0]

    def taken(self, keys: Iterable[str]) -> dict[str, Any]:
        """Return those of some keys that are given, unread."""
        return {key: self._unread.pop(key) for key in keys if key in self}

    def done(self) -> None:
        """Refuse what nobody asked for."""
        for key in self._unread:
            if key not in self._known:
                refuse_unknown(self.place, "key", [key], [word for word in self._words() if word != key])

    def _words(self) -> list[str]:
        return list(dict.fromkeys([*self._known, *self._also]))

    def refuse_slip(self, *words: str) -> None:
        """Refuse the key that nobody knows and that is most like one of some words, with both."""
        unknown = [key for key in self._unread if key not in self._words()]
        slips = [(SequenceMatcher(None, str(key), word).ratio(), key, word) for key in unknown for word in words]
        likeness, key, word = max(slips, key=lambda slip: slip[0], default=(0.0, "", ""))
        if likeness >= _SLIP:
            raise ValueError(f"{self.place}: unknown key {key!r}; the nearest right word is {word!r}.")

    def _missing(self, keys: Iterable[str]) -> None:
        self.refuse_slip(*self._words())
        there = ", ".join(self._unread) or "no keys"
        raise ValueError(f"{self.place}: no {' or '.join(keys)}; there are: {there}.")


def of_type(place: str, value: Any, kind: type) -> Any:
    """Return a value that must be of a type; a whole number is a number, and a truth value is none."""
    right = isinstance(value, int | float if kind is float else kind)
    if not right or (isinstance(value, bool) and kind is not bool):
        names = {str: "a text", float: "a number", int: "a whole number", bool: "true or false", list: "a list"}
        raise ValueError(f"{place}: expected {names.get(kind, 'keys with values')}, got {value!r}.")
    return value


def choice(*words: str) -> Callable[[str, Any], Any]:
    """Return what accepts one of some words."""

    def check(place: str, value: Any) -> Any:
        refuse_unknown(place, "word", [value], words)
        return value

    return check


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader that refuses a key which is given twice, where YAML would keep the last; libyaml's where it is."""


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in found:
            line = key_node.start_mark.line + 1
            raise ValueError(f"{node.start_mark.name}, line {line}: {key!r} is given twice; leave one of them.")
        found[key] = loader.construct_object(value_node, deep=True)
    return found


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_yaml(text: str, file: str) -> Any:
    """Return what a YAML text says; ``file`` names it in messages."""
    stream = io.StringIO(text)
    stream.name = file
    try:
        return yaml.load(stream, _Loader)
    except yaml.YAMLError as error:
        raise ValueError(f"{file}: {' '.join(str(error).split())}.") from error
