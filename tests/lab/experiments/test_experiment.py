"""What an experiment becomes: cells, budgets, profiles, stand-ins, observers, and the key of each part."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from refusals import each_refused
from small_experiments import SEED, bandit, equal, experiment, rows_of

from bestarm.observe import Observed
from bestarm.policies.linear.gifa import Gifa, Lucb, MLinGape
from bestarm.policies.linear.gse import Gse
from bestarm.policies.linear.lin_ucb import LinUcb
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.experiments import computation as computation_module
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Series
from bestarm_lab.experiments.keys import data_files
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_lab.metrics import correct
from bestarm_lab.study import load_study
from bestarm_studies.linear_topm.theory.observer import FINDINGS, GifaObserver

EXPERIMENTS = load_study("linear_topm").experiments
SCALES: dict[Any, Any] = {"smoke": {"replications": 1}, "laptop": {"replications": 3}}


def varied(**changes: Any) -> Any:
    """Return an experiment over sizes and gaps, with budgets in multiples of the arms."""
    settings: dict[str, Any] = {
        "vary": {"n_arms": [3, 4], "gap": [0.5, 1.0]},
        "budgets": PerArm((5, 10)),
        "series": {"A": partial(Gse), "B": Series(partial(LinUcb), within={"n_arms": 3}, replications=3)},
        "profiles": {"smoke": Scale(2, vary={"n_arms": [3]}), "laptop": Scale(6, fewer={"n_arms": {4: 5}})},
        "metrics": (correct,),
    }
    return experiment(**(settings | changes))


def test_every_combination_is_a_cell_with_its_own_noise():
    """Budgets are multiples of the arms; a series within limits is in fewer cells; a profile may leave out values."""
    whole = varied()
    cells = whole.cells("laptop")
    assert len(cells) == 2 * (4 * 2 + 2 * 2)  # conventions x (A in four cells, B in two) x budgets
    assert {whole.instance(c) for c in cells} == {f"plane K={k} gap={g}" for k in (3, 4) for g in (0.5, 1.0)}
    assert {c.budget for c in cells if c.where["n_arms"] == 4} == {20, 40}
    assert [c for c in whole.cells("smoke") if c.where["n_arms"] == 4] == []
    assert [c.policy for c in whole.cells("paper")] == [c.policy for c in cells]  # as the laptop's
    drawn = varied(draws="tuning")
    assert {drawn.instance(c) for c in drawn.cells("smoke")} == {f"plane K=3 gap={g} tuning" for g in (0.5, 1.0)}


def test_a_series_may_be_smaller_or_absent_under_one_convention():
    """Limits and runs of the authors' code alone, and a series that it has not."""
    series = {
        "A": Series(partial(Gse), coded_within={"n_arms": 3}, coded_replications=2),
        "B": Series(partial(Gse), conventions=("as_written",)),
    }
    cells = varied(series=series, profiles={"smoke": Scale(2), "laptop": Scale(6)}).cells("laptop")
    found = {(c.series, c.convention, c.where["n_arms"]): c.replications for c in cells}
    assert found == {**{(name, "as_written", k): 6 for name in "AB" for k in (3, 4)}, ("A", "as_coded", 3): 2}


def test_rows_hold_the_cells_and_the_stated_numbers_of_runs(tmp_path):
    """Fewer runs where the profile or the series says so; committed rows are used; a cell alone is the same."""
    rows = rows_of(varied(), tmp_path / "a")
    counts = rows.groupby(["convention", "series", "n_arms", "gap", "budget"]).size()
    assert counts.xs("A", level="series").groupby("n_arms").unique().to_dict() == {3: [6], 4: [5]}
    assert (counts.xs("B", level="series") == 3).all()
    assert list(rows.columns[:5]) == ["convention", "series", "n_arms", "gap", "budget"]
    assert rows_of(varied(), tmp_path / "b", committed=rows).equals(rows)
    assert not (tmp_path / "b").exists()
    alone = rows_of(varied(vary={"n_arms": [3], "gap": [1.0]}), tmp_path / "c")
    assert equal(alone, rows[(rows["n_arms"] == 3) & (rows["gap"] == 1.0)])


def test_series_have_labels_problems_policies_and_budgets_of_their_own():
    """The label is the name up to " | "; a policy for the second convention; settings of one problem."""
    series = {
        "A": Lucb(2),
        "A | paired": Lucb(2, index="classical_paired"),
        "C": Series(MLinGape(2), coded=MLinGape(2, delta=0.2), label="D", problem={"gap": 2.0}),
        "E": Series(partial(Gse), budgets=[20, 30]),
    }
    whole = experiment(series=series, settings={"eta": 3}, budgets=None)
    cells = {(c.series, c.convention, c.budget): c for c in whole.cells("laptop")}
    labels = {name: cells[name, "as_written", None].policy.label for name in list(series)[:3]}
    assert labels == {"A": "A", "A | paired": "A", "C": "D"}
    coded = cells["C", "as_coded", None]
    assert coded.policy == MLinGape(2, delta=0.2, label="D").as_coded()
    assert coded.build().label == "plane K=4 gap=2.0"
    assert whole.instance(coded) == "plane K=4 gap=1.0"  # compared series share their noise
    assert [cells["E", "as_written", b].policy.budget for b in (20, 30)] == [20, 30]
    assert cells["E", "as_written", 20].policy.eta == 3  # the setting reaches the policy that has it


def test_a_profile_cuts_settings_budgets_and_pulls():
    cut = Scale(2, budgets=[25], settings={"eta": 4}, max_pulls=30)
    profiles = {"smoke": cut, "laptop": Scale(3), "paper": Scale(9)}
    whole = experiment(series={"E": partial(Gse)}, budgets=[20, 40], profiles=profiles)
    smoke, paper = (
        [(c.budget, c.policy.eta, c.max_pulls, c.replications) for c in whole.cells(p)] for p in ("smoke", "paper")
    )
    assert smoke == [(25, 4, 30, 2)] * 2
    assert paper[:2] == [(20, 2, 10_000, 9), (40, 2, 10_000, 9)]


def nobody_has_it(n_arms: int) -> Any:
    raise DataUnavailable("nobody has it")


def test_a_stand_in_takes_the_place_of_data_that_nobody_has():
    """With the same cells; without one the error is that of the data."""
    whole = experiment(problem=partial(nobody_has_it, n_arms=4), stand_in=partial(bandit, n_arms=4))
    assert whole.on_data().cells("smoke")[0].build().label == "plane K=4 gap=1.0"
    small = experiment()
    assert small.on_data() is small
    with pytest.raises(DataUnavailable):
        replace(whole, stand_in=None).on_data()


@dataclass
class Watched(Observed):
    """Counts rounds, for each recorded round."""

    columns: ClassVar[tuple[str, ...]] = ("seen",)
    problem: Any = None
    step: int = 1

    def start(self, arms: Any, streams: Any) -> Any:
        self.runs, self.rounds = streams.replications, 0
        return super().start(arms, streams)

    def tell(self, state: Any, asked: Any, totals: Any) -> None:
        self.rounds += 1
        super().tell(state, asked, totals)

    def findings(self, replications: Any) -> pd.DataFrame:
        pairs = [(r, t) for r in replications for t in range(1, self.rounds + 1)]
        found = pd.DataFrame(pairs, columns=["replication", "round"])
        return found.assign(seen=self.step * found["round"])


def test_findings_are_columns_and_change_no_choice(tmp_path):
    """Those of a round stand in its row, those of a run in its only row; what is not found is missing."""
    plain = experiment(every=1, max_pulls=30)
    watched = rows_of(replace(plain, observe=Watched), tmp_path)
    assert equal(watched.drop(columns="seen"), rows_of(plain, tmp_path))
    assert watched.loc[watched["round"] == 0, "seen"].isna().all()
    later = watched[watched["round"] > 0]
    assert (later["seen"] == later["round"]).all()
    assert "budget" in watched
    assert rows_of(replace(plain, observe=Watched), tmp_path / "b", committed=watched).equals(watched)
    once = rows_of(experiment(observe=GifaObserver), tmp_path)
    assert set(FINDINGS) <= set(once.columns)
    assert equal(once.drop(columns=list(FINDINGS)), rows_of(experiment(), tmp_path))


def keys(an_experiment: Any, profile: Any = "laptop", seed: int = SEED) -> list[str]:
    return [part.key for part in an_experiment.parts(profile, seed)]


def other_metric(problem: Any, recommended: Any) -> Any:
    return np.zeros(len(recommended))


CHANGES = [
    {"max_pulls": 9_999},
    {"metrics": (correct,)},
    {"metrics": (correct, other_metric)},
    {"problem": partial(bandit, n_arms=3)},
    {"problem": partial(bandit, n_arms=4, gap=2.0)},
    {"block": 5},
    {"every": 2},
    {"draws": "other"},
    {"observe": GifaObserver},
    {"observe": Watched},
    {"observe": partial(Watched, step=2)},
    {"series": {"A": MLinGape(2, threshold="heuristic", delta=0.06)}},
    {"series": {"other": MLinGape(2, threshold="heuristic")}},
    {"series": {"A": Series(MLinGape(2, threshold="heuristic"), problem={"gap": 3.0})}},
]


def test_everything_that_rows_depend_on_is_in_their_key():
    """Settings of the problem, the policy, the metrics, the observer; seed; not the number of replications."""
    small = experiment()
    found = [keys(small), keys(small, seed=SEED + 1), *(keys(experiment(**change)) for change in CHANGES)]
    assert len({each[0] for each in found}) == len(CHANGES) + 2
    assert keys(experiment(12)) == keys(small) == keys(small, "smoke")
    assert len(set(keys(small))) == 4


def test_the_data_behind_a_real_problem_are_in_its_key(monkeypatch):
    """Another checksum in the registry is another key; stand-ins and simulations have no data."""
    assert data_files(EXPERIMENTS["fig1c"].problem, "real") == ("drug-rewards", "drug-signatures")
    assert data_files(EXPERIMENTS["fig1c"].problem, "stand-in") == ()
    computed = EXPERIMENTS["drug_simulator"]
    monkeypatch.setattr(computation_module, "available", lambda *names: False)
    absent = keys(computed)
    monkeypatch.setattr(computation_module, "available", lambda *names: True)
    before = keys(computed)
    monkeypatch.setattr(computation_module, "checksums", lambda *names: dict.fromkeys(names, "other"))
    assert len({*absent, *before, *keys(computed)}) == 3


def some_rows(replications: int, seed: int, workers: int, scale: float = 1.0) -> pd.DataFrame:
    return pd.DataFrame({"replication": range(replications), "value": scale * seed})


def test_a_computation_is_one_part_called_with_its_settings(tmp_path):
    """Those of the profile come last; data are synthetic unless the rows say otherwise; measured rows outlive code."""
    plain = Computation("c", partial(some_rows, scale=2.0), SCALES)
    rows = rows_of(plain, tmp_path)
    assert (rows["value"].tolist(), set(rows["data"])) == ([2.0 * SEED] * 3, {"synthetic"})
    assert rows_of(plain, tmp_path / "b", committed=rows).equals(rows)
    assert len(rows_of(plain, tmp_path / "c", committed=rows[:0])) == 3
    assert keys(plain) != keys(plain, "smoke")
    assert keys(replace(plain, measured=True)) != keys(plain)


def test_every_search_of_a_study_has_one_key_for_each_cell():
    """Policies can be described, and cells are told apart, on the stand-ins as well."""
    for name in ("fig1b", "audit_lingame", "theory_epsilon", "growth_n40", "each_m", "real_drugs_deviated"):
        search = EXPERIMENTS[name]
        search = replace(search, problem=search.stand_in or search.problem)
        assert all(isinstance(c.policy, Gifa) or c.series.startswith("LinGame") for c in search.cells("laptop"))
        assert len(set(keys(search))) == len(keys(search)), name


def test_two_profiles_are_the_same_scale_if_they_run_the_same_searches_equally_often():
    plain = varied()
    assert not plain.same_scale("laptop", "paper")  # it does not distinguish them
    scale = plain.profiles["laptop"]
    assert replace(plain, profiles={**plain.profiles, "paper": scale}).same_scale("laptop", "paper")
    for other in (replace(scale, replications=scale.replications + 1), replace(scale, settings={"delta": 0.4})):
        assert not replace(plain, profiles={**plain.profiles, "paper": other}).same_scale("laptop", "paper")
    made = Computation("made", partial(some_rows), SCALES)
    assert not made.same_scale("laptop", "paper")
    assert replace(made, profiles={**made.profiles, "paper": {"replications": 3}}).same_scale("laptop", "paper")
    assert not replace(made, profiles={**made.profiles, "paper": {"replications": 4}}).same_scale("laptop", "paper")


def no_rows(seed: int, workers: int, replications: int, steps: int = 1):
    raise AssertionError


def computed(**laptop):
    return Computation("c", partial(no_rows), {**SCALES, "laptop": laptop})


test_what_fits_nothing_is_refused_before_anything_runs = each_refused(
    (lambda: experiment(profiles={"smoke": Scale(1)}), "the profile laptop is missing"),
    (lambda: experiment(profiles={"smoke": Scale(1), "laptop": Scale(1), "big": Scale(1)}), "got big"),
    (lambda: experiment().cells("large"), "a profile is smoke, laptop, paper; got 'large'"),
    (lambda: experiment(conventions=["as_printed"]), "a convention is as_written or as_coded, got as_printed"),
    (lambda: varied(vary={"n_armz": [3]}).cells("laptop"), "bandit has no setting n_armz; it has: n_arms, gap"),
    (lambda: varied(series={"B": Series(Lucb(1), within={"k": 3})}).cells("laptop"), "within names k"),
    (lambda: varied(vary={"gap": [1.0]}, problem=partial(bandit)).cells("laptop"), "per arm need a setting n_arms"),
    (lambda: experiment(series={"A": Lucb(0)}), "n_best must be at least 1"),
    (lambda: varied().changed(vary={"n_arms": [4, 4.0]}), "n_arms has 4.0 twice; name each value once"),
    (lambda: varied().changed(vary={"n_arms": ["8"]}), r"n_arms must be a number, got .8.\.$"),
    (lambda: varied().changed(vary={"n_arms": 8}), r"n_arms must be a list of values, such as \[8, 16\], got 8"),
    (lambda: varied().changed(budgets=PerArm((10, 10))), "budgets has 10 twice"),
    (lambda: varied().changed(settings={"budget": 3}), "has budgets; name them in budgets, not in settings"),
    (lambda: experiment().changed(series={"x": 3}), "the series 'x' is 3; give a policy"),
)

test_numbers_and_names_of_a_definition_are_checked_where_it_stands = each_refused(
    (lambda: Scale(0), "replications must be a whole number of at least 1, got 0"),
    (lambda: Scale(-3), "replications must be a whole number of at least 1, got -3"),
    (lambda: Scale(1.5), "replications must be a whole number of at least 1, got 1.5"),
    (lambda: Scale(2, max_pulls=0), "max_pulls must be a whole number of at least 1, got 0"),
    (lambda: Scale(2, budgets=[]), "budgets must name at least one budget, got none"),
    (lambda: Scale(2, budgets=[10, 0]), "each budget must be a whole number of at least 1, got 0"),
    (lambda: Scale(2, budgets=PerArm((0.0,))), r"budgets per arm must be positive, got \(0.0,\)"),
    (lambda: Scale(2, fewer={"n_arms": {64: 0}}), "fewer, n_arms of at least 64: replications must be a whole number"),
    (lambda: Series(None, replications=0), "replications must be a whole number of at least 1, got 0"),
    (lambda: experiment(block=0), "block must be a whole number of at least 1, got 0"),
    (lambda: experiment(block=2.5), "block must be a whole number of at least 1, got 2.5"),
    (lambda: experiment(max_pulls=-1), "max_pulls must be a whole number of at least 1, got -1"),
    (lambda: experiment(every=0), "every must be a whole number of at least 1, got 0"),
    (lambda: experiment(series={}), "needs at least one series"),
    (lambda: experiment(vary={"gap": []}), "vary gives no value for gap; leave it out or name some"),
    (
        lambda: computed(replicatoins=2),
        "c, laptop: no_rows has no setting replicatoins; it has: seed, workers, replications, steps",
    ),
    (lambda: computed(replications=0), "c, laptop: replications must be a whole number of at least 1, got 0"),
    (lambda: computed(steps=2), "c, laptop: replications must be a whole number of at least 1, got None"),
)
