"""A screen of cell lines as a bandit."""
