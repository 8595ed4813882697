"""Errors of measurements: columns sem, sd and n of results weigh in Gaussian processes, and are never ignored."""

import copy

import numpy as np
import pandas as pd
import pytest
from refusals import refused, refuses
from small_screen import Lab, genes, knowing

from bestarm import Search
from bestarm.command_line import main
from bestarm.models.smooth_gp import SmoothGP
from bestarm.search.choices import NAMES
from bestarm.search.errors import errors_of, mean_of, reading
from bestarm.search.plots import left_out
from bestarm.search.search_files import parts_of

LINE = pd.DataFrame({"x": np.linspace(0, 1, 12)}, index=[f"c{i}" for i in range(12)])


def told(policy="gp", **columns):
    """Return a search that was told c1, c5 and c9 = 1, 2 and 3, with some columns more."""
    table = {"name": ["c1", "c5", "c9"], "reward": [1.0, 2.0, 3.0], **columns}
    return knowing(Search(LINE, policy, seed=1), table)


def at(search, name="c5"):
    return search.predict().set_index("name").loc[name, ["mean", "deviation"]].to_numpy(dtype=float)


def test_the_posterior_is_that_of_a_dense_solution():
    """Equations 2.23 and 2.24 of Rasmussen and Williams by another path, with the fitted kernel."""
    rng = np.random.default_rng(1)
    x, y, variances = rng.normal(size=(20, 2)), rng.normal(size=20), rng.uniform(0, 2, 20)
    p = SmoothGP().fitted(x, y, variances, np.full(20, 0.5))
    r = np.sqrt(5.0) * np.linalg.norm((x[:, None] - x) / p.scales, axis=2)
    k = p.signal * (1.0 + r + r**2 / 3.0) * np.exp(-r)
    both = k @ np.linalg.inv(k + np.diag(p.own_noise + 1e-8 * p.signal))
    mean, deviation = p.everywhere(x)
    np.testing.assert_allclose(mean, both @ y, atol=1e-8)
    np.testing.assert_allclose(deviation**2, np.diag(k - both @ k), atol=1e-8)
    np.testing.assert_allclose(p.own_noise - variances, 0.5 * (p.noise - np.median(variances)))


def test_a_large_error_leaves_a_candidate_uncertain_and_a_mean_of_five_weighs_more():
    exact, vague = at(told(sem=[0.01, 0.01, 0.01])), at(told(sem=[0.01, 5.0, 0.01]))
    assert vague[1] > 3.0 * exact[1]
    for tiny in (1e-12, 1e-78, 1e-160, 1e-200):  # as a billionth of the spread
        np.testing.assert_allclose(at(told(sem=[tiny, 1.0, 0.5])), at(told(sem=[1e-10, 1.0, 0.5])), rtol=1e-9)
    outlier = pd.DataFrame({"name": ["c1", "c2"], "reward": [1.0, 50.0]})
    tables = (outlier, outlier.assign(n=[5, 1]), pd.concat([outlier, *[outlier[:1]] * 4]))
    few, many, rows = (knowing(Search(LINE, "gp"), table) for table in tables)
    assert abs(at(many, "c1")[0] - 1.0) < 0.21 * abs(at(few, "c1")[0] - 1.0)  # a fifth of the noise
    np.testing.assert_array_equal(at(many, "c1"), at(rows, "c1"))


def test_standard_deviations_are_divided_by_the_root_of_the_number():
    number = [4, 9, 1]
    one, other = told(sem=[0.5, 0.5, 0.25], n=number), told(sd=[1.0, 1.5, 0.25], n=number)
    np.testing.assert_array_equal(at(one), at(other))
    both = told(sem=[0.5, 0.5, 0.25], sd=[9.0, 9.0, 9.0], n=number)
    np.testing.assert_array_equal(at(one), at(both))
    assert "column sd: not used, since sem tells the error." in both.notes


def test_predictions_commute_with_the_unit():
    rewards, sem = np.array([1.0, 2.0, 4.0, 3.0]), np.array([0.1, 1.0, 0.2, 0.1])
    plain = None
    for unit in (1.0, 1e-13, 1e20, -1.0, 1e-100, 1e140):
        search = Search(LINE, "gp", aim="min" if unit < 0 else "max")
        search.tell(pd.DataFrame({"name": LINE.index[:4], "reward": unit * rewards + 7 * unit, "sem": abs(unit) * sem}))
        found = search.predict()
        found = np.array([found["mean"] / unit - 7.0, found["deviation"] / abs(unit)])
        plain = found if plain is None else plain
        np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("gp", "hits")])
def test_policies_that_cannot_weigh_refuse(name):
    if name not in ("random", "linear", "forest", "neighbours", "gp_bucb", "thompson", "dpp_sample"):
        pytest.importorskip("torch")
    for column, values in {"sem": [0.1, 0.2, 0.3], "SD": [1, 1, 1], "n": [1, 2, 3]}.items():
        with pytest.raises(ValueError, match=f"{name} cannot weigh rewards by sem, sd or n; .* take the policy gp or"):
            told(name, **{column: values})
    assert len(told(name, n=[1, 1, 1], sem=[None] * 3).history) == 3, "that tells nothing"
    refuses(lambda: told(sem=[0.1, 0.2, 0.3]).with_policy(name), f"{name} cannot weigh")


test_what_tells_no_error_is_refused = refused(
    lambda columns: told(**columns),
    ({"sem": [0.1, -1, 0.1]}, r"'sem' of c5 is -1; it is an error, from 0 to 1e\+150"),
    ({"n": [1, 0, 2]}, r"'n' of c5 is 0; it is the measurements behind a reward, a whole number from 1 on"),
    ({"n": [1, 2.5, 2]}, r"'n' of c5 is 2.5"),
    ({"sem": [0.1, "little", 0.1]}, r"'sem' of c5 is 'little' among numbers"),
    ({"sem": ["a", "b", "c"]}, r"column 'sem' has 'a', no number"),
    ({"sem": [1, 1, 1], "se": [1, 1, 1]}, r"columns 'sem' and 'se' tell the same; leave one out"),
    ({"variance": [1, 1, 1]}, r"column 'variance' does not say what error it is; call it sem"),
    ({"reward error": [1, 1, 1]}, r"does not say what error it is"),
)


def test_headers_in_other_words_and_a_feature_that_is_called_so():
    for header in ("SEM", "s.e.m.", "std_err", "reward sem", "sem_reward", "Standard Error"):
        assert told(**{header: [0.1, 5.0, 0.1]}).history["sem"].tolist() == [0.1, 5.0, 0.1], header
    search = Search(LINE.rename(columns={"x": "n"}), "neighbours")
    search.tell(search.ask(3).assign(reward=[1.0, 2.0, 3.0]))
    assert "sem" not in search.history


def test_files_frames_and_gaps(tmp_path):
    """A semicolon file with decimal commas; a failed row may have no number, an empty error is that of the others."""
    path = tmp_path / "results.csv"
    path.write_text("name;reward;sem;n\nc1;1,0;0,1;2\nc5;2,0;;2\nc9;failed;;0\nc3;;0,5;\n")
    search = Search(LINE, "gp")
    search.tell(path)
    assert search.history.to_dict("list") | {"sem": 0} == {
        "round": [0, 0, 0], "name": ["c1", "c5", "c9"], "reward": [1.0, 2.0, pytest.approx(np.nan, nan_ok=True)],
        "sem": 0, "n": [2, 2, 1],
    }  # fmt: skip
    assert errors_of(search._status.values) == {"c1": (pytest.approx(0.1), 2.0), "c5": (pytest.approx(0.1), 2.0)}


def test_means_of_several_readings():
    assert mean_of([reading(1.0, n=3), reading(5.0)]) == 2.0
    assert mean_of([reading(1.0, 0.1), reading(5.0, 0.1)]) == 3.0
    assert abs(mean_of([reading(1.0, 0.1), reading(5.0, 10.0)]) - 1.0) < 0.001
    tiny = [reading(1.0, 1e-200), reading(5.0, 1.0)]
    assert (mean_of(tiny), errors_of({"a": tiny})) == (1.0, {"a": (1e-200, 2.0)})
    assert errors_of({"a": [1.0, 2.0], "b": [3.0], "c": [np.nan]}) == {"a": (pytest.approx(np.nan, nan_ok=True), 2.0)}


def test_a_list_that_grows_knows_errors_as_well():
    search = told(sem=[0.1, 0.2, 0.3])
    table = search.history[["name", "reward", "sem"]]
    search.tell(pd.concat([table, pd.DataFrame({"name": ["c2"], "reward": [1.5], "sem": [0.4]})]))
    assert search.history["sem"].tolist() == [0.1, 0.2, 0.3, 0.4]
    search.tell(pd.DataFrame({"name": ["c1", "c5"], "reward": [1.0, 2.0], "sem": [0.1, 0.9]}))
    assert search.notes[-1] == "c5: 2 ± 0.9 in place of 2 ± 0.2, a correction."
    again = knowing(Search(LINE, "gp", seed=1), search.history)
    pd.testing.assert_frame_equal(again.predict(), search.predict())


@pytest.mark.parametrize("policy", ["gp", "hits"])
def test_resumption_is_bit_equal(policy, tmp_path):
    """Saved, copied and made anew; a file without errors has the format that earlier versions read."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(60, 3)), index=[f"c{i}" for i in range(60)])
    searches = [Search(table, policy, seed=2)]
    for number in range(4):
        batch = searches[0].ask(4)
        rewards = batch.assign(reward=table.loc[batch["name"], 0].to_numpy(), sem=rng.uniform(0.01, 1, 4).tolist())
        for search in searches:
            assert search.ask(4)["name"].tolist() == batch["name"].tolist(), number
            search.tell(rewards)
        if number == 1:
            searches[0].tell(pd.DataFrame({"name": batch["name"][:1], "reward": [9.0], "n": [3]}), again=True)
            searches[0].save(tmp_path / "s.zip")
            searches += [Search.load(tmp_path / "s.zip"), copy.deepcopy(searches[0])]
    assert all(search.check() == [] for search in searches)
    pd.testing.assert_frame_equal(searches[0].predict(), searches[1].predict())
    pd.testing.assert_frame_equal(searches[0].history, searches[1].history)
    formats = {}
    for name, search in {"with": searches[0], "without": told()}.items():
        search.save(tmp_path / f"{name}.zip")
        formats[name] = parts_of((tmp_path / f"{name}.zip").read_bytes())["search.json"][:20]
    assert [b'"format": 5' in formats["with"], b'"format": 3' in formats["without"]] == [True, True]


def test_errors_take_part_in_leave_one_out_and_what_is_left():
    vague, exact = told(sem=[0.01, 5.0, 0.01]), told(sem=[0.01, 0.01, 0.01])
    assert not left_out(vague, 3).equals(left_out(exact, 3))
    assert vague.left(2.5).hits != exact.left(2.5).hits


def test_the_command_weighs_or_refuses(tmp_path, capsys):
    """A column beside the phenotype, and wells of one gene; replay says that it does not weigh."""
    lab = Lab(tmp_path)
    lab.measure(genes()[:12])
    head, *rows = lab.phenotypes.read_text().splitlines()
    lab.phenotypes.write_text("\n".join([f"{head},sem", *(f"{row},{i + 1}" for i, row in enumerate(rows))]) + "\n")
    assert lab.suggest(policy="linear", batch=3) == 2
    assert "linear cannot weigh phenotypes by sem, sd or n; leave those columns out" in capsys.readouterr().err
    assert lab.suggest(policy="hits", batch=3) == 0
    assert '"errors"' in next(lab.phenotypes.parent.glob("*_rounds/round_001.json")).read_text()
    assert lab.suggest("--check", policy="hits", batch=3) == 0
    small = ["--policy", "random", "--rounds", "2", "--runs", "2", "--batch", "1", "--top", "0.4"]
    assert main(["replay", str(lab.features), str(lab.phenotypes), *small, "--out", str(tmp_path / "r")]) == 0
    assert "a replay does not weigh phenotypes by sem, sd or n" in capsys.readouterr().out


def test_an_error_beside_results_is_no_feature(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text("name,x,yield,sem\na,1,5,0.1\nb,2,6,0.2\nc,3,,\n")
    found = Search(path).candidates
    assert found.columns == ("x",)
    assert "sheet.csv: column sem: an error of the results, no feature; rename it if it is one." in found.report
