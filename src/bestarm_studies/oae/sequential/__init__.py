"""Batches chosen arm by arm."""
