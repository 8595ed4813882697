"""Bounds of UCB and EST, relevance regions, and batches whose rewards are not known."""
