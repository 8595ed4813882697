"""Greedy and MeanOpt against random batches and plain baselines."""
