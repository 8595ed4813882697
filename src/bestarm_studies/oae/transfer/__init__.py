"""Searches of groups of lines and of the official lines."""
