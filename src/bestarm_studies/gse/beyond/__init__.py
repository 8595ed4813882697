"""Designs, stages, times and clusters beyond the figures."""
