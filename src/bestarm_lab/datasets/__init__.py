"""Data sets: registered files, and readers of tables."""
