"""Objectives that are no bandits: what stands behind the rewards of some instances, used by studies.

They import nothing of the library's policies and nothing of the studies.
"""
