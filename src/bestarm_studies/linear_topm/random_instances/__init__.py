"""Random instances: Figure 3."""
