"""Statements of the analysis that a computation decides: those of every module."""

from bestarm_studies.dpp_bbo.theory import (
    chain_rule,
    confidence,
    entropy,
    information,
    lemmas,
    regret,
    sampling,
    two_stage,
)

MODULES = (chain_rule, confidence, entropy, information, lemmas, regret, sampling, two_stage)
CHECKS = {name: check for module in MODULES for name, check in module.CHECKS.items()}
