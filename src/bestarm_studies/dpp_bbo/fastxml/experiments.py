"""Tables of FastXML's precision, and searches of them in batches of five and ten."""

from functools import partial

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Scale
from bestarm_objectives.fastxml.grid import fastxml_rows
from bestarm_objectives.fastxml.points import DATASETS, Dataset
from bestarm_studies.dpp_bbo.experiments import panels, with_zero_mean
from bestarm_studies.dpp_bbo.fastxml.table import TABLES, fastxml_instance, stand_in_fastxml_instance

FIGURES: dict[Dataset, tuple[str, str]] = {
    "Bibtex": ("Figure 2", "fig2_bibtex"),
    "Delicious": ("Figure 5", "fig5_delicious"),
}
EXPERIMENTS: dict[str, Experiment | Computation] = {}
for _dataset, (_figure, _name) in FIGURES.items():
    EXPERIMENTS[TABLES[_dataset]] = Computation(
        f"FastXML on {_dataset}",
        partial(fastxml_rows, dataset=_dataset),
        profiles={
            "smoke": {"replications": 1, "trees": (1, 2), "biases": (1.0,), "costs": (1.0,)},
            "laptop": {"replications": 1},
        },
        data_files=DATASETS[_dataset],
        measured=True,  # kept in a rebuild, of which growing the same forests again took two fifths; a test grows some
    )
    _problem = (partial(fastxml_instance, dataset=_dataset), partial(stand_in_fastxml_instance, dataset=_dataset))
    _paper = Scale(300 if _dataset == "Bibtex" else 200)
    EXPERIMENTS |= panels(_figure, _name, _dataset, *_problem, paper=_paper)
    EXPERIMENTS |= with_zero_mean(_name, _dataset, *_problem)
