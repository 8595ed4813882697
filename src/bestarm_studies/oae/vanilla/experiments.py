"""Searches without networks beside those with them."""

from bestarm_studies.oae.vanilla.plain_baselines import PLAIN_BASELINES

EXPERIMENTS = PLAIN_BASELINES
