"""Readers of the drug-repurposing files: what they accept and what they refuse; no file of the authors is needed."""

import gzip

import numpy as np
import pytest
from refusals import refuses

from bestarm_objectives.drug import files
from bestarm_objectives.drug.gene_table import UNKNOWN, read_gene_table
from bestarm_objectives.drug.simulation_log import read_simulation_log

CIDS = [drug.cid for drug in files.DRUGS]


def write(folder, text, name="file.csv"):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def test_a_table_is_read_plain_and_packed(tmp_path):
    text = ",1,2\nA,0.5,\nB,1,0\nA,9,9\n"
    for name in ("plain.csv", "packed.csv.gz"):
        table = read_gene_table(write(tmp_path, text, name), keep_first_of_repeated_genes=True)
        assert (table.genes, table.profiles) == (("A", "B"), ("1", "2"))
        np.testing.assert_array_equal(table.values, [[0.5, np.nan], [1, 0]])
    np.testing.assert_array_equal(table.on(["B", "Z", "A"]), [[1, np.nan, 0.5], [0, np.nan, np.nan]])
    np.testing.assert_array_equal(table.select(["2"]).states(["B", "A"]), [[0, UNKNOWN]])
    refuses(lambda: table.states(["A"]), r"0, 1 and NaN only, got 0\.5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a comma-separated table"),
        (",1\nA,0\nA,1\n", "expected each gene once, found 'A' more than once"),
        (",1\nA,x\n", "expected numbers, found text in column '1'"),
        (",1,2\nA,0,1\n", "expected 1 columns after the gene, found 2"),
        (",1\nA,0.5\n", r"expected 0, 1 or an empty cell, found 0\.5"),
    ],
)
def test_damaged_phenotypes_are_refused(tmp_path, text, message):
    refuses(lambda: files.read_binary_phenotype(write(tmp_path, text)), rf"file\.csv: {message}")


def test_a_truncated_packed_file_is_refused(tmp_path):
    path = write(tmp_path, ",1\n" + "".join(f"G{i},{i % 2}\n" for i in range(2000)), "file.csv.gz")
    path.write_bytes(path.read_bytes()[:-200])
    refuses(lambda: files.read_phenotype(path), r"file\.csv\.gz: expected a comma-separated table, found none")


def test_signatures_without_a_drug_or_of_another_norm_are_refused(tmp_path):
    cids = CIDS + [str(10**8 + i) for i in range(499)]
    rows = "A" + ",1" * 509 + "\nB" + ",0" * 509 + "\n"
    assert len(files.read_signatures(write(tmp_path, "," + ",".join(cids) + "\n" + rows)).profiles) == 509
    with pytest.raises(ValueError, match=r"expected columns 5734, .* without 4375\."):
        files.read_signatures(write(tmp_path, "," + ",".join([*cids[:9], "7", *cids[10:]]) + "\n" + rows))
    with pytest.raises(ValueError, match=r"columns of norm 1, found 1\.4142.* for drug 5734"):
        files.read_signatures(write(tmp_path, "," + ",".join(cids) + "\n" + rows.replace("B,0", "B,1")))


def test_expression_with_gaps_is_refused(tmp_path):
    with pytest.raises(ValueError, match="expected a value for every gene, found none for B in p2"):
        files.read_expression(write(tmp_path, ",p1,p2\nA,1,2\nB,1,\n"), 2)


def test_labels_without_their_columns_are_refused(tmp_path):
    with pytest.raises(ValueError, match="expected columns drug_name and score, found name, score without drug_name"):
        files.read_drug_labels(write(tmp_path, ",name,score\n1,x,1\n"))
    with pytest.raises(ValueError, match="expected scores 1, 0 or -1, found 2"):
        files.read_drug_labels(write(tmp_path, ",drug_name,score\n1,x,2\n"))


def test_reward_tables_of_another_shape_or_range_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"expected 18 rows \(patients\) of 10 rewards \(drugs\), found \(1, 2\)"):
        files.read_rewards(write(tmp_path, "0.5 0.5\n"))
    with pytest.raises(ValueError, match=r"expected rewards in \[0, 1\], found 1\.5"):
        files.read_rewards(write(tmp_path, ("0.5 " * 9 + "1.5\n") * 18))
    refuses(lambda: files.read_rewards(write(tmp_path, "a b\n")), "expected rows of numbers")


BLOCK = (
    "0|\tinitial\n|1\tdrug\n01\tmasked\n10\tstate\n|1\t-Epilepsy\n"
    "('Arm: ', (3, '{drug}'), 'predicted, true scores, signature = ', (0.25, {label}, 1.5))\n"
)


def log_text():
    return (
        "".join(BLOCK.format(drug=drug.name.title(), label=float(drug.label)) for drug in files.DRUGS)
        * files.N_PATIENTS
    )


def test_the_log_lists_all_states_but_the_treated_one_alphabetically(tmp_path):
    log = read_simulation_log(write(tmp_path, log_text(), "log.txt.gz"), ["B", "A"])
    assert [state[0].tolist() for state in (log.initial, log.drug, log.masked, log.treated, log.target)] == [
        [UNKNOWN, 0],
        [1, UNKNOWN],
        [1, 0],
        [1, 0],
        [1, UNKNOWN],
    ]
    assert (log.patients[10], log.drugs[3], log.positions[0], log.rewards[0], log.labels[9]) == (1, 3, 3, 0.25, -1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\tmasked", "\tunmasked", "block at line 1: expected 2 characters 0, 1 or | and the word 'masked'"),
        ("10\tstate", "1\tstate", "block at line 1: .* of length 1"),
        ("Hydroxyzine", "Aspirin", "block at line 1: expected a line with one of the drugs Hydroxyzine, .*Aspirin"),
        ("0|\tinitial\n", "", "expected blocks of six lines, found 900 lines|block at line 1"),
    ],
)
def test_damaged_logs_are_refused(tmp_path, old, new, message):
    with pytest.raises(ValueError, match=message.replace("1 or |", r"1 or \|")):
        read_simulation_log(write(tmp_path, log_text().replace(old, new), "log.txt"), ["B", "A"])


def test_a_log_that_ends_early_is_refused(tmp_path):
    text = "".join(log_text().splitlines(keepends=True)[:60])
    with pytest.raises(ValueError, match="expected 180 blocks of six lines, found 10"):
        read_simulation_log(write(tmp_path, text, "log.txt"), ["B", "A"])
