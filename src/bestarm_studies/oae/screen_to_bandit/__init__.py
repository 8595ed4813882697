"""From a screen of cell lines to a bandit."""
