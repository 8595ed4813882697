"""Searches of Abalone in batches of five and ten."""

from functools import partial

from bestarm_lab.experiments.scale import Scale
from bestarm_studies.dpp_bbo.abalone.snails import abalone_instance, stand_in_abalone_instance
from bestarm_studies.dpp_bbo.experiments import panels, with_zero_mean

ABALONE = (partial(abalone_instance, sigma=0.0), partial(stand_in_abalone_instance))
EXPERIMENTS = {
    **panels("Figure 4", "fig4_abalone", "Abalone", *ABALONE, paper=Scale(300)),
    **with_zero_mean("fig4_abalone", "Abalone", *ABALONE),
}
