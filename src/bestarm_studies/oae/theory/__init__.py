"""Theorems and lemmas, each in its module, on exact linear searches."""
