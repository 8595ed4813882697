"""Larger, misspecified and real problems."""
