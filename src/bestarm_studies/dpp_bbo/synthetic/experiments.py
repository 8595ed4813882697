"""Experiments on the synthetic functions: figures, controls, larger batches, and one open choice at a time."""

from dataclasses import replace
from functools import partial
from typing import Any

from bestarm.models.gp_hyper import GammaPriors
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.batch_rules import EstimatedMaximum, Exchange, UpperBound
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment, Series
from bestarm_lab.experiments.scale import Scale
from bestarm_lab.experiments.series import name_of_change
from bestarm_studies.dpp_bbo.experiments import RUNS, panels, search, with_candidates, with_known, with_zero_mean
from bestarm_studies.dpp_bbo.series import controls, frozen, learned, published, region_searches, sequential
from bestarm_studies.dpp_bbo.synthetic_functions import synthetic_instance

FUNCTIONS: dict[str, tuple[str, str, partial[Any]]] = {  # figure, name in the experiments, problem
    "Branin-Hoo": ("Figure 1", "branin", partial(synthetic_instance, name="Branin-Hoo")),
    "Hartmann-6": ("Figure 1", "hartmann", partial(synthetic_instance, name="Hartmann-6")),
    # With 2048 candidates 94% to 98% of the runs end at the best one, so that the ends could not differ.
    "Cosines": ("Figure 3", "cosines", partial(synthetic_instance, name="Cosines", n_arms=8192)),
}
BRANIN, HARTMANN = (FUNCTIONS[objective][2] for objective in ("Branin-Hoo", "Hartmann-6"))


def choices(objective: str, *, exchange: bool) -> dict[str, Any]:
    """Return what the paper leaves open, one change at a time, in batches of five.
    The paper's own chain (``exchange``) takes thousands of times the steps, and is run 20 times only."""
    base = published(5, learned(objective))

    def fitted(policy: BatchGP, **settings: Any) -> BatchGP:
        return replace(policy, model=learned(objective, **settings))

    def ruled(policy: BatchGP, **parts: Any) -> BatchGP:
        return replace(policy, rule=replace(policy.rule, **parts))

    found: dict[str, Any] = {name: base[name] for name in ("UCB-DPP-SAMPLE", "UCB-DPP-MAX")}
    for name, policy in list(found.items()):
        changes = {
            "β over 5": ruled(policy, acquisition=UpperBound(beta_scale=0.2)),
            "region of Contal's code": ruled(policy, region="as_coded"),
            "first arm left out": ruled(policy, exclude_first=True),
            "fits after every batch": fitted(policy, growth=1.0),
            "flat priors": fitted(policy, priors=GammaPriors.uninformative()),
            "slice sampling": fitted(policy, fit="slice"),
            "ten first arms": replace(policy, first=10),
        }
        found |= {name_of_change(name, change): made for change, made in changes.items()}
    if exchange:
        chain = ruled(base["UCB-DPP-SAMPLE"], sampler=Exchange())
        found[name_of_change("UCB-DPP-SAMPLE", "exchange chain")] = Series(chain, replications=20)
    by_integral: dict[str, dict[str, Any]] = {"ESTn": {"acquisition": EstimatedMaximum("ESTn")}}
    rules: dict[str, dict[str, dict[str, Any]]] = {
        "EST-DPP-SAMPLE": by_integral,
        "B-EST": by_integral,
        "GP-BUCB": {
            "t counts batches": {"by_evaluations": False},
            "two stages": {"two_stage": True, "inflation": 1.6487},
        },
        "LP-UCB": {"width of UCB": {"penalty_width": UpperBound()}, "penalty of GPyOpt": {"penalty_as_coded": True}},
    }
    for name, its_changes in rules.items():
        found[name] = base[name]
        found |= {name_of_change(name, change): ruled(base[name], **parts) for change, parts in its_changes.items()}
    return found


EXPERIMENTS: dict[str, Experiment | Computation] = {}
for _objective, (_figure, _name, _problem) in FUNCTIONS.items():
    _paper = with_candidates(500 if _objective == "Branin-Hoo" else 200)
    EXPERIMENTS |= panels(_figure, f"fig{_figure[-1]}_{_name}", _objective, _problem, paper=_paper)
    EXPERIMENTS |= with_zero_mean(f"fig{_figure[-1]}_{_name}", _objective, _problem)
    EXPERIMENTS |= with_known(_name, _objective, _problem)
    EXPERIMENTS[f"b20_{_name}"] = search(
        f"{_objective}, B = 20", published(20, learned(_objective)) | controls(20, learned(_objective)), _problem
    )
    EXPERIMENTS[f"sequential_{_name}"] = search(
        f"{_objective}, one at a time", sequential(150, learned(_objective)), _problem, every=5
    )

EXPERIMENTS |= {
    "candidates": search(
        "Branin-Hoo, size of the candidate set",
        region_searches({"batch": 5, "rounds": 30, "model": frozen("Branin-Hoo")}, ("MAX", "SAMPLE")),
        BRANIN,
        every=3,
        vary={"n_arms": [256, 512, 1024, 2048, 4096, 8192]},
        profiles={"smoke": Scale(2, settings={"rounds": 3}, vary={"n_arms": [256]}), "laptop": Scale(RUNS)},
    ),
    "noise": search(
        "Branin-Hoo and its noise",
        {
            name_of_change(name, f"noise {noise:g}"): Series(policy, problem={"noise": noise})
            for noise in (0.0, 0.1)
            for name, policy in published(5, learned("Branin-Hoo")).items()
        },
        BRANIN,
        every=3,
    ),
    "choices_branin": search(
        "What the paper leaves open, Branin-Hoo", choices("Branin-Hoo", exchange=True), BRANIN, every=3
    ),
    "choices_hartmann": search(
        "What the paper leaves open, Hartmann-6", choices("Hartmann-6", exchange=False), HARTMANN, every=3
    ),
}
