"""Gaussian process bandits with aggregated feedback (Zhang, Tsuchida, Ong, AAAI 2022)."""
