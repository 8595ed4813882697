"""Optimistic arm elimination with networks and with ensembles of them."""
