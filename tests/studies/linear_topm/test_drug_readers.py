"""Readers of the drug-repurposing files: what they accept and what they refuse; no file of the authors is needed."""

import gzip

import numpy as np
from refusals import refuses, refusing

from bestarm_objectives.drug import files
from bestarm_objectives.drug.files import read_simulation_log
from bestarm_objectives.drug.gene_table import UNKNOWN, read_gene_table

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


def test_a_truncated_packed_file_is_refused(tmp_path):
    path = write(tmp_path, ",1\n" + "".join(f"G{i},{i % 2}\n" for i in range(2000)), "file.csv.gz")
    path.write_bytes(path.read_bytes()[:-200])
    refuses(lambda: files.read_phenotype(path), r"file\.csv\.gz: expected a comma-separated table, found none")


def signatures(second="0", seventh="4375"):
    """Return a table of 509 columns of norm 1, but for what is changed."""
    cids = [seventh if cid == "4375" else cid for cid in CIDS] + [str(10**8 + i) for i in range(499)]
    return f",{','.join(cids)}\nA{',1' * 509}\nB,{second}{',0' * 508}\n"


BLOCK = (
    "0|\tinitial\n|1\tdrug\n01\tmasked\n10\tstate\n|1\t-Epilepsy\n"
    "('Arm: ', (3, '{drug}'), 'predicted, true scores, signature = ', (0.25, {label}, 1.5))\n"
)


LOG = "".join(BLOCK.format(drug=d.name.title(), label=float(d.label)) for d in files.DRUGS) * files.N_PATIENTS


def test_the_log_lists_all_states_but_the_treated_one_alphabetically(tmp_path):
    log = read_simulation_log(write(tmp_path, LOG, "log.txt.gz"), ["B", "A"])
    assert [state[0].tolist() for state in (log.initial, log.drug, log.masked, log.treated, log.target)] == [
        [UNKNOWN, 0],
        [1, UNKNOWN],
        [1, 0],
        [1, 0],
        [1, UNKNOWN],
    ]
    assert (log.patients[10], log.drugs[3], log.positions[0], log.rewards[0], log.labels[9]) == (1, 3, 3, 0.25, -1)


def read_log(path):
    return read_simulation_log(path, ["B", "A"])


def read_two(path):
    return files.read_expression(path, 2)


DAMAGED = [
    (files.read_binary_phenotype, "", "expected a comma-separated table"),
    (files.read_binary_phenotype, ",1\nA,0\nA,1\n", "expected each gene once, found 'A' more than once"),
    (files.read_binary_phenotype, ",1\nA,x\n", "expected numbers, found text in column '1'"),
    (files.read_binary_phenotype, ",1,2\nA,0,1\n", "expected 1 columns after the gene, found 2"),
    (files.read_binary_phenotype, ",1\nA,0.5\n", r"expected 0, 1 or an empty cell, found 0\.5"),
    (files.read_signatures, signatures(seventh="7"), r"expected columns 5734, .* without 4375\."),
    (files.read_signatures, signatures(second="1"), r"columns of norm 1, found 1\.4142.* for drug 5734"),
    (read_two, ",p1,p2\nA,1,2\nB,1,\n", "expected a value for every gene, found none for B in p2"),
    (
        files.read_drug_labels,
        ",name,score\n1,x,1\n",
        "expected columns drug_name and score, found name, score without drug_name",
    ),
    (files.read_drug_labels, ",drug_name,score\n1,x,2\n", "expected scores 1, 0 or -1, found 2"),
    (files.read_rewards, "0.5 0.5\n", r"expected 18 rows \(patients\) of 10 rewards \(drugs\), found \(1, 2\)"),
    (files.read_rewards, ("0.5 " * 9 + "1.5\n") * 18, r"expected rewards in \[0, 1\], found 1\.5"),
    (files.read_rewards, "a b\n", "expected rows of numbers"),
    (
        read_log,
        LOG.replace("\tmasked", "\tunmasked"),
        r"block at line 1: expected 2 characters 0, 1 or \| and the word 'masked'",
    ),
    (read_log, LOG.replace("10\tstate", "1\tstate"), "block at line 1: .* of length 1"),
    (
        read_log,
        LOG.replace("Hydroxyzine", "Aspirin"),
        "block at line 1: expected a line with one of the drugs Hydroxyzine, .*Aspirin",
    ),
    (read_log, LOG.replace("0|\tinitial\n", ""), "expected blocks of six lines, found 900 lines|block at line 1"),
    (read_log, "".join(LOG.splitlines(keepends=True)[:60]), "expected 180 blocks of six lines, found 10"),
]


@refusing(*((read, text, rf"file\.csv.*(?:{words})") for read, text, words in DAMAGED))
def test_damaged_files_are_refused(read, text, tmp_path):
    read(write(tmp_path, text))


def test_signatures_have_509_columns(tmp_path):
    assert len(files.read_signatures(write(tmp_path, signatures())).profiles) == 509
