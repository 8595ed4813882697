"""Figures, values, comparison and saving."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from bestarm.experiments.definitions import ledger
from bestarm.paths import FIGURES, PAPERS, ROOT
from bestarm.reporting import readme
from bestarm.reporting.comparison import compare_folders, compare_values
from bestarm.reporting.figures import APPEARANCE, sample_complexity_figure, use_style, verdict_figure
from bestarm.reporting.section import markdown_table
from bestarm.reporting.summaries import COLUMNS, agreement_with_recorded, mean_interval, summarise_sample_complexity


def rows(n: int = 50, convention: str = "as_written") -> pd.DataFrame:
    """Return rows of two series."""
    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame({"series": s, "replication": np.arange(n), "pulls": rng.gamma(9, m / 9, n), "correct": 1.0})
        for s, m in {"UGapE": 100.0, "LinGame": 200.0}.items()
    ]
    frame = pd.concat(frames, ignore_index=True)
    frame.loc[0, "correct"] = 0.0
    return frame.assign(convention=convention, stopped=True, data="synthetic")


def test_values_carry_statistic_interval_and_n():
    """Means with t-intervals, errors with Wilson intervals, quantiles, and the CSV's columns."""
    values = summarise_sample_complexity(rows(), "a", "smoke")
    assert list(values.columns) == COLUMNS
    table = values.set_index(["statistic", "series"])
    pulls = rows().query("series == 'UGapE'")["pulls"]
    assert table.loc[("mean", "UGapE"), ["value", "low", "high"]].tolist() == pytest.approx(mean_interval(pulls))
    assert table.loc[("error rate", "UGapE"), ["low", "high"]].tolist() == pytest.approx(
        proportion_confint(1, 50, method="wilson")
    )
    assert table.loc[("q1", "LinGame"), "value"] < table.loc[("median", "LinGame"), "value"]


def test_the_mean_interval_covers_the_truth_nineteen_times_in_twenty():
    """Coverage over 2000 samples of size 20, within four standard errors."""
    rng = np.random.default_rng(1)
    covered = [low <= 0 <= high for _, low, high in (mean_interval(pd.Series(x)) for x in rng.normal(size=(2000, 20)))]
    assert abs(np.mean(covered) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 2000)


def test_agreement_is_a_two_sample_z_test():
    """z by hand."""
    frame = rows(convention="as_coded")
    found = agreement_with_recorded(frame, {"n": 500, "UGapE": [90.0, 30.0, 0]}).iloc[0]
    pulls = frame.query("series == 'UGapE'")["pulls"]
    assert found["z"] == pytest.approx((pulls.mean() - 90) / np.sqrt(pulls.var() / 50 + 900 / 500))


def test_the_figure_shows_every_series_of_every_panel():
    """Labels, n and axis, at the place where a reader looks for them."""
    use_style()
    both = pd.concat([rows(), rows(convention="as_coded")])
    values = summarise_sample_complexity(both, "a", "smoke", {"n": 500, "UGapE": [90.0, 30.0, 0]})
    figure = sample_complexity_figure([("a", "an instance", both, values)], [["LinGame", "UGapE"]])
    labels = [t.get_text() for t in figure.axes[0].get_xticklabels()]
    assert labels[0].startswith("LinGame")
    assert "error 2.0%" in labels[1]
    assert "n = 50" in figure.axes[0].get_ylabel()
    assert figure.axes[1].get_title(loc="left").endswith("as coded")
    plt.close(figure)


@pytest.mark.parametrize(
    ("paper", "experiments"),
    [
        ("linear_topm", ("fig1a", "fig1b", "fig1c", "fig2a", "fig3a", "fig3b")),
        ("gpoo", ("fig4_f1", "controls_f1", "fig4_f2", "controls_f2", "fig5")),
        ("gse", ("fig1", "fig2", "fig3", "fig5a", "fig6")),
        ("gse", ("fig4",)),
    ],
)
def test_every_published_series_has_its_own_look(paper, experiments):
    """One colour and one marker for each algorithm of a paper's main figures, all different."""
    labels = {label for experiment in experiments for label in ledger(paper)["experiments"][experiment]["series"]}
    assert labels <= set(APPEARANCE)
    looks = [APPEARANCE[label] for label in labels]
    assert len({c for c, _ in looks}) == len({m for _, m in looks}) == len(looks)


def test_comparison_sorts_numbers_into_five_outcomes():
    """Equal, within half the wider interval, beyond, new and missing."""
    old = pd.DataFrame(
        {"panel": "a", "series": list("uvwx"), "x": np.nan, "statistic": "mean", "convention": "as_written",
         "value": [1.0, 2.0, 3.0, 4.0], "low": [0.5, 1.0, 2.9, 3.0], "high": [1.5, 3.0, 3.1, 5.0]}
    )  # fmt: skip
    new = old.assign(value=[1.0, 2.5, 3.5, 4.0], series=list("uvwy"))
    found = compare_values(old, new).droplevel(["panel", "x", "statistic", "convention"])
    assert found.to_dict() == {
        "u": "equal", "v": "within half the wider interval", "w": "beyond", "x": "missing", "y": "new"
    }  # fmt: skip


def test_comparison_of_folders_reports_changed_verdicts(tmp_path):
    """A changed verdict is named; an unchanged one is not."""
    for name, verdicts in {"old": ["reproduced", "holds"], "new": ["contradicted", "holds"]}.items():
        folder = tmp_path / name / "linear_topm"
        folder.mkdir(parents=True)
        frame = pd.DataFrame({"id": ["C1", "C2"], "convention": "as_written", "verdict": verdicts})
        frame.to_csv(folder / "verdicts.csv", index=False)
    _, changed = compare_folders(tmp_path / "old", tmp_path / "new")
    assert changed[["paper", "id", "old", "new"]].to_numpy().tolist() == [
        ["linear_topm", "C1", "reproduced", "contradicted"]
    ]


def test_committed_figures_equal_themselves():
    """Every committed CSV can be compared, text values included."""
    counts, changed = compare_folders(FIGURES, FIGURES)
    assert counts["equal"].sum() > 100
    assert counts.drop(columns="equal").to_numpy().sum() == 0
    assert changed.empty


def test_every_committed_figure_has_numbers_and_provenance():
    """CSV and JSON beside each figure that has numbers; tables are exempt from the PNG."""
    for paper in PAPERS.glob("*.yaml"):
        for entry in ledger(paper.stem)["figures"].values():
            stem = FIGURES / paper.stem / entry["file"]
            if not entry.get("numbers", True):
                assert stem.with_suffix(".png").is_file()
                continue
            made = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
            assert made["profile"] in ("laptop", "paper")
            assert stem.with_suffix(".csv").is_file()
            assert stem.with_suffix(".png").is_file() or stem.with_suffix(".md").is_file()


def test_verdict_table_as_a_picture_names_every_claim():
    """One row for each claim, one column for each convention."""
    verdicts = pd.read_csv(FIGURES / "linear_topm" / "verdicts.csv")
    figure = verdict_figure(verdicts)
    texts = [cell.get_text().get_text() for cell in figure.axes[0].tables[0].get_celld().values()]
    assert set(verdicts["id"]) <= set(texts)
    plt.close(figure)


def test_markdown_tables_keep_one_line_for_each_row():
    """A line break inside a cell would end the row."""
    assert markdown_table(pd.DataFrame({"a": ["x\ny"], "b": [1]})) == "| a | b |\n| --- | --- |\n| x y | 1 |\n"


def test_readme_is_up_to_date():
    """The generated parts of the README are those of the committed results; `make readme` renews them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.generated(text) == text


def test_a_readme_without_places_is_refused():
    """The error names the missing marker."""
    with pytest.raises(ValueError, match="no place for 'scoreboard'"):
        readme.generated("# bestarm\n")
