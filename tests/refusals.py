"""Tables of what is refused: calls, and the words of the one line that says why."""

import operator
from collections.abc import Callable
from typing import Any

import pytest


def refuses(call: Callable[[], Any], words: str, error: type[Exception] = ValueError) -> None:
    """Check that a call is refused in one line with these words, a pattern."""
    with pytest.raises(error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def refused(call: Callable[..., Any], *cases: Any, error: type[Exception] = ValueError) -> Callable[..., None]:
    """Return a test of each case: the arguments of the call, and at its end a pattern of the words of the refusal."""

    @pytest.mark.parametrize("case", cases, ids=[str(case[-1]) for case in cases])
    def test(case: Any) -> None:
        *given, words = case
        refuses(lambda: call(*given), words, error)

    return test


def each_refused(*cases: Any, error: type[Exception] = ValueError) -> Callable[..., None]:
    """Return the same for cases that are a call without arguments, and words."""
    return refused(operator.call, *cases, error=error)
