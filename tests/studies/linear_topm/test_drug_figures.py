"""What Figures 4 and 5 and Table 6 of the Top-m paper are made of, on stand-in data."""

import numpy as np
import pandas as pd
import pytest
from refusals import raising

from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.notebooks.section import Section
from bestarm_objectives.drug.boolean_network import Edge
from bestarm_objectives.drug.data import DATA_FILES, anti_epileptic, stand_in_data
from bestarm_objectives.drug.simulator import hit_ratio
from bestarm_studies.linear_topm.drug_simulator import checks, log_check
from bestarm_studies.linear_topm.drug_simulator import values as summaries
from bestarm_studies.linear_topm.drug_simulator.figures import reward_figure
from bestarm_studies.linear_topm.drug_simulator.network_figure import CLOSEST, network_figure, place_genes
from bestarm_studies.linear_topm.drug_simulator.values import reward_rows_of


@pytest.fixture(scope="module")
def data():
    return stand_in_data()


@pytest.fixture(scope="module")
def rows(data):
    return reward_rows_of(data, 15, seed=3)


def made_rows(scores, labels, in_paper=None, baseline=0.0):
    """Return rows of tables of shape (R, n_patients, n_drugs)."""
    table, patient, drug = (i.ravel() for i in np.indices(np.shape(scores)))
    chosen = np.ones(len(labels), dtype=bool) if in_paper is None else np.array(in_paper)
    frame = pd.DataFrame({"replication": table, "patient": patient, "reward": np.ravel(scores), "baseline": baseline})
    return frame.assign(series=[f"drug {d}" for d in drug], label=np.array(labels)[drug], in_paper=chosen[drug])


def test_a_recorded_stand_in_is_recomputed_where_the_real_one_is(data):
    """All steps agree but those that are told to differ; a changed reward and a changed state are noticed."""
    found = {check.quantity: (check.equal, check.n) for check in log_check.check_log(data)}
    differing = {"treated state is a fixed point, genes of the drug held", "baseline, with a binary direction"}
    assert all((equal == n) == (quantity not in differing) for quantity, (equal, n) in found.items())
    damaged = data.log.treated.copy()
    damaged[7] = 1 - damaged[7]
    wrong = type(data)(**{**vars(data), "log": type(data.log)(**{**vars(data.log), "treated": damaged})})
    after = {check.quantity: check.equal for check in log_check.check_log(wrong)}
    assert after["treated state is a fixed point, no gene held"] == len(damaged) - 1
    assert after["reward, from the recorded treated state"] == len(damaged) - 1


def test_simulated_tables_do_not_depend_on_their_number(data, rows):
    fewer = reward_rows_of(data, 4, seed=3)
    simulated = rows[(rows["convention"] == "as_written") & (rows["replication"] < 4)].reset_index(drop=True)
    pd.testing.assert_frame_equal(simulated, fewer[fewer["convention"] == "as_written"].reset_index(drop=True))
    recorded = rows[rows["convention"] == "as_coded"]
    np.testing.assert_array_equal(recorded["reward"].to_numpy().reshape(data.rewards.shape), data.rewards)
    assert set(rows["data"]) == {"stand-in"}


def test_scores_hit_ratios_and_separation_by_hand():
    """Two tables of two patients; drug 4 is no drug of the paper."""
    scores = [[[0.9, 0.5, 0.2, 0.1, 0.0], [0.7, 0.5, 0.4, 0.1, 0.0]], [[0.1, 0.2, 0.6, 0.3, 0.9]] * 2]
    rows = made_rows(scores, [1, 1, -1, -1, 1], [True] * 4 + [False])
    means, labels = summaries.mean_scores(rows)
    np.testing.assert_allclose(means[0], [0.8, 0.5, 0.3, 0.1, 0.0])
    np.testing.assert_array_equal(labels, [1, 1, -1, -1, 1])
    np.testing.assert_allclose(summaries.hit_ratios(rows[rows["in_paper"]], (1, 2, 4)), [[1, 1, 0.5], [0, 0, 0.5]])
    gaps = summaries.separation(rows)
    np.testing.assert_allclose(gaps[summaries.TEN], [0.45, -0.3])
    np.testing.assert_allclose(gaps[summaries.ALL], [1.3 / 3 - 0.2, 0.4 - 0.45])
    np.testing.assert_allclose(gaps[summaries.CHOSEN], [0.45, 0.55 - 0.45])


def test_rewards_met_by_a_table_are_counted(data):
    assert log_check.n_rewards_met(data, np.stack([data.rewards, data.rewards])).equal == data.rewards.size
    assert log_check.n_rewards_met(data, data.rewards[None] + 1.0).equal == 0


def test_values_of_figure_5_and_their_tables(data, rows):
    """One mean for each drug and panel, hit ratios of the recorded table, stand-in label everywhere."""
    values = summaries.reward_values(data, rows, "smoke", seed=3)
    means = values[(values["panel"] == "recorded") & (values["statistic"] == "mean")]
    np.testing.assert_allclose(means["value"], data.rewards.mean(axis=0))
    assert set(values["data"]) == {"stand-in"}
    table = summaries.hit_ratio_table(values).set_index("ranking")
    expected = float(hit_ratio(data.rewards.mean(axis=0), anti_epileptic(data.drugs), 5))
    assert table.loc[summaries.RECORDED, "HR@5"] == f"{expected:.2f}"
    assert len(summaries.separation_table(values)) == 4
    figure = reward_figure(rows, values, summaries.separation(rows[rows["convention"] == "as_written"]), title="T")
    titles = [axis.get_title(loc="left") or axis.get_title() for axis in figure.axes]
    assert sum("stand-in data" in title for title in titles) == 3


def test_the_baseline_of_a_binary_direction_depends_on_its_signs(data):
    """Printed zeros drop the genes that fall; signs keep them, and reverse the scores of a reversed signature."""
    printed, signed = log_check.baselines_from_binary(data), log_check.baselines_from_binary(data, signed=True)
    assert not np.allclose(printed, signed)
    assert ((signed >= 0) & (signed <= 2)).all()


def test_genes_are_placed_apart_and_near_their_neighbours():
    """A hub with six leaves and a pair: everything placed, nothing overlapping, components separate."""
    edges = [*(Edge("hub", f"leaf {i}", 1) for i in range(6)), Edge("a", "b", -1)]
    places = place_genes(edges)
    points = np.array(list(places.values()))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + 10 * np.eye(len(points))
    assert set(places) == {"hub", "a", "b", *(f"leaf {i}" for i in range(6))}
    assert distances.min() > 0.95 * CLOSEST
    hub = np.array(places["hub"])
    assert max(np.linalg.norm(hub - places[f"leaf {i}"]) for i in range(6)) < 1.5
    assert place_genes(edges) == places


def test_the_network_is_drawn_with_every_edge_and_gene(data):
    texts = [text.get_text() for text in network_figure(data.network, title="a network").axes[0].texts]
    assert texts.count("") == len(data.network.edges)
    assert set(data.network.genes) >= {text for text in texts if text} == set(place_genes(data.network.edges))


def test_table_6_counts_genes_and_runs(data):
    table = summaries.observation_table(data, n_runs=10, seed=0)
    assert table["perturbed gene"].tolist() == list(data.network.perturbed)
    assert set(table["initial values"]) == {str(data.network.n_genes)}
    assert all(text.endswith(" of 10") for text in table["random runs that explain it"])


def test_claims_decide_in_both_directions(data, rows):
    """Independent features fit exactly; hit ratios against a baseline and against printed ones."""
    assert log_check.linear_misfit(data)[0] == len(data.drugs)
    assert checks.misfit_of(data, {"printed": 0.0}).holds
    assert not checks.misfit_of(data, {"printed": 20.9}).holds
    assert "HR@2" in checks.recorded_hit_ratios({"ranks": [2]}, {"drug_simulator": rows}).text
    good = made_rows(np.tile([0.9, 0.8, 0.2, 0.1], (20, 3, 1)), [1, 1, -1, -1])
    (above,) = checks.hit_ratio_over_baseline(good.assign(baseline=-good["reward"]), {"ranks": [2]}).to_numpy().T
    np.testing.assert_array_equal(above, np.ones(20))
    (near,) = checks.hit_ratio_over_printed(good, {"figure_5": {2: 0.75}}).to_numpy().T
    np.testing.assert_array_equal(near, np.full(20, 0.25))


def test_a_list_of_drugs_in_the_order_of_its_scores_tells_nothing():
    """Best anti-epileptic and worst pro-convulsant drugs first: chosen by the result. In another order it is a test."""
    made = (made_rows([[scores]], [1, 1, -1, -1]) for scores in ([0.9, 0.8, 0.1, 0.2], [0.8, 0.9, 0.1, 0.2]))
    tables = (rows.assign(convention="as_coded") for rows in made)
    chosen, other = (checks.recorded_hit_ratios({"ranks": [1]}, {"drug_simulator": table}) for table in tables)
    assert chosen.holds
    assert not chosen.informative
    assert other.holds
    assert other.informative


def test_a_section_falls_back_on_stand_in_data_and_says_so(data, capsys):
    """Data that belong to no experiment: their files are named where they are real, else a line says what they are."""
    nobody_has_it = raising(DataUnavailable("nobody has it"))
    section = Section("linear_topm", "05_drug_simulator", "laptop")
    assert section.data("drug_data", nobody_has_it, lambda: data, DATA_FILES) is data
    assert "STAND-IN DATA in drug_data: nobody has it" in capsys.readouterr().out
    assert section.stood_in
    section.data("drug_data", lambda: data, nobody_has_it, DATA_FILES)
    assert section.other_data["drug_data"] == tuple(DATA_FILES)
