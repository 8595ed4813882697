"""Logistic rewards: Figure 4."""
