"""Notebooks: their execution, their sections, and the pages made of them."""

import sys

# two seconds of grammars, which jsonschema would read for a format that no notebook has (so the Makefile's `-p`)
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
