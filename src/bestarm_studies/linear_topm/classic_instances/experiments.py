"""The experiment on a classic instance: Figure 2."""

from bestarm_studies.linear_topm.settings import BOTH, LOOKS, PI_3, classic_series, experiment

EXPERIMENTS = {
    "fig2a": experiment(
        "classic instance, K = 4, m = 2, ω = π/3", PI_3, classic_series(), conventions=BOTH, profiles=LOOKS
    )
}
