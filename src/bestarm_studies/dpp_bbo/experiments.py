"""The experiments of the DPP-BBO study: seven batched searches of seven objectives, controls, and the analysis."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment, Series
from bestarm_lab.experiments.one_change import name_of_change
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_studies.dpp_bbo.abalone import abalone_instance, stand_in_abalone_instance
from bestarm_studies.dpp_bbo.batch_observer import BatchObserver
from bestarm_studies.dpp_bbo.candidate_arms import candidate_regret
from bestarm_studies.dpp_bbo.fastxml_table import (
    DATASETS,
    TABLES,
    fastxml_instance,
    fastxml_rows,
    stand_in_fastxml_instance,
)
from bestarm_studies.dpp_bbo.gp_draws import gp_draw_instance
from bestarm_studies.dpp_bbo.nominal_walker import (
    NOMINAL_TABLE,
    nominal_instance,
    nominal_rows,
    stand_in_nominal_instance,
)
from bestarm_studies.dpp_bbo.series import (
    DRAWN,
    choices,
    controls,
    frozen,
    learned,
    on_draws,
    published,
    region_searches,
    sequential,
)
from bestarm_studies.dpp_bbo.slopes import slope_rows
from bestarm_studies.dpp_bbo.synthetic import synthetic_instance
from bestarm_studies.dpp_bbo.theory_experiments import THEORY
from bestarm_studies.dpp_bbo.walker import TABLE, stand_in_walker_instance, walker_instance, walker_rows

RUNS = 50  # as in the paper
COSINES = 8192  # candidates of the cosines; the other synthetic functions have 2048
PROFILES: dict[Profile, Scale] = {"smoke": Scale(2, settings={"rounds": 3}), "laptop": Scale(RUNS)}

# Figure, name in the experiments, problem, stand-in: in the order of the paper's figures.
PROBLEMS: dict[str, tuple[str, str, partial[Any], partial[Any] | None]] = {
    "Branin-Hoo": ("Figure 1", "fig1_branin", partial(synthetic_instance, name="Branin-Hoo"), None),
    "Hartmann-6": ("Figure 1", "fig1_hartmann", partial(synthetic_instance, name="Hartmann-6"), None),
    "Bibtex": (
        "Figure 2",
        "fig2_bibtex",
        partial(fastxml_instance, dataset="Bibtex"),
        partial(stand_in_fastxml_instance, dataset="Bibtex"),
    ),
    "robot": ("Figure 2", "fig2_robot", partial(walker_instance, n_arms=2048), partial(stand_in_walker_instance)),
    # With 2048 candidates 94% to 98% of the runs end at the best one, so that the ends could not differ.
    "Cosines": ("Figure 3", "fig3_cosines", partial(synthetic_instance, name="Cosines", n_arms=COSINES), None),
    "Abalone": (
        "Figure 4",
        "fig4_abalone",
        partial(abalone_instance, sigma=0.0),
        partial(stand_in_abalone_instance),
    ),
    "Delicious": (
        "Figure 5",
        "fig5_delicious",
        partial(fastxml_instance, dataset="Delicious"),
        partial(stand_in_fastxml_instance, dataset="Delicious"),
    ),
}
SYNTHETIC = ("Branin-Hoo", "Hartmann-6", "Cosines")


def search(title: str, objective: str, series: Mapping[str, Any], *, every: int = 1, **settings: Any) -> Experiment:
    """Return searches of an objective, recorded every so many batches."""
    _, _, problem, stand_in = PROBLEMS[objective]
    given: dict[str, Any] = {
        "problem": problem,
        "profiles": PROFILES,
        "stand_in": stand_in,
        "metrics": (candidate_regret,),
        "observe": BatchObserver,
        "block": 25,
    }
    return Experiment(title, series=series, every=every, **given | settings)


def figure(objective: str, batch: int) -> dict[str, Experiment]:
    """Return one panel of the paper's figures, with controls, and the same with hyper-parameters known beforehand."""
    number, name, _, _ = PROBLEMS[objective]
    series = published(batch, learned(objective)) | controls(batch, learned(objective))
    title = f"{number}: {objective}, B = {batch}"
    found = {f"{name}_b{batch}": search(title, objective, series)}
    given = {"batch": batch, "rounds": series["GP-BUCB"].rounds, "model": frozen(objective)}
    known = published(batch, frozen(objective)) | region_searches(given, ("UNIFORM",))
    title = f"{objective}, B = {batch}, hyper-parameters known"
    found[f"frozen_{name[5:]}_b{batch}"] = search(title, objective, known, every=2)
    return found


TABLE_ROWS = {
    TABLE: Computation(
        "Walks of the biped",
        partial(walker_rows, n_points=16384),
        profiles={"smoke": {"replications": 1, "n_points": 64}, "laptop": {"replications": 1}},
    ),
    NOMINAL_TABLE: Computation(
        "Walks of the biped around a gait",
        partial(nominal_rows, n_points=16384),
        profiles={"smoke": {"replications": 1, "n_points": 64}, "laptop": {"replications": 1}},
    ),
} | {
    TABLES[dataset]: Computation(
        f"FastXML on {dataset}",
        partial(fastxml_rows, dataset=dataset),
        profiles={
            "smoke": {"replications": 1, "trees": (1, 2), "biases": (1.0,), "costs": (1.0,)},
            "laptop": {"replications": 1},
            "paper": {"replications": 3},
        },
        data_files=DATASETS[dataset],
    )
    for dataset in ("Bibtex", "Delicious")
}

FIGURES = {k: e for batch in (5, 10) for objective in PROBLEMS for k, e in figure(objective, batch).items()}

SECOND_WALKER = {  # the searches of the paper on another reading of its robot
    f"nominal_robot_b{batch}": search(
        f"robot around a gait, B = {batch}",
        "robot",
        published(batch, learned("robot around a gait")),
        problem=partial(nominal_instance, n_arms=2048),
        stand_in=partial(stand_in_nominal_instance),
    )
    for batch in (5, 10)
}

LARGE_BATCHES = {
    f"b20_{PROBLEMS[objective][1][5:]}": search(
        f"{objective}, B = 20", objective, published(20, learned(objective)) | controls(20, learned(objective))
    )
    for objective in SYNTHETIC
}

SEQUENTIAL = {
    f"sequential_{PROBLEMS[objective][1][5:]}": search(
        f"{objective}, one at a time",
        objective,
        {policy.label: policy for policy in sequential(150, learned(objective))},
        every=5,
    )
    for objective in SYNTHETIC
}

GIVEN_5: dict[str, Any] = {"batch": 5, "rounds": 30, "model": frozen("Branin-Hoo")}
SENSITIVITY = {
    "candidates": search(
        "Branin-Hoo, size of the candidate set",
        "Branin-Hoo",
        region_searches(GIVEN_5, ("MAX", "SAMPLE")),
        every=3,
        vary={"n_arms": [256, 512, 1024, 2048, 4096, 8192]},
        profiles={"smoke": Scale(2, settings={"rounds": 3}, vary={"n_arms": [256]}), "laptop": Scale(RUNS)},
    ),
    "noise": search(
        "Branin-Hoo and its noise",
        "Branin-Hoo",
        {
            name_of_change(name, f"noise {noise:g}"): Series(policy, problem={"noise": noise})
            for noise in (0.0, 0.1)
            for name, policy in published(5, learned("Branin-Hoo")).items()
        },
        every=3,
    ),
    "choices_branin": search(
        "What the paper leaves open, Branin-Hoo", "Branin-Hoo", choices("Branin-Hoo", exchange=True), every=3
    ),
    "choices_hartmann": search(
        "What the paper leaves open, Hartmann-6", "Hartmann-6", choices("Hartmann-6", exchange=False), every=3
    ),
}

DRAWS = {
    "gp_draws": Experiment(
        "Functions drawn from the model",
        partial(gp_draw_instance, n_arms=400, lengthscale=DRAWN["lengthscale"], sigma=DRAWN["sigma"]),
        on_draws(),
        {"smoke": Scale(3, settings={"rounds": 3}), "laptop": Scale(500)},
        metrics=(candidate_regret,),
        every=5,
        observe=BatchObserver,
        block=125,
    )
}

SLOPES = {
    "slopes": Computation(
        "Slopes of the objectives",
        partial(slope_rows),
        profiles={"smoke": {"replications": 4}, "laptop": {"replications": 500}},
    )
}

EXPERIMENTS: dict[str, Experiment | Computation] = {
    **TABLE_ROWS,
    **FIGURES,
    **SECOND_WALKER,
    **LARGE_BATCHES,
    **SEQUENTIAL,
    **SENSITIVITY,
    **DRAWS,
    **SLOPES,
    **THEORY,
}
