"""Searches of the three synthetic functions, their controls, and what the paper leaves open."""
