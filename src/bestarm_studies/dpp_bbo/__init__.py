"""Batched Gaussian process bandit optimization via determinantal point processes (Kathuria, Deshpande, Kohli)."""
