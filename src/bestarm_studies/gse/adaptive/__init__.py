"""The adaptive instance: Figure 2."""
