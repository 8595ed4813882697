"""A laboratory between two rounds: half of a plate, tables that change, files of another spreadsheet."""

import pandas as pd
import pytest
from small_screen import Lab, features, phenotypes


@pytest.fixture
def lab(tmp_path):
    lab = Lab(tmp_path)
    assert lab.suggest(policy="random", batch=6) == 0
    return lab


def test_half_a_round_is_no_dead_end(lab, capsys):
    """The rest is not done, and can be suggested again; or it is being measured, and a batch beside it is suggested."""
    batch = lab.batch(1)
    lab.measure(batch[:4])
    assert lab.suggest(policy="random", batch=6) == 2
    assert "round 1 waits for 2 of 6 genes" in (shown := capsys.readouterr().err)
    assert "--withdraw if they will not be done, or --pending if they are being measured" in shown
    assert lab.suggest("--pending", policy="random", batch=30) == 0
    assert "; 2 being measured" in capsys.readouterr().out
    assert not set(lab.batch(2)) & set(batch)
    assert lab.suggest("--withdraw", policy="random", batch=40) == 0
    assert "round 2 withdrawn, kept as" in capsys.readouterr().out
    assert set(lab.batch(2)) == set(features().index) - set(batch[:4]), "what was not done is back"
    lab.measure([*batch[4:], *lab.batch(2)[:3]])
    assert lab.suggest("--withdraw", policy="random", batch=4) == 0
    assert "genes not done, back among those to choose from" in capsys.readouterr().out
    assert lab.suggest("--check", policy="random") == 0


def test_a_well_that_was_not_done_is_as_if_it_had_no_row(lab):
    lab.measure(lab.batch(1)[:4])
    with open(lab.phenotypes, "a") as file:
        file.writelines(f"{gene},not done\n" for gene in lab.batch(1)[4:])
    assert lab.suggest("--withdraw", policy="random", batch=40) == 0
    assert set(lab.batch(1)[4:]) <= set(lab.batch(2))


def test_a_table_that_is_sorted_anew_or_longer_does_not_end_a_campaign(lab, capsys):
    """Rows and columns in another order are the same table; new genes are said and suggested, those gone are not."""
    lab.measure(lab.batch(1))
    table = features().iloc[::-1, ::-1]
    table.to_csv(lab.features)
    assert lab.suggest(policy="greedy") == 0
    lab.measure(lab.batch(2))
    before = lab.files()
    out = next(name for name in table.index if name not in lab.batch(1) + lab.batch(2))
    new = pd.DataFrame([[0.1, 0.2, 0.3], [0.2, 0.1, 0.4]], index=["NEW1", "NEW2"], columns=["a", "b", "c"])
    pd.concat([new, features().drop(index=out)]).rename_axis("gene").to_csv(lab.features)
    capsys.readouterr()
    assert lab.suggest(policy="random", batch=40) == 0
    shown = capsys.readouterr().out
    assert "note: features.csv: 2 genes are new (NEW1, NEW2)." in shown
    assert f"note: features.csv: 1 genes are gone, and will not be suggested ({out})." in shown
    assert {"NEW1", "NEW2"} <= set(lab.batch(3))
    assert out not in lab.batch(3)
    assert {name: text for name, text in lab.files().items() if "003" not in name} == before
    assert lab.suggest("--check", policy="random") == 0
    assert "3 rounds" in capsys.readouterr().out


def test_files_of_another_spreadsheet(tmp_path, capsys):
    """Byte-order mark, semicolons, decimal commas, blank lines at the end: the same batches as of a plain file."""
    plain, excel = (Lab(tmp_path / name) for name in ("plain", "excel"))
    text = plain.features.read_text().replace(",", ";").replace(".", ",").replace("\n", "\r\n")
    excel.features.write_bytes(("\ufeff" + text + ";;;\r\n\r\n").encode())
    for lab in (plain, excel):
        assert lab.suggest(policy="linear") == 0
    plain.measure(plain.batch(1))
    rows = "".join(f"{gene};{phenotypes()[gene]}\r\n".replace(".", ",") for gene in excel.batch(1))
    excel.phenotypes.write_bytes(("\ufeffgene;phenotype\r\n" + rows).encode())
    for lab in (plain, excel):
        assert lab.suggest(policy="linear") == 0
    assert plain.batch(2) == excel.batch(2)


def test_a_folder_and_a_hit_that_is_no_number(lab, capsys):
    assert lab.suggest("--hit", "nan", policy="random") == 2
    assert "--hit must be a finite number, got nan" in capsys.readouterr().err
    lab.features.unlink()
    lab.features.mkdir()
    assert lab.suggest(policy="random") == 2
    assert "is a folder, no file; name the table in it" in capsys.readouterr().err


@pytest.mark.parametrize(("policy", "plate"), [("mean_opt", "384"), ("gp_bucb", "96"), ("gp", "384")])
def test_a_whole_plate(policy, plate, tmp_path):
    """Every well of a plate has a gene, in the first round and in the next one."""
    lab = Lab(tmp_path)
    table = pd.DataFrame({"gene": [f"G{i}" for i in range(900)], "a": range(900), "b": [i**2 % 31 for i in range(900)]})
    table.to_csv(lab.features, index=False)
    for number in (1, 2):
        assert lab.suggest("--plate", plate, policy=policy, batch=int(plate)) == 0
        found = lab.plate(number)
        assert found["gene"].nunique() == int(plate)
        assert found["plate"].eq(1).all()
        with open(lab.phenotypes, "a") as file:
            file.writelines(f"{gene},{(int(gene[1:]) - 300) ** 2}\n" for gene in found["gene"])
