"""Hardness of the instances, and the settings of the rivals."""
