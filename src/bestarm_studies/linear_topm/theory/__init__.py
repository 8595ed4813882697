"""Lemmas and theorems, on observed runs."""
