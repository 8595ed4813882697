"""Searches of Abalone in batches of five and ten."""

from functools import partial

from bestarm_lab.experiments.scale import Scale
from bestarm_studies.dpp_bbo.abalone.snails import abalone_instance, stand_in_abalone_instance
from bestarm_studies.dpp_bbo.experiments import panels

EXPERIMENTS = panels(
    "Figure 4",
    "fig4_abalone",
    "Abalone",
    partial(abalone_instance, sigma=0.0),
    partial(stand_in_abalone_instance),
    paper=Scale(300),
)
