"""Sample complexities on three instances: Figure 1."""
