"""Models: estimates, posteriors and networks, learned from observations."""
