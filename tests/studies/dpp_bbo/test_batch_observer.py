"""The observer of batched searches against a plain account of one run, and the values of claims and figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from refusals import refuses

from bestarm.policies.gaussian.batch_gp import ucb_dpp_sample
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_studies.dpp_bbo.batch_observer import BatchObserver
from bestarm_studies.dpp_bbo.candidate_arms import candidate_regret
from bestarm_studies.dpp_bbo.checks import floors_of, log_candidate_regret, log_observed_regret, log_regret
from bestarm_studies.dpp_bbo.fastxml.table import variance_shares
from bestarm_studies.dpp_bbo.gp_draws import gp_draw_instance, kernel_matrix
from bestarm_studies.dpp_bbo.series import KNOWN, frozen, learned, published
from bestarm_studies.dpp_bbo.synthetic.experiments import choices
from bestarm_studies.dpp_bbo.synthetic_functions import synthetic_instance
from bestarm_studies.dpp_bbo.values import floors, with_batches
from bestarm_studies.dpp_bbo.walker.lipschitz import gradient_norms, lipschitz_ratios

RUNS, ROUNDS = 3, 4


class Noted(BatchObserver):
    """An observer that also keeps what was asked."""

    def tell(self, state, asked, totals):
        self.asked = [*getattr(self, "asked", []), asked.arms.copy()]
        super().tell(state, asked, totals)


@pytest.fixture(scope="module")
def observed():
    problem = gp_draw_instance(n_arms=60, replications=RUNS, seed=3)
    observer = Noted(ucb_dpp_sample(batch=4, rounds=ROUNDS, model=KNOWN), problem)
    streams = Streams(0, problem.label, np.arange(RUNS))
    rows = simulate(observer, problem, streams, metrics={"candidate_regret": candidate_regret}, every=1)
    return problem, observer.asked, observer.findings(np.arange(RUNS)), rows


def test_the_observed_search_is_the_search(observed):
    problem, _, _, rows = observed
    policy = ucb_dpp_sample(batch=4, rounds=ROUNDS, model=KNOWN)
    streams = Streams(0, problem.label, np.arange(RUNS))
    again = simulate(policy, problem, streams, metrics={"candidate_regret": candidate_regret}, every=1)
    pd.testing.assert_frame_equal(rows, again)


def test_regrets_distances_and_volumes_are_those_of_a_plain_account(observed):
    problem, asked, findings, _ = observed
    for run in range(RUNS):
        f, x, tried = problem.means[run], problem.features, []
        for number, arms in enumerate(asked, start=1):
            batch = [int(a) for a in arms[run]]
            near = [min(np.linalg.norm(x[a] - x[b]) for b in tried) for a in batch] if tried else [np.nan]
            tried += batch
            line = findings[(findings["replication"] == run) & (findings["round"] == number)].iloc[0]
            pairs = [np.linalg.norm(x[a] - x[b]) for i, a in enumerate(batch) for b in batch[:i]]
            matrix = np.exp(-0.5 * (np.linalg.norm(x[batch][:, None] - x[batch], axis=-1) / (0.2 * 2**0.5)) ** 2)
            expected = {
                "total_regret": sum(f.max() - f[a] for a in tried),
                "best_regret": f.max() - max(f[a] for a in tried),
                "distance": np.mean(pairs) if pairs else np.nan,
                "nearest": np.mean(near),
                "volume": np.log(np.linalg.det(matrix + 0.01 * np.eye(len(batch)))),
            }
            for name, value in expected.items():
                np.testing.assert_allclose(line[name], value, rtol=1e-3, atol=1e-6, err_msg=name)


def test_findings_have_four_digits(observed):
    _, _, findings, _ = observed
    for value in findings["total_regret"]:
        assert float(f"{value:.3e}") == pytest.approx(float(value), rel=1e-6)


def test_draws_have_the_covariance_of_the_kernel_and_do_not_depend_on_their_number():
    many = gp_draw_instance(n_arms=12, lengthscale=0.3, replications=20_000)
    np.testing.assert_allclose(np.cov(many.means.T), kernel_matrix(many.features, 0.3), atol=0.04)
    few = gp_draw_instance(n_arms=12, lengthscale=0.3, replications=5)
    # products of matrices round by their size
    np.testing.assert_allclose(few.means, many.means[:5], rtol=0, atol=1e-14)
    refuses(lambda: gp_draw_instance(lengthscale=0.0), "lengthscale=0")


def test_every_objective_has_a_learned_and_a_frozen_model_of_its_dimension():
    for objective, d in {"Branin-Hoo": 2, "Hartmann-6": 6, "Cosines": 2, "robot": 8, "Abalone": 8}.items():
        assert (len(frozen(objective).lengthscale), frozen(objective).fit) == (d, "frozen")
        assert (learned(objective).fit, frozen(objective).offset) == ("map", learned(objective).offset)


def test_the_seven_searches_and_each_open_choice_differ():
    seven = published(10, learned("Cosines"))
    assert (list(seven), len(set(seven.values()))) == ([p.label for p in seven.values()], 7)
    assert all(p.batch == 10 and p.rounds == 20 for p in seven.values())
    changed = choices("Branin-Hoo", exchange=True)
    for name, policy in changed.items():
        base, _, change = name.partition(" | ")
        assert not change or getattr(policy, "policy", policy) != changed[base], name


def _rows(regrets: dict[str, list[list[float]]]) -> pd.DataFrame:
    rows = [(s, r, t, v) for s, runs in regrets.items() for r, run in enumerate(runs) for t, v in enumerate(run)]
    found = pd.DataFrame(rows, columns=["series", "replication", "round", "candidate_regret"])
    return found.assign(by_observed_mean=10 * found["candidate_regret"])


def test_log_regret_is_the_mean_over_batches_of_the_logarithm():
    cell = _rows({"A": [[1.0, 0.01], [0.1, 0.1]], "B": [[1.0, 1.0], [0.0, 0.0]]})
    found = log_candidate_regret(cell, {})
    np.testing.assert_allclose(found["A"], [-1.0, -1.0], atol=1e-4)
    np.testing.assert_allclose(found["B"], [0.0, -6.0], atol=1e-4)
    np.testing.assert_allclose(log_observed_regret(cell, {})["A"], [0.0, 0.0], atol=1e-4)


def test_claims_count_regret_from_the_maximum_of_the_domain():
    """With the floors of the experiment's own candidates, and without one where all arms are candidates."""
    cell = _rows({"A": [[0.3, 0.3], [0.0, 0.0]]})
    floor = floors(synthetic_instance("Branin-Hoo", replications=2))
    assert (floor > 0).all()
    found = log_regret(cell.assign(experiment="fig1_branin_b5"), {})
    np.testing.assert_allclose(found["A"], np.log10(np.array([0.3, 0.0]) + floor + 1e-6))
    whole = cell.assign(experiment="fig5_delicious_b5")
    pd.testing.assert_frame_equal(log_regret(whole, {}), log_candidate_regret(whole, {}))
    assert floors_of("fig1_branin_b5").shape == (50,)
    assert (floors_of("frozen_robot_b10") > 0).all()


def test_the_immediate_regret_adds_the_floor_of_the_run():
    problem = gp_draw_instance(n_arms=20, replications=2)
    rows = _rows({"A": [[3.0, 0.5], [3.0, 0.25], [3.0, 0.0]]})
    object.__setattr__(problem, "optimum", float(problem.means.max()) + 1.0)
    found = with_batches(rows.assign(round=rows["round"] + 1), problem).query("batch == 1")
    floor = problem.optimum - problem.means.max(axis=1)
    np.testing.assert_allclose(found["immediate_regret"], [0.5 + floor[0], 0.25 + floor[1], floor[0]])


def test_lipschitz_estimates_are_compared_in_the_units_of_the_objective():
    rows = pd.DataFrame({"series": "LP-UCB", "round": [1, 2, 3, 4, 5], "lipschitz": [np.nan, 9.0, 9.0, 2.0, 4.0]})
    assert lipschitz_ratios(rows.assign(scale=3.0), pd.Series([1.0, 6.0])).tolist() == [1.0, 2.0]


def test_gradient_norms_of_a_plane_and_of_a_parabola():
    points = np.random.default_rng(0).random((50, 3))
    np.testing.assert_allclose(gradient_norms(lambda x: x @ [3.0, 4.0, 12.0], points, 0.01), 13.0)
    expected = 2 * np.linalg.norm(np.clip(points, 0.01, 0.99), axis=1)
    np.testing.assert_allclose(gradient_norms(lambda x: (x**2).sum(axis=-1), points, 0.01), expected)


def test_variance_shares_of_an_additive_table_add_up_to_one():
    grid = pd.MultiIndex.from_product([range(3)] * 5, names=["trees", "bias", "cost", "leaf", "labels"]).to_frame(False)
    shares = variance_shares(grid.assign(p1=3.0 * grid["trees"] + grid["leaf"]))
    np.testing.assert_allclose(shares, [0.9, 0.0, 0.0, 0.1, 0.0], atol=1e-12)
