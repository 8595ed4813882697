"""The analysis: a module a statement."""
