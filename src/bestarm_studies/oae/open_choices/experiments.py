"""Open choices of the paper: searches of the landscapes with NN 10-5, one choice changed at a time."""

from functools import partial
from typing import Any

from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.oae.experiments import on_lines
from bestarm_studies.oae.landscapes import LANDSCAPES, landscape
from bestarm_studies.oae.open_choices.open_design import OPEN_DESIGN
from bestarm_studies.oae.open_choices.open_landscapes import TRIED, noisy_landscape
from bestarm_studies.oae.series import SMALL, WITH_ENSEMBLE

SIGMA = 0.3
SHORTER: dict[str, Any] = {"rounds": 50, "steps": 1000}  # the profile laptop
CHOICES: dict[str, tuple[str, dict[str, Any]]] = {
    "base": ("Biases of zero, steps of size 0.01", {}),
    "steps_600": ("600 steps", {"fixed": {"steps": 600}}),
    "rate_3": ("Steps of size 0.003", {"fixed": {"learning_rate": 0.003}}),
    "rate_1": ("Steps of size 0.001", {"fixed": {"learning_rate": 0.001}}),
    "bias": ("Random initial biases, Torch's default", {"settings": {"bias": 1.0}}),
    "pool": ("100 arms of the pool in each step, not 10", {"settings": {"pool_minibatch": 100}}),
    "scale_10": ("Responses ten times as large", {"problem": partial(landscape, scale=10.0)}),
    "scale_01": ("Responses a tenth as large", {"problem": partial(landscape, scale=0.1)}),
    "island": (
        "Holes around a summit that is still there",
        {"problem": partial(landscape, hole="island"), "names": [n for n in LANDSCAPES if n.endswith("Hole")]},
    ),
    "width": (
        "Wider hills",
        {"problem": partial(landscape, width=1.2), "names": [n for n in LANDSCAPES if n.startswith("Multi")]},
    ),
    "noise_1": (
        f"Responses with noise of standard deviation {SIGMA}",
        {"problem": partial(noisy_landscape, sigma=SIGMA, evaluations=1), "observe": TRIED},
    ),
    "noise_16": (
        "The same noise, every arm evaluated 16 times",
        {"problem": partial(noisy_landscape, sigma=SIGMA, evaluations=16), "observe": TRIED},
    ),
}
OPEN_CHOICES: dict[str, Experiment] = {
    f"open_{choice}": on_lines(title, SMALL, WITH_ENSEMBLE, **SHORTER, **changed)
    for choice, (title, changed) in CHOICES.items()
}
EXPERIMENTS = OPEN_CHOICES | OPEN_DESIGN
