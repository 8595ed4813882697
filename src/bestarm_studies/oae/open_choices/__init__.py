"""Choices that the paper leaves open, one at a time and all drawn together."""
