"""Refusals of bad input. What stands here raises or warns and changes no number, so it is no part of a key of rows.

`bestarm_lab.experiments.code_hash` forgets decorators from here and statements that only call a function from here.
"""
