"""Designs: solvers and roundings."""
