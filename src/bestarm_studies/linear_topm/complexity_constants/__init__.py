"""Complexity constants: Tables 2, 4 and 5."""
