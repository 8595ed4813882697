"""Searches for the oldest snail."""
