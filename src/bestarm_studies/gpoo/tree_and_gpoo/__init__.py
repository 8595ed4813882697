"""Algorithm 1 and its trees: Figures 1 to 3."""
