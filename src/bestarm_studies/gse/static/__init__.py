"""The static instance: Figure 1."""
