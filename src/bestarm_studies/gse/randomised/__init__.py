"""Random instances: Figure 3, and what else varies."""
