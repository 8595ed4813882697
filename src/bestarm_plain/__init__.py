"""Algorithms in a page."""
