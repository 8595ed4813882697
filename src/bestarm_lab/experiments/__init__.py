"""The loop, its random numbers and its store."""
