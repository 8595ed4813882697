"""Optimistic optimisation of a continuous space by dividing it into cells."""
