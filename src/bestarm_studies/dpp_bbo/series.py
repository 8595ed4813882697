"""The series of the DPP-BBO paper's figures, its controls, and the models that all searches of an objective share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bestarm.experiments.experiment import Series
from bestarm.models.gp_hyper import GammaPriors
from bestarm.policies.batch_gp import BatchGP
from bestarm.policies.gp_state import GPModel

ROUNDS = {5: 30, 10: 20, 20: 10}  # batches by their size; the paper does not say how many it ran
RULES = {"MAX": BatchGP.dpp_max, "SAMPLE": BatchGP.dpp_sample, "UNIFORM": BatchGP.uniform_in_region}

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
        "GP-BUCB": BatchGP.gp_bucb(**given),
        "B-EST": BatchGP.b_est(**given),
        **region_searches(given, ("MAX", "SAMPLE")),
        "LP-UCB": BatchGP.lp_ucb(**given),
    }


def region_searches(given: Mapping[str, Any], rules: tuple[str, ...]) -> dict[str, BatchGP]:
    """Return the searches that fill a batch from the relevance region, by UCB and by EST."""
    found = {}
    for rule in rules:
        for acquisition in ("ucb", "est"):
            policy = RULES[rule](acquisition, **given)
            found[policy.label] = policy
    return found


def controls(batch: int, model: GPModel) -> dict[str, BatchGP]:
    """Return searches that the paper lacks: no diversity in the region, draws from the posterior, random arms."""
    given: dict[str, Any] = {"batch": batch, "rounds": ROUNDS[batch], "model": model}
    return {
        **region_searches(given, ("UNIFORM",)),
        "Thompson": BatchGP.thompson(**given),
        "random": BatchGP.random(**given),
    }


def choices(objective: str, *, exchange: bool) -> dict[str, Any]:
    """Return what the paper leaves open, one change at a time, in batches of five.

    The paper's own chain (``exchange``) takes thousands of times the steps, and is run 20 times only.
    """
    base = published(5, learned(objective))
    maximum, sample, penalty = (base[name] for name in ("UCB-DPP-MAX", "UCB-DPP-SAMPLE", "LP-UCB"))
    est, bucb, best = (base[name] for name in ("EST-DPP-SAMPLE", "GP-BUCB", "B-EST"))

    def changed(policy: BatchGP, **settings: Any) -> BatchGP:
        return replace(policy, model=learned(objective, **settings))

    found: dict[str, Any] = {"UCB-DPP-SAMPLE": sample, "UCB-DPP-MAX": maximum}
    for name, policy in (("UCB-DPP-SAMPLE", sample), ("UCB-DPP-MAX", maximum)):
        found |= {
            f"{name} | β over 5": replace(policy, beta_scale=0.2),
            f"{name} | region of Contal's code": replace(policy, region="as_coded"),
            f"{name} | first arm left out": replace(policy, exclude_first=True),
            f"{name} | mean of zero": changed(policy, constant=0.0),
            f"{name} | fits after every batch": changed(policy, growth=1.0),
            f"{name} | flat priors": changed(policy, priors=GammaPriors.uninformative()),
            f"{name} | slice sampling": changed(policy, fit="slice"),
            f"{name} | ten first arms": replace(policy, first=10),
        }
    if exchange:
        found["UCB-DPP-SAMPLE | exchange chain"] = Series(replace(sample, sampler="exchange"), replications=20)
    found |= {
        "EST-DPP-SAMPLE": est,
        "EST-DPP-SAMPLE | ESTn": replace(est, estimate="ESTn"),
        "B-EST": best,
        "B-EST | ESTn": replace(best, estimate="ESTn"),
        "GP-BUCB": bucb,
        "GP-BUCB | t counts batches": replace(bucb, by_evaluations=False),
        "GP-BUCB | two stages": replace(bucb, two_stage=True, inflation=1.6487),
        "LP-UCB": penalty,
        "LP-UCB | width of UCB": replace(penalty, penalty_width=None),
        "LP-UCB | penalty of GPyOpt": replace(penalty, penalty_as_coded=True),
    }
    return found


# Functions drawn from the model itself, in the plane, with known hyper-parameters.
DRAWN = {"lengthscale": 0.15, "sigma": 0.1}
KNOWN = GPModel.frozen(DRAWN["lengthscale"], 1.0, DRAWN["sigma"] ** 2)
DRAW_ROUNDS = 20


def on_draws() -> dict[str, BatchGP]:
    """Return the searches of functions drawn from the model, in batches of five."""
    given: dict[str, Any] = {"batch": 5, "rounds": DRAW_ROUNDS, "model": KNOWN}
    found = {"GP-BUCB": BatchGP.gp_bucb(**given), "B-EST": BatchGP.b_est(**given)}
    found |= region_searches(given, ("MAX", "SAMPLE", "UNIFORM"))
    for rule in ("MAX", "SAMPLE"):
        found[f"EST-DPP-{rule} | ESTn"] = replace(found[f"EST-DPP-{rule}"], estimate="ESTn")
    return found
