"""Ensembles and other objectives."""
