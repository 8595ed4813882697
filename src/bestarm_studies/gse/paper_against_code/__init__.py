"""Paper against code: one difference at a time."""
