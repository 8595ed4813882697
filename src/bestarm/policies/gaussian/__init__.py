"""Batches by a Gaussian process among finitely many arms, and the rules that fill them."""
