"""The series of the DPP-BBO paper's figures, its controls, and the models that all searches of an objective share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bestarm.policies.gaussian import batch_rules as rules
from bestarm.policies.gaussian.batch_gp import BatchGP, b_est, gp_bucb, lp_ucb, thompson
from bestarm.policies.gaussian.gp_state import GPModel
from bestarm_lab.experiments.series import name_of_change
from bestarm_studies.dpp_bbo.gp_draws import DRAWN

ROUNDS = {5: 30, 10: 20, 20: 10}  # batches by their size; the paper does not say how many it ran
ACQUISITIONS: dict[str, rules.Acquisition] = {"UCB": rules.UpperBound(), "EST": rules.EstimatedMaximum()}
SAMPLERS: dict[str, rules.RegionSampler] = {
    "MAX": rules.GreedyMap(),
    "SAMPLE": rules.DownUp(),
    "UNIFORM": rules.Uniform(),
}
# The most probable hyper-parameters given 500 random evaluations: length-scales, signal and noise variance of the
# function less an offset, over a scale. The offset and the scale also stand for those of fewer than five rewards.
OFFLINE: dict[str, dict[str, Any]] = {
    "Branin-Hoo": {
        "lengthscale": (0.284, 1.273), "signal": 33.7, "noise": 1.0e-4, "offset": -55.3, "scale": 52.1,
    },
    "Hartmann-6": {
        "lengthscale": (0.271, 0.407, 0.634, 0.320, 0.289, 0.304), "signal": 0.716, "noise": 1.0e-6, "offset": 0.227,
        "scale": 0.352,
    },
    "Cosines": {"lengthscale": (0.205, 0.205), "signal": 2.52, "noise": 9.7e-5, "offset": 0.248, "scale": 0.638},
    "robot": {
        "lengthscale": (0.292, 0.435, 0.761, 1.353, 1.544, 1.309, 1.632, 1.946), "signal": 0.713, "noise": 0.140,
        "offset": 1.139, "scale": 0.329,
    },
    "robot around a gait": {"offset": 0.554, "scale": 0.335},  # of 500 walks
    "Abalone": {
        "lengthscale": (0.902, 0.539, 0.477, 0.455, 0.194, 0.225, 0.320, 0.430), "signal": 2.44, "noise": 0.386,
        "offset": 0.0, "scale": 1.0,
    },
    "Bibtex": {
        "lengthscale": (0.301, 2.54, 0.362, 0.816, 3.06), "signal": 0.567, "noise": 0.00395, "offset": 0.525,
        "scale": 0.0726,
    },
    "Delicious": {
        "lengthscale": (0.428, 2.32, 0.462, 0.644, 1.08), "signal": 1.69, "noise": 0.00778, "offset": 0.638,
        "scale": 0.0660,
    },
}  # fmt: skip
KNOWN = GPModel.frozen(DRAWN["lengthscale"], 1.0, DRAWN["sigma"] ** 2)
DRAW_ROUNDS = 20


def learned(objective: str, **settings: Any) -> GPModel:
    """Return the model of an objective whose hyper-parameters each search learns: the most probable ones."""
    known = OFFLINE[objective]
    given: dict[str, Any] = {"constant": 1.0, "offset": known["offset"], "scale": known["scale"]}
    return GPModel(**given | settings)


def frozen(objective: str) -> GPModel:
    """Return the model of an objective with hyper-parameters known beforehand, the same for all searches."""
    return GPModel.frozen(**OFFLINE[objective], constant=1.0)


def published(batch: int, model: GPModel) -> dict[str, BatchGP]:
    """Return the seven searches of the paper's figures."""
    given: dict[str, Any] = {"batch": batch, "rounds": ROUNDS[batch], "model": model}
    return {
        "GP-BUCB": gp_bucb(**given),
        "B-EST": b_est(estimate="ESTa", **given),
        **region_searches(given, ("MAX", "SAMPLE")),
        "LP-UCB": lp_ucb(**given),
    }


def region_search(acquisition: str, sampler: str, **given: Any) -> BatchGP:
    """Return a search that fills a batch from the relevance region, such as UCB-DPP-MAX of UCB and MAX."""
    label = f"{acquisition}-UNIFORM" if sampler == "UNIFORM" else f"{acquisition}-DPP-{sampler}"
    return BatchGP(label, rule=rules.KDpp(ACQUISITIONS[acquisition], SAMPLERS[sampler]), **given)


def region_searches(given: Mapping[str, Any], samplers: Sequence[str]) -> dict[str, BatchGP]:
    """Return the searches that fill a batch from the relevance region, by UCB and by EST."""
    found = [region_search(acquisition, sampler, **given) for sampler in samplers for acquisition in ACQUISITIONS]
    return {policy.label: policy for policy in found}


def sequential(rounds: int, model: GPModel) -> dict[str, BatchGP]:
    """Return searches that ask for one arm at a time."""
    labels = {f"sequential {name}": rules.Hallucinate(acquisition) for name, acquisition in ACQUISITIONS.items()}
    return {label: BatchGP(label, 1, rounds, rule, model) for label, rule in labels.items()}


def controls(batch: int, model: GPModel) -> dict[str, BatchGP]:
    """Return searches that the paper lacks: no diversity in the region, draws from the posterior, random arms."""
    given: dict[str, Any] = {"batch": batch, "rounds": ROUNDS[batch], "model": model}
    return {
        **region_searches(given, ("UNIFORM",)),
        "Thompson": thompson(**given),
        "random": BatchGP("random", rule=rules.Anywhere(), **given),
    }


def on_draws() -> dict[str, BatchGP]:
    """Return the searches of functions drawn from the model, in batches of five."""
    given: dict[str, Any] = {"batch": 5, "rounds": DRAW_ROUNDS, "model": KNOWN}
    found = {
        "GP-BUCB": gp_bucb(**given),
        "B-EST": b_est(estimate="ESTa", **given),
        **region_searches(given, tuple(SAMPLERS)),
    }
    for sampler in ("MAX", "SAMPLE"):
        rule = rules.KDpp(rules.EstimatedMaximum("ESTn"), SAMPLERS[sampler])
        found[name_of_change(f"EST-DPP-{sampler}", "ESTn")] = replace(found[f"EST-DPP-{sampler}"], rule=rule)
    return found


EXPLORES = replace(on_draws()["UCB-DPP-MAX"], rule=rules.KDpp(rules.UpperBound(), rules.GreedyMap(repeats=True)))
