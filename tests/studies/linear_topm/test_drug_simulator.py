"""The drug simulator and its parts: masking, scores, binarisation, characteristic direction, stand-in data."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refused, refuses

from bestarm.streams import Streams
from bestarm_objectives.drug import histogram_binarization
from bestarm_objectives.drug.boolean_network import Edge, is_fixed_point
from bestarm_objectives.drug.characteristic_direction import binarize_direction, characteristic_direction
from bestarm_objectives.drug.gene_table import UNKNOWN
from bestarm_objectives.drug.histogram_binarization import binarize_via_histogram, histogram_thresholds
from bestarm_objectives.drug.rein_model import Observation, network_from_conditions
from bestarm_objectives.drug.simulator import DrugSimulator, cosine_score, hit_ratio, mask, reversion_score
from bestarm_objectives.drug.stand_in import stand_in_drug_data
from bestarm_studies.linear_topm.drug_simulator.checks import counted


def test_masking_table():
    """Rows: phenotype 0, 1, unknown; columns: signature 0, 1, unknown."""
    values = np.array([0, 1, UNKNOWN], dtype=np.int8)
    np.testing.assert_array_equal(mask(values[:, None], values[None]), [[0, 1, 0], [0, 1, 1], [0, 1, UNKNOWN]])


@given(vectors=arrays(np.int8, (2, 12), elements=st.integers(0, 1)), support=arrays(np.bool_, 12))
def test_cosine_of_binary_vectors_lies_in_the_unit_interval(vectors, support):
    first, second = vectors
    score = cosine_score(first, second, support)
    ones = (first[support].sum(), second[support].sum())
    if 0 in ones:
        assert np.isnan(score)
    else:
        assert score == pytest.approx((first & second)[support].sum() / np.sqrt(ones[0] * ones[1]))
        assert 0 <= score <= 1 + 1e-12


def test_reversion_score_of_equal_orthogonal_and_opposite_signatures():
    disease = np.array([3.0, -4.0, np.nan, 0.0])
    signatures = np.array([[3.0, -4.0, 5.0, 0.0], [4.0, 3.0, -9.0, np.nan], [-6.0, 8.0, 1.0, 0.0]])
    np.testing.assert_allclose(reversion_score(disease, signatures), [0, 1, 2], atol=1e-12)


def test_hit_ratios_of_a_ranking():
    scores, positive = np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False])
    assert [float(hit_ratio(scores, positive, rank)) for rank in (1, 2, 3, 4)] == [1, 0.5, pytest.approx(2 / 3), 0.5]
    np.testing.assert_allclose(hit_ratio(np.stack([scores, scores[::-1]]), positive, 1), [1, 0])
    assert hit_ratio(np.array([np.nan, 0.1, 0.2, 0.3]), positive, 3) == pytest.approx(1 / 3)
    refuses(lambda: hit_ratio(scores, positive, 5), "between 1 and the number of drugs 4, got 5")


def test_hit_ratio_under_ties_is_the_expectation_over_random_ties():
    scores, positive = np.array([0.5, 0.5, 0.5, 0.9, 0.1]), np.array([True, False, False, True, True])
    rng, n_draws = np.random.default_rng(0), 4000
    found = hit_ratio(scores + 1e-9 * rng.random((n_draws, 5)), positive, 2)
    assert abs(found.mean() - hit_ratio(scores, positive, 2)) < 4 * found.std() / np.sqrt(n_draws)
    assert hit_ratio(scores, positive, 2) == pytest.approx((1 + 1 / 3) / 2)


def test_persistence_of_a_sequence_by_hand():
    peaks = histogram_binarization.persistent_peaks(np.array([1, 6, 2, 9, 3, 4, 0]))
    assert [(peak.place, peak.persistence) for peak in peaks] == [(3, np.inf), (1, 4.0), (5, 1.0)]


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=15, unique=True))
def test_persistence_of_a_peak_is_its_prominence(counts):
    """Prominence: how far one must go down from a peak to reach a higher place."""
    counts = np.array(counts)
    padded = np.concatenate([[-1], counts, [-1]])
    expected = {}
    for peak in np.flatnonzero((padded[1:-1] > padded[:-2]) & (padded[1:-1] > padded[2:])):
        higher = np.flatnonzero(counts > counts[peak])
        passes = [counts[min(peak, other) : max(peak, other) + 1].min() for other in higher]
        expected[int(peak)] = counts[peak] - max(passes) if passes else np.inf
    found = histogram_binarization.persistent_peaks(counts)
    assert {peak.place: peak.persistence for peak in found} == expected
    assert np.all(np.diff([-peak.persistence for peak in found[1:]]) >= 0)


def test_binarisation_of_a_bimodal_profile_finds_the_two_modes():
    on = np.repeat([False, True], 500)
    profile = np.where(on, 12.0, 6.0) + 0.5 * np.random.default_rng(5).standard_normal(1000)
    bin_width = np.ptp(profile) / 20
    lower, upper = histogram_thresholds(profile)
    assert abs(lower - 6.0) < 2 * bin_width
    assert abs(upper - 12.0) < 2 * bin_width
    state = binarize_via_histogram(profile[None])[0]
    assert (state[~on] != 1).all()
    assert (state[on] != 0).all()
    np.testing.assert_array_equal(state == UNKNOWN, (profile >= lower) & (profile <= upper))


def test_binarisation_of_a_single_peak_keeps_its_bin_unknown():
    profile = np.concatenate([np.full(10, 0.5), np.full(20, 1.5), np.full(50, 2.5), np.full(8, 3.5), [0.0, 4.0]])
    assert histogram_thresholds(profile, n_bins=4) == (2.0, 3.0)
    found = binarize_via_histogram(np.array([profile]), n_bins=4)[0]
    np.testing.assert_array_equal(found[[0, 10, 30, 80]], [0, 0, UNKNOWN, 1])


def test_binarisation_with_the_peak_in_the_first_bin_widens_by_the_spread_of_the_edges():
    profile = np.concatenate([np.full(50, 0.5), np.full(20, 1.5), np.full(10, 2.5), [0.0, 4.0]])
    assert histogram_thresholds(profile, n_bins=4) == (1.0, pytest.approx(1.0 + np.std([0, 1, 2, 3, 4])))


def test_profiles_that_cannot_be_binarised_are_refused():
    refuses(lambda: binarize_via_histogram(np.array([[1.0, 2.0, 3.0]])), "no bin holds more than 5 of 3 genes")
    refuses(lambda: binarize_via_histogram(np.full((1, 30), np.nan)), "must be finite")


def two_groups(n_profiles, n_genes, seed):
    """Return Gaussian groups, their covariance and the difference of their means."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n_genes, n_genes)) / np.sqrt(n_genes) + np.eye(n_genes)
    difference = rng.standard_normal(n_genes)
    group, reference = (rng.standard_normal((n_profiles, n_genes)) @ root.T for _ in range(2))
    return group + difference, reference, root @ root.T, difference


def test_with_many_profiles_the_direction_is_that_of_linear_discriminant_analysis():
    group, reference, covariance, difference = two_groups(200_000, 5, seed=2)
    expected = np.linalg.solve(covariance, difference)
    direction = characteristic_direction(group, reference)
    assert direction @ expected / np.linalg.norm(expected) > 1 - 1e-4
    assert np.linalg.norm(direction) == pytest.approx(1.0)


def test_without_covariance_the_direction_is_the_difference_of_the_means():
    group, reference, _, _ = two_groups(6, 40, seed=3)
    difference = group.mean(axis=0) - reference.mean(axis=0)
    found = characteristic_direction(group, reference, gamma=0.0)
    np.testing.assert_allclose(found, difference / np.linalg.norm(difference), atol=1e-12)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), gamma=st.floats(0, 1), n_genes=st.integers(3, 30))
def test_the_direction_is_odd_and_knows_no_origin_and_no_scale(seed, gamma, n_genes):
    group, reference, _, _ = two_groups(8, n_genes, seed)
    direction = characteristic_direction(group, reference, gamma=gamma)
    np.testing.assert_allclose(characteristic_direction(reference, group, gamma=gamma), -direction, atol=1e-7)
    shift = np.arange(n_genes)
    moved = characteristic_direction(2.5 * group + shift, 2.5 * reference + shift, gamma=gamma)
    np.testing.assert_allclose(moved, direction, atol=1e-7)


def test_with_a_singular_covariance_the_direction_is_the_limit_of_vanishing_shrinkage():
    group, reference, _, _ = two_groups(5, 50, seed=4)  # 10 profiles, 50 genes: the covariance has rank 8 on 9 axes
    limit = characteristic_direction(group, reference, gamma=1 - 1e-9)
    np.testing.assert_allclose(characteristic_direction(group, reference), limit, atol=1e-6)


def test_directions_are_binarised_by_sign():
    direction = np.array([0.8, -0.59, 0.1, 0.0, -0.05])
    np.testing.assert_array_equal(binarize_direction(direction), [1, 0, 1, UNKNOWN, 0])
    found = binarize_direction(direction, significant=np.arange(5) < 2)
    np.testing.assert_array_equal(found, [1, 0, UNKNOWN, UNKNOWN, UNKNOWN])


test_groups_without_a_direction_are_refused = refused(
    lambda group, reference, settings: characteristic_direction(group, reference, **settings),
    (np.ones((3, 4)), np.ones((3, 5)), {}, "same genes"),
    (np.ones((3, 4)), np.full((3, 4), np.inf), {}, "must be finite"),
    (np.ones((3, 4)), np.zeros((3, 4)), {"gamma": 1.5}, "gamma must lie"),
    (np.ones((1, 4)), np.zeros((1, 4)), {}, "at least 3 profiles"),
    (np.eye(4), np.eye(4)[::-1], {}, "equal means"),
)


def loop_simulator(**changes):
    """Two independent loops A1 <-> A2 and B1 <-> B2; the target wants the first on and the second off."""
    pairs = [("A1", "A2"), ("A2", "A1"), ("B1", "B2"), ("B2", "B1")]
    genes = ["A1", "A2", "B1", "B2"]
    fields = {
        "network": network_from_conditions(genes, [Edge(a, b, 1) for a, b in pairs], dict.fromkeys(genes, 8)),
        "phenotypes": np.array([[0, 0, 1, 1]], dtype=np.int8),
        "signatures": np.array([[1, 1, 0, 0], [UNKNOWN] * 4, [1, UNKNOWN, UNKNOWN, UNKNOWN]], dtype=np.int8),
        "target": np.array([1, 1, 0, 0], dtype=np.int8),
        "drugs": ("cure", "nothing", "half"),
    }
    return DrugSimulator("loops", **(fields | changes))


def test_a_drug_that_sets_the_target_scores_one_and_an_idle_one_zero():
    rewards = loop_simulator().rewards(Streams.first(5))
    assert rewards.shape == (5, 1, 3)
    np.testing.assert_allclose(rewards[:, 0, 0], 1.0)
    np.testing.assert_allclose(rewards[:, 0, 1], 0.0)


def test_an_undecided_loop_falls_either_way_unless_clamped():
    """A1 = 1, A2 = 0: whichever changes first decides; held at 1, A1 switches A2 on. Then 2 of 4 ones are right."""
    n_runs = 2000
    free = loop_simulator().rewards(Streams.first(n_runs))[:, 0, 2]
    on = np.cos(np.pi / 4)  # phenotype 1111 against 1100
    assert set(np.round(free, 6)) == {0.0, round(on, 6)}
    assert abs(np.mean(free > 0) - 0.5) < 4 * np.sqrt(0.25 / n_runs)
    np.testing.assert_allclose(loop_simulator(clamped=True).rewards(Streams.first(20))[:, 0, 2], on)


def test_a_network_without_fixed_point_has_no_reward():
    edges, conditions = [Edge("A1", "A2", 1), Edge("A2", "A1", -1)], dict.fromkeys(["A1", "B1", "B2"], 9) | {"A2": 8}
    oscillating = network_from_conditions(["A1", "A2", "B1", "B2"], edges, conditions)
    assert np.isnan(loop_simulator(network=oscillating, n_starts=2, max_changes=50).rewards(Streams.first(2))).all()


def test_runs_are_named_by_patient_and_drug():
    """Another patient or drug, or more runs, changes no reward."""
    simulator = stand_in_drug_data(1).simulator()
    some = {"signatures": simulator.signatures[3:5], "drugs": simulator.drugs[3:5]}
    fewer = replace(simulator, phenotypes=simulator.phenotypes[:2], **some)
    np.testing.assert_array_equal(fewer.rewards(Streams.first(2)), simulator.rewards(Streams.first(4))[:2, :2, 3:5])


@pytest.mark.parametrize("clamped", [False, True])
def test_stand_in_data_have_the_schema_of_the_real_ones_and_give_rewards(clamped):
    data = stand_in_drug_data(0)
    assert (data.patients.values.shape, data.controls.values.shape) == ((1000, 18), (1000, 17))
    assert data.signatures.values.shape == data.binary_signatures.values.shape == (60, 10)
    np.testing.assert_allclose(np.linalg.norm(data.signatures.values, axis=0), 1.0)
    assert all("stand-in" in name for name in (*data.patients.profiles, *data.controls.profiles))
    simulator = data.simulator(clamped=clamped)
    assert simulator.data == "stand-in"
    states = simulator.predict_phenotypes(0, 0, Streams.first(20))
    assert is_fixed_point(simulator.network, states, simulator.signatures[0] if clamped else None).all()
    rewards = simulator.rewards(Streams.first(3))
    assert ((rewards >= 0) & (rewards <= 1)).all()


def test_shapes_that_do_not_fit_the_network_are_refused():
    refuses(lambda: loop_simulator(target=np.zeros(3, dtype=np.int8)), r"target must have shape \(4,\), got \(3,\)")
    refuses(lambda: loop_simulator(drugs=("cure",)), r"signatures must have shape \(1, 4\)")


@pytest.mark.parametrize(("within", "holds"), [(0.0, False), (0.2, False), (0.5, True)])
def test_values_of_experiments_are_counted_up_to_a_margin(within, holds):
    experiments = [Observation("", (name,), {}, dict.fromkeys(range(n), 1)) for name, n in (("A", 4), ("B", 6))]
    decision = counted(experiments, {"of": "final", "printed": 4, "within": within})
    assert decision == (holds, "A: 4, B: 6 (printed 4)", True, "")
