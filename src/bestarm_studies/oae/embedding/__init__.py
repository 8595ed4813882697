"""Fits to groups and lines: the share that other contexts tell of them."""
