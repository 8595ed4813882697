"""Checks of gaps and complexity constants, and values that claims on them compare."""

from bestarm_studies.linear_topm.complexity_constants.printed_constants import CHECKS, VALUES

__all__ = ["CHECKS", "VALUES"]
