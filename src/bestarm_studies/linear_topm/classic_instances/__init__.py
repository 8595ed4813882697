"""Classic instances: Figure 2."""
