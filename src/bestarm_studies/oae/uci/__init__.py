"""Searches of UCI tables with their own responses."""
