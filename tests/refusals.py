"""Tables of what is refused: calls, and the words of the one line that says why."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest


def refuses(call: Callable[[], Any], words: str, error: type[Exception] = ValueError) -> None:
    """Check that a call is refused in one line with these words, a pattern."""
    with pytest.raises(error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def refusing(*cases: Any, error: type[Exception] = ValueError, within: Callable[[str], str] = str) -> Any:
    """Make a test of a function that is refused in each case: its first arguments, and at the end words.

    Further arguments of the function are fixtures; ``within`` makes a pattern of the words.
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., None]:
        def test(case: Any, **fixtures: Any) -> None:
            *given, words = case
            refuses(lambda: function(*given, **fixtures), within(words), error)

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = ["case", *list(inspect.signature(function).parameters)[len(cases[0]) - 1 :]]
        test.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore
        test.__doc__ = function.__doc__
        return pytest.mark.parametrize("case", cases, ids=[str(case[-1]) for case in cases])(test)

    return decorated


def refused(call: Callable[..., Any], *cases: Any, **settings: Any) -> Callable[..., None]:
    """Return a test of each case: the arguments of the call, and at its end words."""
    return refusing(*cases, **settings)(call)


def each_refused(*cases: Any, error: type[Exception] = ValueError) -> Callable[..., None]:
    """Return the same for cases that are a call without arguments, and words."""
    return refused(lambda call: call(), *cases, error=error)


def raising(error: BaseException) -> Callable[..., Any]:
    """Return a function that raises whatever it is called with."""

    def raises(*_: Any, **__: Any) -> Any:
        raise error

    return raises
