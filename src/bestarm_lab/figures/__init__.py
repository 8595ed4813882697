"""Figures, their numbers and their styles."""
