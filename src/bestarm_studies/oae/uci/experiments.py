"""Searches of bicycle hires and of blog posts."""

from bestarm_studies.oae.experiments import REWARDED, on_bikes, on_blogs
from bestarm_studies.oae.series import ENSEMBLES, LINEAR, LINEAR_RUNS, MIDDLE, OBJECTIVES, VANILLA

EXPERIMENTS = {
    "bikes_100_10": on_bikes("Bicycles, NN 100-10", MIDDLE, ENSEMBLES, observe=REWARDED),
    "bikes_subsets": on_bikes(
        "Bicycles, NN 100-10, other random tenths left out", MIDDLE, VANILLA, subsets=(1, 2, 3, 4)
    ),
    "bikes_linear": on_bikes("Bicycles, linear class", LINEAR, ENSEMBLES, runs=LINEAR_RUNS),
    "bikes_parts": on_bikes(
        "Bicycles with the two columns whose sum is the response, linear class", LINEAR, VANILLA, parts_of_target=True
    ),
    "bikes_objectives": on_bikes("Bicycles, NN 100-10, other objectives", MIDDLE, OBJECTIVES),
    "blogs_100_10": on_blogs("Blog posts, NN 100-10", MIDDLE, ENSEMBLES, rounds=25, observe=REWARDED),
    "blogs_linear": on_blogs("Blog posts, linear class", LINEAR, ENSEMBLES, rounds=50, runs=LINEAR_RUNS),
    "blogs_objectives": on_blogs("Blog posts, NN 100-10, other objectives", MIDDLE, OBJECTIVES, rounds=25),
}
