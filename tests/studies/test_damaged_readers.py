"""Every reader of a data file, on files that are cut, shuffled, of another encoding or with other words in them.

Files are compared with their checksums before they are read, so readers see damage only where somebody reads a file of
their own. With `says_which_file` they return a table of numbers or raise one error that names the file.
"""

import gzip
import io
from dataclasses import fields, is_dataclass
from functools import partial

import numpy as np
import pytest
from boolean_rules import read_edges, read_rules
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refuses, refusing

from bestarm.guards.files import says_which_file
from bestarm_lab.datasets.tables import MOTOR_COLUMNS, read_automobile, read_electric_motor
from bestarm_objectives.drug import files
from bestarm_objectives.drug.files import read_simulation_log
from bestarm_objectives.drug.gene_table import UNKNOWN, read_gene_table
from bestarm_objectives.drug.rein_model import read_model, read_observations
from bestarm_objectives.fastxml.points import read_points
from bestarm_studies.dpp_bbo.abalone.experiments import read_abalone
from bestarm_studies.linear_topm.lastfm import read_linear_representation
from bestarm_studies.oae.uci_sets import read_adult, read_bank_marketing, read_bike_sharing, read_blog_feedback

FEW = settings(max_examples=25, derandomize=True, suppress_health_check=list(HealthCheck))


def table(header: str, rows: list[list[object]], separator: str = ",") -> str:
    lines = [separator.join(map(str, row)) for row in rows]
    return "\n".join([header, *lines] if header else lines) + "\n"


CIDS = [drug.cid for drug in files.DRUGS]
CARS = table("", [[3, "?", "alfa", *[88.6 + i + j for j in range(22)], 13000 + i] for i in range(4)])
MOTOR = table(",".join(MOTOR_COLUMNS) + ",profile_id", [[0.5 * i - j for j in range(12)] + [4] for i in range(4)])
SNAILS = table("", [[sex, 0.455, 0.365, 0.095, 0.514, 0.22, 0.101, 0.15, 9 + i] for i, sex in enumerate("MFIM")])
BIKES = table(
    "instant,dteday,season,temp,casual,registered,cnt", [[i, "2011-01-01", 1, 0.3, i, 9, 9 + i] for i in (1, 2, 3)]
)
BANK = table(
    '"age";"job";"duration";"nr.employed";"y"', [[30 + i, '"admin."', 10, 5191, '"no"'] for i in range(3)], ";"
)
ADULT = table("", [[39 + i, " State-gov", 77516, *[" x"] * 7, 2174, 0, 40, " Cuba", " >50K"] for i in range(3)])
BLOG = table("", [[float(i + j) for j in range(281)] for i in range(3)])
SCORES = table(",drug_name,score", [[5734, "Hydroxyzine", 1], [3352, "Fipronil", -1], [7, "Other", 0]])
PHENOTYPE = table(",1", [["A", 0], ["B", 1], ["C", ""]])
SIGNATURES = table("," + ",".join(CIDS), [["A", *[0] * 10], ["B", *[1] * 9, ""]])
MODEL = "directive x;\nA[-+](3); B[](0); C[](7);\nA\tB\tpositive;\nB\tC\tnegative;\n"
SPEC = (
    "$Initial1 := { A = 1 and B = 0 };\n$Final1 := { B = 1 };\n// line one\n#e[0] |= $Initial1 and\n#e[9] |= $Final1;\n"
)
BLOCK = (
    "0|\tinitial\n|1\tdrug\n01\tmasked\n10\tstate\n|1\t-Epilepsy\n"
    "('Arm: ', (3, '{}'), 'predicted, true scores, signature = ', (0.25, {}, 1.5))\n"
)
LOG = "".join(BLOCK.format(drug.name.title(), float(drug.label)) for drug in files.DRUGS) * 18


def drug_signatures(second: object = 0, cids: list[str] = CIDS) -> str:
    """Return a table of 509 columns of norm 1, but for what is changed."""
    others = [10**8 + i for i in range(499)]
    return table("," + ",".join(map(str, [*cids, *others])), [["A", *[1] * 509], ["B", second, *[0] * 508]])


read_motor = partial(read_electric_motor, target="pm")
read_two = partial(files.read_expression, n_profiles=2)
read_log = partial(read_simulation_log, genes=["B", "A"])

READERS = {
    "cars": (read_automobile, CARS),
    "motor": (read_motor, MOTOR),
    "snails": (read_abalone, SNAILS),
    "bikes": (read_bike_sharing, BIKES),
    "bank": (read_bank_marketing, BANK),
    "adult": (read_adult, ADULT),
    "blog": (read_blog_feedback, BLOG),
    "drug labels": (files.read_drug_labels, SCORES),
    "expression": (read_two, table(",1,2", [["A", 0.5, 1.5], ["B", 1.0, 0.25], ["C", -1.0, 3.0]])),
    "phenotype": (files.read_phenotype, PHENOTYPE),
    "binary phenotype": (files.read_binary_phenotype, PHENOTYPE),
    "signatures": (files.read_binary_signatures, SIGNATURES),
    "rewards": (files.read_rewards, table("", [[0.1 * j for j in range(10)] for _ in range(18)], " ")),
    "points": (read_points, "3 4 5\n0,2 1:0.5 3:1\n 0:2\n4 2:1.5\n"),
    "network": (read_model, MODEL),
    "edges": (read_edges, MODEL),
    "rules": (read_rules, "GRF(A) <- B & ~C\nGRF(B) <- A | KO_B\nGRF(C) <- True\n"),
    "observations": (read_observations, SPEC),
    "log": (read_log, LOG),
}
EACH = pytest.mark.parametrize("name", READERS)
STRANGE = ["", "?", "nan", "inf", "1e999", "-1", "x", "é", "0x10", "1,5", "9" * 400, "\x00", '"', "1 2", "\t", "#"]


def numbers_in(found: object) -> list[np.ndarray]:
    if isinstance(found, np.ndarray):
        return [found]
    if is_dataclass(found):
        return [a for f in fields(found) for a in numbers_in(getattr(found, f.name))]
    return [a for part in found for a in numbers_in(part)] if isinstance(found, tuple) else []


def answers_or_says(read, path, content: bytes) -> bool:
    """Assert that a reader returns numbers, or raises a `ValueError` with the name of the file; return which."""
    path.write_bytes(content)
    try:
        found = says_which_file(read)(path)
    except ValueError as error:
        said = str(error)
    else:
        for values in numbers_in(found):
            assert values.dtype.kind in "biufUO"
        return True
    assert path.name in said, said
    assert "\n" not in said, said
    return False


@st.composite
def damaged(draw, text: str) -> bytes:
    """Return the bytes of a file after one to three of the accidents that happen to files."""
    lines = text.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(0, len(lines) - 1)))
        match draw(st.sampled_from(["drop", "double", "shuffle", "word", "column", "separator", "swap"])):
            case "drop":
                lines = lines[:place] + lines[place + 1 :]
            case "double":
                lines = lines[:place] + lines[place : place + 1] + lines[place:]
            case "shuffle":
                lines = draw(st.permutations(lines)) if len(lines) < 30 else lines[::-1]
            case "word" if lines:
                parts = lines[place].rstrip("\n").replace(";", ",").split(",")
                parts[draw(st.integers(0, len(parts) - 1))] = draw(st.sampled_from(STRANGE))
                lines[place] = ",".join(parts) + "\n"
            case "column":
                lines = [line.partition(",")[2] for line in lines]
            case "separator":
                lines = [line.replace(",", ";").replace("\t", " ") for line in lines]
            case "swap":
                lines = [",".join(reversed(line.rstrip("\n").split(","))) + "\n" for line in lines]
    whole = "".join(lines).encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"])), "replace")
    if draw(st.booleans()):
        whole = whole.replace(b"\n", b"\r\n")
    return whole[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else whole


@EACH
def test_the_file_itself_is_read(name, tmp_path):
    """Else the tests below would only see refusals."""
    read, text = READERS[name]
    assert answers_or_says(read, tmp_path / "file.txt", text.encode())


@EACH
@FEW
@given(data=st.data())
def test_a_damaged_file_gives_an_answer_or_one_clear_error(name, data, tmp_path):
    """Cut, shuffled, with other words, columns, separators and encodings."""
    read, text = READERS[name]
    answers_or_says(read, tmp_path / "file.txt", data.draw(damaged(text)))


@EACH
@settings(FEW, max_examples=8)
@given(data=st.data())
def test_a_damaged_packed_file_gives_one_clear_error(name, data, tmp_path):
    """A ``.gz`` that is cut or has flipped bytes."""
    read, text = READERS[name]
    packed = bytearray(gzip.compress(text.encode()))
    if data.draw(st.booleans()):
        del packed[data.draw(st.integers(0, len(packed) - 9)) :]
    else:
        packed[data.draw(st.integers(0, len(packed) - 9))] ^= data.draw(st.integers(1, 255))
    answers_or_says(read, tmp_path / "file.txt.gz", packed)


@settings(FEW, max_examples=60)
@given(data=st.data())
def test_a_damaged_archive_of_arrays_gives_one_clear_error(data, tmp_path):
    """The linear representations of Last.fm: cut, flipped, other shapes and kinds."""
    arrays = {"features": np.ones((4, 2)), "theta": np.ones(2), "ground_truth": np.ones(4)}
    name = data.draw(st.sampled_from(sorted(arrays)))
    other = [np.ones((2, 4)), np.array(["a", "b"]), np.full((4, 2), np.nan), np.ones(2, dtype=complex), np.array(None)]
    match data.draw(st.sampled_from(["missing", "other", "bytes"])):
        case "missing":
            del arrays[name]
        case "other":
            arrays[name] = other[data.draw(st.integers(0, len(other) - 1))]
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    content = bytearray(buffer.getvalue())
    if data.draw(st.booleans()):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    elif data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    answers_or_says(partial(read_linear_representation, n_arms=4, n_features=2), tmp_path / "file.npz", content)


def with_word(text: str, row: int, column: int, word: str, separator: str = ",") -> str:
    lines = [line.split(separator) for line in text.splitlines()]
    lines[row][column] = word
    return "".join(separator.join(line) + "\n" for line in lines)


def without_last(text: str) -> str:
    return "".join(line.rpartition(",")[0] + "\n" for line in text.splitlines())


LACKING = [
    (read_automobile, without_last(CARS), "expected 26 columns, found 25; is the file whole"),
    (read_automobile, with_word(CARS, 1, 13, "heavy"), "a number in row 1, column 13, got 'heavy'"),
    (read_automobile, with_word(CARS, 1, 13, "?"), "a feature of car 1 is missing"),
    (read_automobile, "", "found something else"),
    (read_motor, MOTOR.replace("ambient", "c0"), "no column ambient"),
    (partial(read_electric_motor, target="speed"), MOTOR, "target must be one of ambient.*got 'speed'"),
    (read_abalone, SNAILS + "X,1,1,1,1,1,1,1,3\n", "row 4 has no valid sex"),
    (read_abalone, SNAILS + "M,1,1,old,1,1,1,1,3\n", "row 4 has no valid height"),
    (read_bike_sharing, BIKES.replace("casual", "Casual"), "no column casual; it has: instant"),
    (read_bike_sharing, with_word(BIKES, 2, 3, ""), "row 1 has no value in column 'temp'"),
    (read_bike_sharing, with_word(BIKES, 2, 3, "nan"), "row 1 has no value in column 'temp'"),
    (read_bike_sharing, BIKES + "5,2011-01-05\n", "row 3 has no value"),
    (read_bike_sharing, BIKES + "5" * 40 + ",a" * 9 + "\n", "expected a table"),
    (read_bike_sharing, "", "expected a table"),
    (read_bank_marketing, BANK.replace(";", ","), "no column age, job"),
    (read_bank_marketing, with_word(BANK, 2, 2, "", ";"), "row 1"),
    (read_adult, without_last(ADULT), "expected 15 columns, found 14"),
    (read_adult, with_word(ADULT, 2, 2, ""), "row 2"),
    (read_blog_feedback, without_last(BLOG), "expected 281 columns, found 280; is the file whole"),
    (read_blog_feedback, with_word(BLOG, 1, 6, ""), "has no value"),
    (read_blog_feedback, with_word(BLOG, 1, 6, "x"), ""),
    (files.read_binary_phenotype, "", "expected a comma-separated table"),
    (files.read_binary_phenotype, ",1\nA,0\nA,1\n", "expected each gene once, found 'A' more than once"),
    (files.read_binary_phenotype, ",1\nA,x\n", "expected numbers, found text in column '1'"),
    (files.read_binary_phenotype, ",1,2\nA,0,1\n", "expected 1 columns after the gene, found 2"),
    (files.read_binary_phenotype, ",1\nA,0.5\n", r"expected 0, 1 or an empty cell, found 0\.5"),
    (
        files.read_signatures,
        drug_signatures(cids=[*CIDS[:-1], "7"]),
        rf"expected columns 5734, .* without {CIDS[-1]}\.",
    ),
    (files.read_signatures, drug_signatures(second=1), r"columns of norm 1, found 1\.4142.* for drug 5734"),
    (read_two, ",p1,p2\nA,1,2\nB,1,\n", "expected a value for every gene, found none for B in p2"),
    (files.read_drug_labels, ",name,score\n1,x,1\n", "expected columns drug_name and score, .* without drug_name"),
    (files.read_drug_labels, ",drug_name,score\n1,x,2\n", "expected scores 1, 0 or -1, found 2"),
    (files.read_rewards, "0.5 0.5\n", r"expected 18 rows \(patients\) of 10 rewards \(drugs\), found \(1, 2\)"),
    (files.read_rewards, ("0.5 " * 9 + "1.5\n") * 18, r"expected rewards in \[0, 1\], found 1\.5"),
    (files.read_rewards, "a b\n", "expected rows of numbers"),
    (read_log, LOG.replace("\tmasked", "\tun"), r"at line 1: expected 2 characters 0, 1 or \| and the word 'masked'"),
    (read_log, LOG.replace("10\tstate", "1\tstate"), "block at line 1: .* of length 1"),
    (read_log, LOG.replace("Hydroxyzine", "?"), r"at line 1: expected a line with one of the drugs Hydroxyzine, .*\?"),
    (read_log, LOG.replace("0|\tinitial\n", ""), "expected blocks of six lines, found 900 lines|block at line 1"),
    (read_log, "".join(LOG.splitlines(keepends=True)[:60]), "expected 180 blocks of six lines, found 10"),
]


@refusing(*((read, text, rf"file\.txt.*(?:{words})") for read, text, words in LACKING))
def test_what_a_file_lacks_is_said(read, text, tmp_path):
    path = tmp_path / "file.txt"
    path.write_text(text)
    read(path)


def test_a_missing_and_a_truncated_file_are_refused(tmp_path):
    refuses(lambda: read_adult(tmp_path / "nothing.csv"), r"nothing\.csv: expected a table")
    packed = gzip.compress((",1\n" + "".join(f"G{i},{i % 2}\n" for i in range(2000))).encode())
    (tmp_path / "file.csv.gz").write_bytes(packed[:-200])
    words = r"file\.csv\.gz: expected a comma-separated table, found none"
    refuses(lambda: files.read_phenotype(tmp_path / "file.csv.gz"), words)


def test_a_table_of_genes_is_read_plain_and_packed(tmp_path):
    text = b",1,2\nA,0.5,\nB,1,0\nA,9,9\n"
    for name, content in (("plain.csv", text), ("packed.csv.gz", gzip.compress(text))):
        (tmp_path / name).write_bytes(content)
        genes = read_gene_table(tmp_path / name, keep_first_of_repeated_genes=True)
        assert (genes.genes, genes.profiles) == (("A", "B"), ("1", "2"))
        np.testing.assert_array_equal(genes.values, [[0.5, np.nan], [1, 0]])
    np.testing.assert_array_equal(genes.on(["B", "Z", "A"]), [[1, np.nan, 0.5], [0, np.nan, np.nan]])
    np.testing.assert_array_equal(genes.select(["2"]).states(["B", "A"]), [[0, UNKNOWN]])
    refuses(lambda: genes.states(["A"]), r"0, 1 and NaN only, got 0\.5")


def test_the_log_lists_all_states_but_the_treated_one_alphabetically(tmp_path):
    path = tmp_path / "log.txt.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    log = read_log(path)
    found = [state[0].tolist() for state in (log.initial, log.drug, log.masked, log.treated, log.target)]
    assert found == [[UNKNOWN, 0], [1, UNKNOWN], [1, 0], [1, 0], [1, UNKNOWN]]
    assert (log.patients[10], log.drugs[3], log.positions[0], log.rewards[0], log.labels[9]) == (1, 3, 3, 0.25, -1)


def test_drug_signatures_have_509_columns(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text(drug_signatures())
    assert len(files.read_signatures(path).profiles) == 509
