"""Notebooks: their execution, their sections, and the pages made of them."""

import sys

# two seconds of grammars, which nbformat's jsonschema would read for a format that no notebook has
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
