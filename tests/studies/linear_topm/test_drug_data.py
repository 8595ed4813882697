"""How much of the 180 recorded simulations of the drug-repurposing instance can be recomputed from the real files.

Patients' binary phenotypes, signatures, masked states, target, score and baseline are recomputed exactly, 180 of 180;
every treated state is a fixed point of the network with no gene clamped, and can be reached from the masked state. The
direction behind the target is found again up to 97 signs of 6,940. Not recoverable: which of several attractors the
authors' solver returned (it was free to choose), and how signatures came from expression (profiles are not public).
"""

from itertools import product

import numpy as np
import pytest
from boolean_rules import forced_values, read_edges, read_rules
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from bestarm.streams import Streams
from bestarm_lab.paths import RAW_DATA, data_mirror
from bestarm_objectives.drug import files
from bestarm_objectives.drug.boolean_network import is_fixed_point, next_states, settle
from bestarm_objectives.drug.characteristic_direction import binarize_direction, characteristic_direction
from bestarm_objectives.drug.files import read_simulation_log
from bestarm_objectives.drug.gene_table import UNKNOWN, GeneTable
from bestarm_objectives.drug.rein_model import read_model, read_observations
from bestarm_objectives.drug.simulator import hit_ratio, reversion_score, simulator_from_tables

FOLDER = "drug-repurposing"
AUTHORS_FILES = (
    "rewards_cosine_10drugs_18samples.csv",
    "rewards_cosine_10drugs_18samples.txt",
    "epilepsy_signatures.csv",
    "epilepsy_signatures_nonbinarized.csv",
    "epilepsy_signatures_binarized.csv",
    "epilepsy_scores.csv",
    "epilepsy_phenotype.csv",
    "epilepsy_phenotype_nonbinarized.csv",
    "GSE77578_controls.csv",
    "GSE77578_patients.csv",
    "GRN/report_model1_solution.net",
    "GRN/model1.net",
    "GRN/observations1.spec",
    "GRN/simplified--result_m30_model1.net_model1.txt",
)
ANTI_EPILEPTIC = np.array([drug.label > 0 for drug in files.DRUGS])


def find(name):
    places = [folder / FOLDER / f"{name}{packed}" for folder in (RAW_DATA, data_mirror()) for packed in ("", ".gz")]
    return next((path for path in places if path.is_file()), None)


MISSING = [name for name in AUTHORS_FILES if find(name) is None]
if MISSING:
    pytest.skip(
        f"{FOLDER}: {len(MISSING)} of {len(AUTHORS_FILES)} files are neither in data/raw nor in the mirror "
        f"(BESTARM_DATA), first {MISSING[0]}",
        allow_module_level=True,
    )


def authors_file(name):
    assert name in AUTHORS_FILES
    return find(name)


@pytest.fixture(scope="module")
def network():
    return read_model(authors_file("GRN/report_model1_solution.net"))


@pytest.fixture(scope="module")
def patients():
    return files.read_expression(authors_file("GSE77578_patients.csv"), files.N_PATIENTS)


@pytest.fixture(scope="module")
def log(network):
    return read_simulation_log(authors_file("rewards_cosine_10drugs_18samples.txt"), network.genes)


@pytest.fixture(scope="module")
def rewards():
    return files.read_rewards(authors_file("rewards_cosine_10drugs_18samples.csv"))


@pytest.fixture(scope="module")
def signatures():
    return files.read_signatures(authors_file("epilepsy_signatures_nonbinarized.csv"))


@pytest.fixture(scope="module")
def simulator(network, patients):
    return simulator_from_tables(
        "drug simulator",
        network,
        patients,
        files.read_binary_signatures(authors_file("epilepsy_signatures_binarized.csv")),
        files.read_binary_phenotype(authors_file("epilepsy_phenotype.csv")),
        [(drug.name, drug.cid) for drug in files.DRUGS],
    )


# The recorded simulations


def test_the_columns_of_the_reward_table_are_in_our_order_of_drugs(rewards, log):
    np.testing.assert_allclose(rewards.values[log.patients, log.drugs], log.rewards, atol=1e-12)
    assert (log.labels == np.where(ANTI_EPILEPTIC, 1, -1)[log.drugs]).all()
    order_of_the_log = log.drugs[: len(files.DRUGS)]
    # so columns taken in that order belong to others, but to others of the same half
    assert (order_of_the_log != np.arange(len(files.DRUGS))).sum() >= 8
    assert set(order_of_the_log[:5]) == set(range(5))


def test_phenotypes_signatures_masked_states_and_target_are_recomputed_exactly(simulator, log):
    np.testing.assert_array_equal(simulator.phenotypes[log.patients], log.initial)
    np.testing.assert_array_equal(simulator.signatures[log.drugs], log.drug)
    np.testing.assert_array_equal(simulator.initial_states()[log.patients, log.drugs], log.masked)
    np.testing.assert_array_equal(np.broadcast_to(simulator.target, log.target.shape), log.target)
    assert (simulator.target != UNKNOWN).sum() == 50


def test_every_recorded_reward_is_the_cosine_of_treated_state_and_target(simulator, log):
    np.testing.assert_allclose(simulator.score(log.treated), log.rewards, atol=1e-12)


def test_two_patients_have_the_same_binary_phenotype_hence_the_same_rewards(simulator, rewards, patients):
    np.testing.assert_array_equal(simulator.phenotypes[7], simulator.phenotypes[17])
    np.testing.assert_array_equal(rewards.values[7], rewards.values[17])
    assert len(np.unique(simulator.phenotypes, axis=0)) == 17
    assert len(np.unique(patients.values, axis=1).T) == 18


def test_treated_states_are_fixed_points_with_no_gene_clamped(network, log):
    assert is_fixed_point(network, log.treated).all()
    assert not is_fixed_point(network, log.treated, clamp=log.drug).any()
    assert ((log.treated != log.drug) & (log.drug != UNKNOWN)).any(axis=1).all()  # each run undoes part of its drug


def test_every_recorded_attractor_can_be_reached_from_its_masked_state(network, log):
    """Start unknown genes near the recorded attractor; try harder where 1,000 runs do not find it."""
    for run, (masked, treated) in enumerate(zip(log.masked, log.treated, strict=True)):
        rng = np.random.default_rng(run)
        for n_runs, share_known in ((1000, 1.0), (20_000, 0.7)):
            near = np.where(rng.random((n_runs, network.n_genes)) < share_known, treated, UNKNOWN)
            initial = np.where(masked != UNKNOWN, masked, near).astype(np.int8)
            settled = settle(network, initial, Streams.first(n_runs, instance=f"reach {run}"))
            if reached := (settled.states == treated).all(axis=1).any():
                break
        assert reached, f"simulation {run}"


def test_baseline_scores_are_recomputed_exactly(network, signatures, log):
    """Algorithm 3 prints a binary direction; the recorded scores use the real-valued one, on 12 genes."""
    disease = files.read_phenotype(authors_file("epilepsy_phenotype_nonbinarized.csv")).on(network.genes)[0]
    drugs = signatures.select([drug.cid for drug in files.DRUGS]).on(network.genes)
    scores = reversion_score(disease, drugs)
    np.testing.assert_allclose(scores[log.drugs], log.baselines, atol=1e-12)
    assert (np.isfinite(disease) & np.isfinite(drugs[0])).sum() == 12
    assert [float(hit_ratio(scores, ANTI_EPILEPTIC, rank)) for rank in (1, 2, 5, 10)] == [0, 0.5, 0.6, 0.5]


def test_hit_ratios_of_the_recorded_rewards(rewards):
    means = rewards.values.mean(axis=0)
    assert [float(hit_ratio(means, ANTI_EPILEPTIC, rank)) for rank in (1, 2, 5, 10)] == [1, 1, 1, 0.5]


def test_trajectories_drawn_at_random_do_not_separate_the_drugs_as_recorded(simulator, rewards):
    """The solver chose among attractors; drawn at random from the same states, no table has its gap of the halves."""
    tables = simulator.rewards(Streams.first(100))
    assert np.isfinite(tables).all()
    gaps = tables[..., ANTI_EPILEPTIC].mean(axis=(1, 2)) - tables[..., ~ANTI_EPILEPTIC].mean(axis=(1, 2))
    assert gaps.max() < (rewards.values[:, ANTI_EPILEPTIC].mean() - rewards.values[:, ~ANTI_EPILEPTIC].mean())
    assert hit_ratio(tables.mean(axis=(0, 1)), ANTI_EPILEPTIC, 5) < 1


# The network (Figure 4, Table 6)


def test_the_authors_network_has_101_genes_and_84_edges(network):
    assert (network.n_genes, len(network.edges)) == (101, 84)
    assert sum(edge.sign > 0 for edge in network.edges) == 79
    assert network.perturbed == ("SOD1", "SYT1", "CACNA1C", "KCNA2", "CDC42")
    assert len({gene for edge in network.edges for gene in edge[:2]}) == 74  # 27 genes have no edge left
    candidates = read_edges(authors_file("GRN/model1.net"))
    assert len(candidates) == 268
    assert set(network.edges) <= set(candidates)


def test_model_and_simplified_rules_are_the_same_network(network):
    rules = read_rules(authors_file("GRN/simplified--result_m30_model1.net_model1.txt"))
    assert rules.genes == network.genes
    every_pattern = np.array(list(product((0, 1), repeat=network.regulators.shape[1])), dtype=np.int8)
    for gene in range(network.n_genes):
        read = sorted(set(network.regulators[gene]) | set(rules.regulators[gene]) - {-1})
        read = [regulator for regulator in read if regulator >= 0]
        states = np.zeros((len(every_pattern), network.n_genes), dtype=np.int8)
        states[:, read] = every_pattern[:, : len(read)]
        np.testing.assert_array_equal(next_states(network, states)[:, gene], next_states(rules, states)[:, gene])


def test_the_network_has_16384_fixed_points_that_differ_in_37_genes(network, log):
    """Undetermined genes fall into small groups that do not read each other: count fixed points in each."""
    forced = forced_values(network)
    free = np.flatnonzero(forced == UNKNOWN)
    assert len(free) == 37
    assert (log.treated[:, forced != UNKNOWN] == forced[forced != UNKNOWN]).all()
    pairs = [(g, r) for g in free for r in network.regulators[g] if r >= 0 and forced[r] == UNKNOWN]
    rows, columns = np.array(pairs).T
    shape = (network.n_genes, network.n_genes)
    _, group = connected_components(coo_array((np.ones(len(pairs)), (rows, columns)), shape=shape), directed=False)
    n_fixed_points = 1
    for label in set(group[free]):
        members = free[group[free] == label]
        states = np.tile(np.where(forced == UNKNOWN, 0, forced).astype(np.int8), (2 ** len(members), 1))
        states[:, members] = np.array(list(product((0, 1), repeat=len(members))))
        n_fixed_points *= int((next_states(network, states) == states)[:, members].all(axis=1).sum())
    assert n_fixed_points == 2**14


def test_the_network_explains_the_three_knock_downs(network):
    """From the observed initial state, with the gene held at 0, some run ends in the observed final state."""
    observations = read_observations(authors_file("GRN/observations1.spec"))
    assert [observation.knocked_down for observation in observations] == [("CACNA1C",), ("CDC42",), ("KCNA2",)]
    assert [len(observation.initial) for observation in observations] == [66, 66, 66]
    assert [len(observation.final) for observation in observations] == [21, 22, 34]
    for observation in observations:
        initial, final, clamp = (
            np.array([values.get(gene, UNKNOWN) for gene in network.genes], dtype=np.int8)
            for values in (observation.initial, observation.final, dict.fromkeys(observation.knocked_down, 0))
        )
        settled = settle(network, np.tile(initial, (20_000, 1)), Streams.first(20_000), clamp=clamp)
        assert ((settled.states == final) | (final == UNKNOWN)).all(axis=1).any()


# Expression, phenotype, signatures


def test_the_direction_of_patients_against_controls_is_nearly_the_authors_one(patients, network):
    """No shrinkage, all axes: correlation above 0.999 on the authors' genes, 97 of 6,940 signs differ (1 of 50)."""
    controls = files.read_expression(authors_file("GSE77578_controls.csv"), files.N_CONTROLS)
    assert controls.genes == patients.genes
    change = characteristic_direction(patients.values.T, controls.values.T)[:, None]
    direction = GeneTable(patients.genes, ("CD",), change)
    real = files.read_phenotype(authors_file("epilepsy_phenotype_nonbinarized.csv"))
    found = direction.on(real.genes)[0]
    common = np.isfinite(found)
    assert common.sum() == 1712  # of 1,733; the others carry names that the expression files lack
    assert np.corrcoef(found[common], real.values[common, 0])[0, 1] > 0.999
    binary = files.read_binary_phenotype(authors_file("epilepsy_phenotype.csv"))
    ours = binarize_direction(direction.values[:, 0])
    assert len(binary.genes) == 6940
    assert np.isfinite(binary.values).all()  # every gene has a value: none is left out as not significant
    assert (ours == binary.on(patients.genes)[0]).sum() == pytest.approx(6940 - 97, abs=2)  # near-zero entries
    inside = np.isin(patients.genes, network.genes)
    assert (inside.sum(), (ours == binary.on(patients.genes)[0])[inside].sum()) == (50, 49)


def test_the_two_signature_files_hold_the_same_profiles_under_different_gene_names(signatures, network):
    """52 genes are named in both, 52 rows of one match a row of the other, and one match has the same name."""
    features = files.read_signatures(authors_file("epilepsy_signatures.csv"))
    assert features.profiles == signatures.profiles
    assert set(features.genes) <= set(network.genes)
    assert len(set(features.genes) & set(signatures.genes)) == 52
    assert len(set(signatures.genes) - set(network.genes)) == 15
    correlation = np.corrcoef(features.values, signatures.values)[: len(features.genes), len(features.genes) :]
    rows, columns = linear_sum_assignment(-correlation)
    matched = [(features.genes[i], signatures.genes[j]) for i, j in zip(rows, columns, strict=True)]
    matched = [pair for pair, r in zip(matched, correlation[rows, columns], strict=True) if r > 0.9]
    assert (len(matched), [pair for pair in matched if pair[0] == pair[1]]) == (52, [("CACNG2", "CACNG2")])


def test_binary_signatures_are_not_the_signs_of_the_real_valued_ones(signatures):
    binary = files.read_binary_signatures(authors_file("epilepsy_signatures_binarized.csv"))
    assert binary.genes == signatures.genes
    states = binary.select(signatures.profiles).values
    decided = np.isfinite(states)
    assert (decided.sum(), (decided & ((states == 1) != (signatures.values > 0))).sum()) == (18_875, 5_914)


def test_the_ten_drugs_carry_the_labels_of_the_label_file(log):
    labels = files.read_drug_labels(authors_file("epilepsy_scores.csv"))
    assert [int((labels.labels == label).sum()) for label in (1, 0, -1)] == [18, 482, 9]
    for drug in files.DRUGS:
        row = labels.cids.index(drug.cid)
        assert (labels.names[row].lower(), labels.labels[row]) == (drug.name.lower(), drug.label)
