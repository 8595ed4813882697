"""Batches that are diverse by a determinant."""
