"""Statements of the analysis that a computation decides: those of every module."""

from bestarm_studies.dpp_bbo.theory import confidence, entropy, information, lemmas, regret, sampling

MODULES = (confidence, entropy, information, lemmas, regret, sampling)
CHECKS = {name: check for module in MODULES for name, check in module.CHECKS.items()}
