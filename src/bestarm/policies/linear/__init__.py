"""Linear bandits: gap indices, elimination, posterior gaps, upper bounds, and optimism in closed form."""
