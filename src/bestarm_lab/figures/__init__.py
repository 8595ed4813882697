"""Figures, their numbers and their looks."""
