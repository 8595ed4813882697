"""Regret of five searches: Figure 4."""
