"""Boolean networks: regulation conditions, fixed points, asynchronous dynamics, the Re:In format."""

from itertools import product

import numpy as np
import pytest
from boolean_rules import forced_values, parse_rules
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused, refuses

from bestarm.streams import Streams, uniform
from bestarm_objectives.drug import rein_model
from bestarm_objectives.drug.boolean_network import BooleanNetwork, Edge, is_fixed_point, next_states, settle
from bestarm_objectives.drug.gene_table import UNKNOWN
from bestarm_objectives.drug.rein_model import network_from_conditions, parse_edges, parse_model, parse_observations
from bestarm_objectives.drug.stand_in import stand_in_network


def all_states(n_genes):
    return np.array(list(product((0, 1), repeat=n_genes)), dtype=np.int8)


def one_gene(condition, n_activators, n_repressors):
    """Return the network of a gene G and its regulators A0, A1, ..., R0, R1, ..., which keep their state."""
    activators, repressors = [f"A{i}" for i in range(n_activators)], [f"R{i}" for i in range(n_repressors)]
    edges = [Edge(a, "G", 1) for a in activators] + [Edge(r, "G", -1) for r in repressors]
    genes = [*activators, *repressors, "G"]
    kept = [Edge(gene, gene, 1) for gene in genes[:-1]]
    return network_from_conditions(genes, edges + kept, dict.fromkeys(genes[:-1], 8) | {"G": condition})


def toggle_switch():
    """Two genes that repress each other: the fixed points are (0, 1) and (1, 0)."""
    return network_from_conditions(["A", "B"], [Edge("A", "B", -1), Edge("B", "A", -1)], {"A": 9, "B": 9})


def negative_loop():
    """A switches B on, B switches A off: no fixed point."""
    return network_from_conditions(["A", "B"], [Edge("A", "B", 1), Edge("B", "A", -1)], {"A": 9, "B": 8})


@pytest.mark.parametrize("condition", range(18))
def test_one_activator_and_one_repressor_leave_four_functions(condition):
    """With one of each, "all" equals "some": a and not r, a, not r, and a or not r are what remains."""
    states = all_states(3)  # A0, R0, G
    a, r = states[:, 0] == 1, states[:, 1] == 1
    expected = a & ~r
    if condition in (4, 5, 7, 8):
        expected = a
    elif 9 <= condition <= 12:
        expected = ~r
    elif condition >= 13:
        expected = a | ~r
    np.testing.assert_array_equal(next_states(one_gene(condition, 1, 1), states)[:, 2], expected)


@given(condition=st.integers(0, 19), n_activators=st.integers(0, 3), n_repressors=st.integers(0, 3))
def test_activators_never_switch_off_and_repressors_never_on(condition, n_activators, n_repressors):
    network = one_gene(condition, n_activators, n_repressors)
    states = all_states(network.n_genes)
    for regulator in range(network.n_genes - 1):
        off, on = states.copy(), states.copy()
        off[:, regulator], on[:, regulator] = 0, 1
        change = next_states(network, on)[:, -1].astype(int) - next_states(network, off)[:, -1]
        assert (change >= 0).all() if regulator < n_activators else (change <= 0).all()


@pytest.mark.parametrize("condition", range(18))
@pytest.mark.parametrize(("n_activators", "n_repressors", "state"), [(2, 0, 0), (0, 2, 1)])
def test_idle_activators_alone_leave_a_gene_off_and_idle_repressors_on(condition, n_activators, n_repressors, state):
    states = all_states(3)
    idle = (states[:, :2] == 0).all(axis=1)
    assert (next_states(one_gene(condition, n_activators, n_repressors), states)[idle, 2] == state).all()


def test_threshold_conditions_follow_the_majority():
    states = all_states(4)  # A0, A1, R0, G
    lead = states[:, :2].sum(axis=1).astype(int) - states[:, 2]
    np.testing.assert_array_equal(next_states(one_gene(19, 2, 1), states)[:, 3], lead > 0)
    own = states[:, 3] == 1
    np.testing.assert_array_equal(next_states(one_gene(18, 2, 1), states)[:, 3], (lead > 0) | ((lead == 0) & own))


def test_a_toggle_switch_has_two_fixed_points_and_falls_into_each_half_of_the_time():
    network, n_runs = toggle_switch(), 4000
    np.testing.assert_array_equal(is_fixed_point(network, all_states(2)), [False, True, True, False])
    settled = settle(network, np.full((n_runs, 2), UNKNOWN, dtype=np.int8), Streams.first(n_runs, seed=1))
    assert (settled.states.sum(axis=1) == 1).all()
    assert abs(settled.states[:, 0].mean() - 0.5) < 4 * np.sqrt(0.25 / n_runs)
    assert set(settled.changes) == {0, 1}


def test_without_a_fixed_point_a_run_is_given_up():
    settled = settle(negative_loop(), np.zeros((3, 2), dtype=np.int8), Streams.first(3), max_changes=30, n_starts=2)
    assert (settled.changes == -1).all()
    assert (settled.states == UNKNOWN).all()


def test_a_clamped_gene_is_held_and_can_create_a_fixed_point():
    clamp = np.array([UNKNOWN, 0], dtype=np.int8)  # B knocked down: A goes on
    settled = settle(negative_loop(), np.zeros((1, 2), dtype=np.int8), Streams.first(1), clamp=clamp)
    np.testing.assert_array_equal(settled.states, [[1, 0]])
    assert is_fixed_point(negative_loop(), settled.states, clamp).all()
    assert not is_fixed_point(negative_loop(), settled.states).any()


def settle_naively(network, initial, clamp, streams, max_changes, n_starts):
    """The same dynamics, one run at a time, from the definition: change a gene that its function disagrees with."""
    key, ends = streams.key("network"), []
    for r, row, held in zip(streams.replications, initial, clamp, strict=True):
        end = np.full(network.n_genes, UNKNOWN)
        for start in range(n_starts):
            draws = (uniform(key, r, start, number) for number in range(10**6))
            state = np.where(held != UNKNOWN, held, row)
            state = np.array([int(next(draws) < 0.5) if value == UNKNOWN else value for value in state], dtype=np.int8)
            for _ in range(max_changes + 1):
                unstable = np.flatnonzero(next_states(network, state[None], held)[0] != state)
                if not len(unstable):
                    break
                state[unstable[int(next(draws) * len(unstable))]] ^= 1
            if is_fixed_point(network, state[None], held)[0]:
                end = state
                break
        ends.append(end)
    return np.array(ends)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), n_genes=st.integers(3, 12))
def test_settle_agrees_with_the_naive_loop_and_ends_in_fixed_points(seed, n_genes):
    rng = np.random.default_rng(seed)
    network = stand_in_network(rng, n_genes=n_genes, max_regulators=2)
    initial = rng.integers(-1, 2, size=(6, n_genes)).astype(np.int8)
    clamp = np.where(rng.random((6, n_genes)) < 0.2, rng.integers(0, 2, size=(6, n_genes)), UNKNOWN).astype(np.int8)
    streams = Streams.first(6, seed=seed)
    settled = settle(network, initial, streams, clamp=clamp, max_changes=40, n_starts=3)
    expected = settle_naively(network, initial, clamp, streams, 40, 3)
    found = settled.changes >= 0
    np.testing.assert_array_equal(settled.states[found], expected[found])
    assert is_fixed_point(network, settled.states[found], clamp[found]).all()
    assert (settled.states[~found] == UNKNOWN).all()
    forced = np.array([forced_values(network, held) for held in clamp[found]]).reshape(-1, n_genes)
    assert (settled.states[found] == forced)[forced != UNKNOWN].all()


def test_constants_propagate():
    network = parse_rules("GRF(A) <- True\nGRF(B) <- ~A\nGRF(C) <- B & D\nGRF(D) <- D | C\nGRF(E) <- ~KO_E & (A | D)\n")
    np.testing.assert_array_equal(forced_values(network), [1, 0, 0, UNKNOWN, 1])
    clamp = np.array([0, UNKNOWN, UNKNOWN, 0, UNKNOWN], dtype=np.int8)
    np.testing.assert_array_equal(forced_values(network, clamp), [0, 1, 0, 0, 0])


MODEL = (
    "\ufeffdirective updates async;\r\ndirective length 20;\r\nA[]{}(8); B[-]{}(1); C[]{}(17); \r\n"
    "A\tB\tpositive;\r\nC\tB\tnegative;\r\nB\tA\tpositive;\r\n"
)


def test_a_model_and_its_rules_are_the_same_network():
    network = parse_model(MODEL)
    rules = parse_rules("GRF(A) <- B\nGRF(B) <- ~KO_B & A & ~C\nGRF(C) <- True\n")
    assert (network.genes, network.perturbed) == (("A", "B", "C"), ("B",))
    assert network.edges == (Edge("A", "B", 1), Edge("C", "B", -1), Edge("B", "A", 1))
    np.testing.assert_array_equal(next_states(network, all_states(3)), next_states(rules, all_states(3)))


def test_edges_of_a_model_before_inference_are_read_and_its_functions_refused(tmp_path):
    text = "A[](0..17); B[](0..17); \n" + 2 * "A\tB\tpositive\toptional; \n" + "B\tA\tnegative\toptional; \n"
    assert parse_edges(text) == (Edge("A", "B", 1), Edge("B", "A", -1))
    net = tmp_path / "before.net"
    net.write_text(text)
    refuses(lambda: rein_model.read_model(net), r"before\.net: expected one regulation condition .* first A\(0\.\.17\)")


def test_observations_are_read():
    text = (
        "// cell X; 120 h\n#E1[0] |= $KnockDown1;\n#E1[0] |= $Initial1;\n#E1[19] |= $Final1;\nfixpoint(#E1[19]);\n\n"
        "$KnockDown1 :=\n{ KO(A) = 1 and KO(B) = 0\n};\n\n$Initial1 :=\n{ A = 1 and C = 0\n};\n\n"
        "$Final1 :=\n{ B = 1\n};\n\n$Final2 :=\n{ B = 0\n};\n"
    )
    (observation,) = parse_observations(text)
    assert observation == ("cell X; 120 h", ("A",), {"A": 1, "C": 0}, {"B": 1})
    refuses(lambda: parse_observations(text.replace("$Initial1 :=", "$Other1 :=")), "undefined conditions: Initial1")


test_damaged_models_are_refused = refused(
    lambda text: parse_model(text),
    ("nothing", "expected a line of genes"),
    (MODEL.replace("(17)", "(20)"), "numbered 0 to 19, got 20 for C"),
    (MODEL.replace("A\tB", "X\tB"), "not listed: X"),
)

test_damaged_rules_are_refused = refused(
    lambda text: parse_rules(text),
    ("GRF(A) = B", "line 1: expected 'GRF"),
    ("GRF(A) <- A\nGRF(B) <- A +", "line 2: .* is not made of"),
    ("GRF(A) <- f(A)", "line 1: .* is not made of"),
    ("GRF(A) <- Z", "names unknown genes: Z"),
)


def test_impossible_requests_are_refused():
    network = toggle_switch()
    with pytest.raises(ValueError, match=r"initial must have shape \(2, 2\)"):
        settle(network, np.zeros((1, 2), dtype=np.int8), Streams.first(2))
    refuses(lambda: settle(network, np.full((1, 2), 3, dtype=np.int8), Streams.first(1)), "may hold 0, 1 and -1")
    refuses(lambda: is_fixed_point(network, np.array([[0, UNKNOWN]], dtype=np.int8)), "got -1 for B in run 0")
    with pytest.raises(ValueError, match="got A more than once"):
        BooleanNetwork(("A", "A"), np.zeros((2, 0), dtype=np.int64), np.zeros((2, 1), dtype=np.int8))
    refuses(lambda: BooleanNetwork.from_functions(["A", "B"], {"A": ([], lambda _: True)}), "none for: B")
