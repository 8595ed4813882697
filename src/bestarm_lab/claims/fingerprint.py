"""A paper's sentence by its fingerprint, so that a claim can say which one it is of without copying it.

A fingerprint is a hash of the sentence's words with their number: capitals, punctuation and line breaks do not matter.
"""

import re
import unicodedata
from hashlib import sha256
from typing import Any

_FORM = re.compile(r"s([0-9a-f]{10})-([0-9]+)")


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text in small letters."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).lower())


def fingerprint(sentence: str) -> str:
    """Return the fingerprint of a sentence, such as ``s0f3a9c21de-17``: its hash and its number of words."""
    words = words_of(sentence)
    return f"s{_hash(' '.join(words))}-{len(words)}"


def read_fingerprint(place: str, raw: Any) -> str:
    """Return a fingerprint as a ledger has it; a ValueError has the call that makes one."""
    if not isinstance(raw, str) or _FORM.fullmatch(raw) is None:
        raise ValueError(
            f"{place}: expected a fingerprint such as s0f3a9c21de-17, got {raw!r}; "
            "bestarm_lab.claims.fingerprint.fingerprint(sentence) makes it."
        )
    return raw


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:10]
