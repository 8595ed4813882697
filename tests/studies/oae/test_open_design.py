"""The random design over open choices: its draws, its rows, and what claims become in them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from titles import titled

from bestarm_lab.claims.robustness import deciding, effects, summary, under_choices
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.run import make_rows
from bestarm_lab.results import committed_rows, published, read_robustness
from bestarm_lab.study import load_study
from bestarm_studies.oae.checks import first_hit
from bestarm_studies.oae.landscapes import LANDSCAPES, landscape
from bestarm_studies.oae.open_choices import open_design
from bestarm_studies.oae.open_choices.open_design import HILLS, open_landscape
from bestarm_studies.oae.robustness import CHOICES as OPEN_CHOICES
from bestarm_studies.oae.robustness import DESIGN, ON_LANDSCAPES, first_of_design

HILL_WORDS = open_design.CHOICES["hills"].words
MANY = np.linspace(-10.0, 10.0, 20001)


def test_every_level_is_drawn_equally_often():
    """Sixty draws are thirty of each of two levels and twenty of each of three."""
    levels = open_design.drawn_levels(open_design.N_DRAWS)
    for name, choice in open_design.CHOICES.items():
        assert (levels[name].value_counts() == open_design.N_DRAWS / len(choice.levels)).all()


def test_choices_are_drawn_apart_from_each_other():
    """A choice that is left out changes nothing of the others; no two levels go together."""
    levels = open_design.drawn_levels(open_design.N_DRAWS)
    few = open_design.drawn_levels(open_design.N_DRAWS, {name: open_design.CHOICES[name] for name in ("steps", "hole")})
    pd.testing.assert_frame_equal(few, levels[["steps", "hole"]])
    dummies = pd.get_dummies(levels, prefix_sep=" = ").astype(float)
    of = np.array([column.split(" = ")[0] for column in dummies])
    assert np.abs(dummies.corr().to_numpy()[of[:, None] != of]).max() < 0.45  # three standard errors


@pytest.mark.parametrize("name", LANDSCAPES)
@pytest.mark.parametrize("hole", ["interval", "island"])
def test_a_landscape_with_the_usual_choices_is_the_usual_one(name, hole):
    drawn, usual = open_landscape(name, hole=hole), landscape(name, hole=hole)
    np.testing.assert_allclose(drawn.evaluate(MANY), usual.evaluate(MANY), atol=1e-12)
    assert (drawn.gaps, drawn.n_arms) == (usual.gaps, open_design.N_ARMS)


@pytest.mark.parametrize("hills", HILLS)
@pytest.mark.parametrize("width", open_design.CHOICES["width"].levels.values())
@pytest.mark.parametrize("name", LANDSCAPES)
def test_a_hole_is_around_the_summit_however_hills_are_drawn(name, width, hills):
    """One hill has one maximum, four have four; the summit lies in the interval, and is the middle of the island."""
    drawn = open_landscape(name, hills=hills, width=width)
    y = drawn.evaluate(MANY)
    assert len(MANY[1:-1][(y[1:-1] > y[:-2]) & (y[1:-1] > y[2:])]) == (1 if name.startswith("One") else 4)
    summit = MANY[y.argmax()]
    for low, high in drawn.gaps:
        assert low < summit < high
    if drawn.gaps:
        (_, left), (right, _) = open_landscape(name, hole="island", hills=hills, width=width).gaps
        assert left < summit < right


def test_an_unknown_drawing_of_hills_is_refused():
    with pytest.raises(ValueError, match="hills must be one of right, inner, rivals, got 'left'"):
        open_landscape("MultiValleyOneDim", hills="left")


def test_every_choice_reaches_the_searches_of_its_draw():
    """Each cell's landscape and policy have the levels of their draw, and draws have arms of their own."""
    levels = open_design.drawn_levels(open_design.N_DRAWS)
    cells = open_design.OPEN_DESIGN["design_10_5"].cells("laptop")
    assert {cell.where["draw"] for cell in cells} == set(range(open_design.N_DRAWS))
    for cell in cells:
        draw = cell.where["draw"]
        assert cell.problem.keywords["seed"] == draw
        for name, choice in open_design.CHOICES.items():
            value = choice.levels[levels.at[draw, name]]
            if choice.of_problem:
                assert cell.problem.keywords[name] == value
            elif cell.series == "Greedy" or (cell.series != "RandomBatch" and name != "pool_minibatch"):
                assert getattr(cell.policy, name) == value


def test_a_row_of_a_run_has_what_its_batches_had():
    """Ranks 60, 40, 7, 2 of 1000 arms; regret after the end is that with which the run ended."""
    rows = pd.DataFrame({"replication": 0, "round": [0, 1, 2, 4, 10], "rank": [1, 60, 40, 7, 2]})
    rows = rows.assign(arm_count=1000, relative_regret=[1.0, 0.5, 0.4, 0.2, 0.1], diverged=0.0, optimistic=1.0)
    (line,) = open_design.run_lines(rows).to_dict("records")
    assert [line[name] for name in open_design.QUANTILES] == [2, 4, 10]
    assert line["regret"] == pytest.approx((0.5 + 2 * 0.4 + 6 * 0.2 + 0.1) / 10)
    assert not line["broken"]
    (line,) = open_design.run_lines(rows.assign(rank=900, diverged=1.0, optimistic=np.nan)).to_dict("records")
    assert [line[name] for name in open_design.QUANTILES] == [11, 11, 11]
    assert line["broken"]


def small() -> open_design.RandomDesign:
    design = open_design.OPEN_DESIGN["design_10_5"]
    assert isinstance(design, open_design.RandomDesign)
    return replace(design, series={name: design.series[name] for name in ("RandomBatch", "Greedy", "MeanOpt 0.1")})


def test_rows_are_made_once(tmp_path):
    """One for each run; a second making computes nothing and finds the same."""
    first = make_rows(small(), "smoke", seed=1, store=tmp_path)
    assert len(first) == 2 * 3 * 2  # draws, series, runs
    spent = []
    again = make_rows(small(), "smoke", seed=1, store=tmp_path, committed=first, spent=spent.append)
    pd.testing.assert_frame_equal(again, first)
    assert not spent


def test_values_of_a_draw_are_those_of_all_its_batches(tmp_path):
    """What a claim reads from a row of a run is what it reads from the rows of its batches."""
    design = small()
    lines = make_rows(design, "smoke", seed=1, store=tmp_path)
    parts = Experiment.parts(design, "smoke", 1)
    batches = pd.concat([p.compute(0, 2).assign(**p.columns) for p in parts], ignore_index=True)
    for draw in (0, 1):
        for column, tau in open_design.QUANTILES.items():
            whole = first_hit(batches[batches["draw"] == draw], {}, tau)
            short = first_of_design(lines[lines["draw"] == draw], {}, column)
            pd.testing.assert_frame_equal(short, whole.astype(float), check_index_type=False, check_like=True)


@cache
def draws() -> pd.DataFrame:
    return read_robustness("oae").query("kind == 'draw'")


@cache
def worth() -> pd.DataFrame:
    return effects(draws(), OPEN_CHOICES)


def test_committed_draws_are_those_of_the_committed_rows():
    rows = {name: published("oae", name)[1] for name in (DESIGN, ON_LANDSCAPES)}
    claims = {i: load_study("oae").claims[i] for i in ("OAE-C26", "OAE-C27")}
    found = under_choices(claims, [choice for choice in OPEN_CHOICES if choice.draw in (0, 1)], rows)
    assert len(found) == 2 * (1 + len(open_design.QUANTILES))
    committed = draws().merge(found[["claim", "choice"]], on=["claim", "choice"]).sort_values(["claim", "choice"])
    found = found.sort_values(["claim", "choice"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(found, committed.reset_index(drop=True), rtol=1e-3, atol=1e-3)


@titled(
    "oae/09_open_choices/open_design",
    "Which hill is the highest decides more about claims against chance "
    "than any setting of the training (C27, C31, C32)",
)
def test_drawing_of_hills_decides_more(values: pd.DataFrame) -> bool:
    """Of three claims against chance it is worth more than any setting of the training, and clearly something."""
    worth = values[values["statistic"] == "difference"].pivot(index="panel", columns="series", values="value")
    clear = values[(values["statistic"] == "difference") & (values["low"] > 0.0)].set_index(["panel", "series"]).index
    training = [choice.words for choice in open_design.CHOICES.values() if not choice.of_problem]
    return len(training) > 2 and all(
        worth.loc[claim, HILL_WORDS] > worth.loc[claim, training].max() and (claim, HILL_WORDS) in clear
        for claim in ("OAE-C27", "OAE-C31", "OAE-C32")
    )


def test_what_the_notebook_says_of_single_levels_holds():
    """C31 by the drawing of the hills; the two choices that matter most for C35 and C36."""
    told = worth().set_index(["claim", "choice"]).loc[("OAE-C31", HILL_WORDS), "words"]
    assert "highest inside 32% confirmed" in told
    assert "highest at the right 0% confirmed" in told
    for claim in ("OAE-C35", "OAE-C36"):
        first = deciding(worth()[worth()["claim"] == claim])["choice"].head(2)
        assert set(first) == {open_design.CHOICES["bias"].words, open_design.CHOICES["scale"].words}


def test_no_claim_but_one_is_confirmed_under_most_draws():
    """As the notebook's first words say: hardly any; the one is on regret in some set (C26)."""
    table = summary(draws(), worth()).set_index("claim")
    assert set(table.index[table["confirmed"] > table["choices"] / 2]) == {"OAE-C26"}


def test_the_design_has_rows_of_all_its_draws():
    for name in open_design.OPEN_DESIGN:
        rows = committed_rows("oae", name, "paper")
        assert rows is not None
        assert set(rows["draw"]) == set(range(open_design.N_DRAWS))
        assert (rows.groupby(["draw", "series", "name"])["replication"].nunique() == 25).all()
