"""The experiments on GeneDisco: the paper's table, the benchmark's other acquisitions, and each fault alone.

The paper's descriptors are a file that is not part of the project; without it its table is not run. The same searches
on descriptors that are here, group effects of a later release, are experiments of their own.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Profile, Scale
from bestarm_lab.experiments.series import one_change
from bestarm_studies.oae.genedisco import gene_searches
from bestarm_studies.oae.genedisco.gene_screen import METRICS, gene_screen
from bestarm_studies.oae.genedisco.gene_tables import SCREENS
from bestarm_studies.oae.genedisco.todays_screen import todays_screen

BATCH, ROUNDS = 16, 50
EVERY = 5  # batches between two records
RUNS, MANY_RUNS = 12, 50  # the paper has 5
FEW_RUNS, SOME_RUNS = 4, 20  # of what the paper does not show
SIGNAL = ("IFNg", "IL2")  # where the descriptors say something
_search = partial(gene_searches.GeneSearch, batch=BATCH, rounds=ROUNDS)
TABLE = {
    "TopUncertain": _search("TopUncertain", acquisition="top_uncertain"),
    "SoftUncertain": _search("SoftUncertain", acquisition="soft_uncertain"),
    "OAE": _search("OAE", acquisition="optimistic"),
    "OAE absolute": _search("OAE absolute", acquisition="optimistic_absolute"),
}
CONTROLS = {
    "Random": gene_searches.RandomGenes("Random", BATCH, ROUNDS),
    "Largest norms": gene_searches.LargestNorms("Largest norms", BATCH, ROUNDS),
    "Ridge": gene_searches.RidgeSearch("Ridge", BATCH, ROUNDS),
    "Ridge absolute": gene_searches.RidgeSearch("Ridge absolute", BATCH, ROUNDS, absolute=True),
}
OF_BENCHMARK = {name: TABLE[name] for name in ("TopUncertain", "SoftUncertain", "OAE")}
SUITE = {
    "Mean only": _search("Mean only", acquisition="mean"),
    "Margin": _search("Margin", acquisition="margin"),
    "CoreSet": _search("CoreSet", acquisition="core_set"),
    "BADGE": _search("BADGE", acquisition="badge"),
    "KMeans": _search("KMeans", acquisition="k_means"),
    "AdversarialBIM": _search("AdversarialBIM", acquisition="adversarial"),
}
_SMOKE = {"rounds": 3, "epochs": 3, "passes": 8}


def switches(name: str) -> dict[str, Any]:
    """Return a search with each fault of the authors' code alone, and with the application's sixteen units."""
    return one_change(
        name,
        TABLE[name],
        {
            "broadcast loss": {"broadcast_loss": True},
            "generators reset": {"reset": True},
            "16 hidden units": {"hidden": gene_searches.UNITS_OF_APPLICATION},
        },
        {f"rows of {fault} misaligned": {"fault": fault} for fault in ("descriptors", "targets")},
    )


def _scales(runs: int = RUNS, many: int = MANY_RUNS, laptop: Mapping[str, Any] | None = None) -> dict[Profile, Scale]:
    return {
        "smoke": Scale(2, settings=_SMOKE, vary={"name": ["IFNg"]}),
        "laptop": Scale(runs, vary=laptop or {}),
        "paper": Scale(many),
    }


_on_screens = partial(Experiment, vary={"name": SCREENS}, metrics=METRICS, every=EVERY, block=4)
_on_groups = partial(_on_screens, problem=partial(gene_screen, source="DepMap groups"))
_EFFECTS, _FEW = "GeneDisco on DepMap group effects", _scales(FEW_RUNS, SOME_RUNS)
_CODED: dict[str, Any] = {"conventions": ("as_coded",), "profiles": _FEW}
EXPERIMENTS: dict[str, Experiment | Computation] = {
    "genedisco": _on_groups(
        title=f"{_EFFECTS}: the paper's table, and controls", series={**TABLE, **CONTROLS}, profiles=_scales()
    ),
    "genedisco_coded": _on_groups(
        title=f"{_EFFECTS}: the paper's table and controls with all faults of the code",
        series={**TABLE, **CONTROLS},
        **_CODED,
    ),
    "genedisco_today": _on_screens(
        title="GeneDisco on DepMap group means: the benchmark as it runs today",
        problem=partial(todays_screen),
        series=OF_BENCHMARK,
        **_CODED,
    ),
    "genedisco_suite": _on_groups(title=f"{_EFFECTS}: the benchmark's other acquisitions", series=SUITE, profiles=_FEW),
    "genedisco_faults": _on_groups(
        title=f"{_EFFECTS}: each fault of the authors' code alone",
        series=switches("OAE"),
        profiles=_scales(many=SOME_RUNS, laptop={"name": SIGNAL}),
    ),
    "genedisco_achilles": _on_screens(
        title="GeneDisco on the paper's descriptors (Achilles, DepMap 20Q4)",
        problem=partial(gene_screen, source="Achilles"),
        stand_in=partial(gene_screen, source="DepMap groups", data="stand-in"),
        series={**TABLE, **CONTROLS, **SUITE},
        conventions=("as_written", "as_coded"),
        profiles=_scales(),
    ),
}
