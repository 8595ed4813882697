"""Figure 5 and Table 6 of the Top-m paper as numbers: rewards of drugs, hit ratios, separation, experiments."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import available
from bestarm_lab.figures.values import QUANTILES, as_values, mean_interval
from bestarm_objectives.drug.data import DATA_FILES, DrugData, anti_epileptic, published_drug_data, stand_in_data
from bestarm_objectives.drug.simulator import hit_ratio
from bestarm_studies.linear_topm.drug_simulator import log_check

RANKS = (1, 2, 5, 10)
TEN, ALL, CHOSEN = "the ten drugs of the paper", "all labelled drugs", "five best AE, five worst PC of each table"
RECORDED, SIMULATED, HELD = "scoring, recorded", "scoring, simulated", "scoring, genes of the drug held"
BASELINE, AS_PRINTED, SIGNED = "baseline, values", "baseline, direction 0 and 1", "baseline, direction -1 and 1"


def streams(n_tables: int, seed: int) -> Streams:
    """Return the random numbers of the tables: table r is the same whatever their number."""
    return Streams.first(n_tables, seed=seed, instance="drug simulator")


def reward_rows(replications: int, seed: int, workers: int = 1) -> pd.DataFrame:
    """Return `reward_rows_of` the authors' files, or of their stand-in where they cannot be had."""
    data = published_drug_data() if available(*DATA_FILES) else stand_in_data()
    return reward_rows_of(data, replications, seed)


def reward_rows_of(data: DrugData, n_tables: int, seed: int) -> pd.DataFrame:
    """Simulate every labelled drug in every patient, and put the recorded table beside it.
    ``n_tables``: each has one random trajectory for each drug and patient. ``as_written``: simulated here;
    ``as_coded``: the authors' table, as replication 0."""
    simulated = _rows(data, data.simulator(data.labelled).rewards(streams(n_tables, seed)))
    recorded = _rows(data, data.rewards[None])
    both = {"as_written": simulated, "as_coded": recorded}
    return pd.concat([rows.assign(convention=c) for c, rows in both.items()], ignore_index=True).assign(data=data.data)


def _rows(data: DrugData, tables: FloatArray) -> pd.DataFrame:
    """Return tables of shape (R, n_patients, n_drugs) as rows; their drugs are the first of the labelled ones."""
    drugs = data.labelled[: tables.shape[2]]
    table, patient, drug = (index.ravel() for index in np.indices(tables.shape, dtype=np.int16))
    columns = pd.DataFrame(
        {
            "series": [d.name for d in drugs],
            "label": [d.label for d in drugs],
            "in_paper": [d in data.drugs for d in drugs],
            "baseline": data.baselines(drugs),
        }
    )
    rows = columns.iloc[drug].reset_index(drop=True)
    return rows.assign(replication=table, patient=patient, reward=tables.ravel())


def mean_scores(rows: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return the mean reward of each drug over the patients, shape (n_tables, n_drugs), and the drugs' labels."""
    drugs = rows.drop_duplicates("series")
    table = rows.groupby(["replication", "series"], sort=False)["reward"].mean().unstack("series")
    return table[drugs["series"]].to_numpy(), drugs["label"].to_numpy(dtype=np.float64)


def hit_ratios(rows: pd.DataFrame, ranks: Sequence[int] = RANKS) -> FloatArray:
    """Return the hit ratio of each table at each rank, shape (n_tables, n_ranks)."""
    scores, labels = mean_scores(rows)
    return np.stack([hit_ratio(scores, labels > 0, rank) for rank in ranks], axis=1)


def separation(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how far the mean score of anti-epileptic drugs lies above that of pro-convulsant ones, in each table.
    Columns: the paper's ten drugs, all labelled drugs, and the ten of each table that make the difference largest."""
    scores, labels = mean_scores(rows)
    ten = rows.drop_duplicates("series")["in_paper"].to_numpy(dtype=bool)
    ae, pc = labels > 0, labels < 0
    best, worst = _chosen(scores, labels, ten)
    of_ten = scores[:, ae & ten].mean(axis=1) - scores[:, pc & ten].mean(axis=1)
    of_all = scores[:, ae].mean(axis=1) - scores[:, pc].mean(axis=1)
    return pd.DataFrame({TEN: of_ten, ALL: of_all, CHOSEN: best.mean(axis=1) - worst.mean(axis=1)})


def _chosen(scores: FloatArray, labels: FloatArray, ten: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the best AE and of the worst PC drugs of each table, as many as the paper has."""
    best = np.sort(scores[:, labels > 0], axis=1)[:, -int((labels[ten] > 0).sum()) :]
    return best, np.sort(scores[:, labels < 0], axis=1)[:, : int((labels[ten] < 0).sum())]


def _of_chosen(rows: pd.DataFrame) -> FloatArray:
    scores, labels = mean_scores(rows)
    best, worst = _chosen(scores, labels, rows.drop_duplicates("series")["in_paper"].to_numpy(dtype=bool))
    positive = np.arange(best.shape[1] + worst.shape[1]) < best.shape[1]
    return np.stack([hit_ratio(np.hstack([best, worst]), positive, rank) for rank in RANKS], axis=1)


def hit_ratio_values(data: DrugData, rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return hit ratios at rank 1, 2, 5 and 10 under each reading of Algorithms 2 and 3, in a figure's columns."""
    simulated, recorded = (rows[rows["convention"] == c] for c in ("as_written", "as_coded"))
    n_tables, ten = simulated["replication"].nunique(), anti_epileptic(data.drugs)
    held = data.simulator(clamped=True).rewards(streams(n_tables, seed)).mean(axis=1)

    def of(scores: FloatArray) -> FloatArray:
        return np.stack([hit_ratio(np.atleast_2d(scores), ten, rank) for rank in RANKS], axis=1)

    found = {
        (RECORDED, "as_coded"): hit_ratios(recorded),
        (SIMULATED, "as_written"): hit_ratios(simulated[simulated["in_paper"]]),
        (HELD, "as_written"): of(held),
        (f"scoring, {CHOSEN}", "as_written"): _of_chosen(simulated),
        (BASELINE, "as_coded"): of(data.baselines()),
        (AS_PRINTED, "as_written"): of(log_check.baselines_from_binary(data)),
        (SIGNED, "as_written"): of(log_check.baselines_from_binary(data, signed=True)),
    }
    table = []
    for (series, convention), ratios in found.items():
        for rank, values in zip(RANKS, ratios.T, strict=True):
            mean, low, high = mean_interval(pd.Series(values))
            line = {"panel": "hit ratios", "series": series, "x": rank, "statistic": "hit ratio", "value": mean}
            table.append(line | {"low": low, "high": high, "n": len(values), "convention": convention})
    return pd.DataFrame(table)


def reward_values(data: DrugData, rows: pd.DataFrame, profile: str, seed: int) -> pd.DataFrame:
    """Return the plotted values of Figure 5, in the columns of a figure's CSV.
    Of each drug the mean (95% t-interval over simulated tables), quantiles and baseline; separations; hit ratios."""
    table = []
    for (convention, series), group in rows[rows["in_paper"]].groupby(["convention", "series"], sort=False):
        by_table = group.groupby("replication")["reward"].mean()
        mean, low, high = mean_interval(by_table)
        panel = {"as_coded": "recorded", "as_written": "simulated"}[str(convention)]
        base = {"panel": panel, "series": series, "convention": convention, "n": len(by_table)}
        table.append(base | {"statistic": "mean", "value": mean, "low": low, "high": high})
        spread = base | {"n": len(group)}
        table += [spread | {"statistic": q, "value": group["reward"].quantile(p)} for q, p in QUANTILES.items()]
        table.append(base | {"n": 1, "statistic": "baseline", "value": group["baseline"].iloc[0]})
    for convention, group in rows.groupby("convention", sort=False):
        for series, gaps in separation(group).items():
            if convention == "as_coded" and series != TEN:
                continue
            base = {"panel": "separation", "series": series, "convention": convention, "n": len(gaps)}
            mean, low, high = mean_interval(gaps)
            table.append(base | {"statistic": "mean", "value": mean, "low": low, "high": high})
            if len(gaps) > 1:
                table.append(base | {"statistic": "standard deviation", "value": gaps.std(ddof=1)})
                table.append(base | {"statistic": "maximum", "value": gaps.max()})
    values = pd.concat([pd.DataFrame(table), hit_ratio_values(data, rows, seed)], ignore_index=True)
    return as_values(values, profile=profile, data=data.data)


def hit_ratio_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return the hit ratios among the values of Figure 5, for reading: one line for each reading, one column a rank."""
    ratios = values[values["panel"] == "hit ratios"]
    table = ratios.pivot_table("value", "series", "x", sort=False).map("{:.2f}".format)
    table.columns = [f"HR@{rank:.0f}" for rank in table.columns]
    tables = ratios.drop_duplicates("series").set_index("series")["n"]
    return table.assign(tables=tables).reset_index().rename(columns={"series": "ranking"})


def separation_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return the separations among the values of Figure 5, for reading: one line for each choice of drugs."""
    gaps = values[values["panel"] == "separation"]
    table = gaps.pivot_table("value", ["series", "convention"], "statistic", sort=False).reset_index()
    table["convention"] = table["convention"].map({"as_written": "simulated", "as_coded": "recorded"})
    numbers = ["mean", "standard deviation", "maximum"]
    table[numbers] = table[numbers].map(lambda value: "–" if pd.isna(value) else f"{value:.4f}")
    return table.rename(columns={"series": "AE minus PC over", "convention": "tables"})


def checks(data: DrugData, rows: pd.DataFrame) -> list[log_check.Check]:
    """Return every check of the recorded simulations, the simulated tables included."""
    simulated = rows[(rows["convention"] == "as_written") & rows["in_paper"]]
    shape = (simulated["replication"].nunique(), *data.rewards.shape)
    return [*log_check.check_log(data), log_check.n_rewards_met(data, simulated["reward"].to_numpy().reshape(shape))]


def check_table(found: Sequence[log_check.Check]) -> pd.DataFrame:
    """Return checks for reading."""
    return pd.DataFrame({"quantity": [c.quantity for c in found], "equal": [f"{c.equal} of {c.n}" for c in found]})


def check_values(found: Sequence[log_check.Check], data: str, profile: str) -> pd.DataFrame:
    """Return checks in the columns of a figure's CSV."""
    table = pd.DataFrame({"series": [c.quantity for c in found], "value": [c.equal for c in found]})
    return as_values(table, n=[c.n for c in found], statistic="equal", profile=profile, data=data)


def observation_table(data: DrugData, n_runs: int, seed: int) -> pd.DataFrame:
    """Return the experiments behind the network, for reading (Table 6), and how many random runs explain each."""
    table = []
    for observation in data.observations:
        cell, exposure = (part.strip() for part in observation.description.split(";")[:2])
        line = {"perturbed gene": ", ".join(observation.knocked_down), "experiment type": "KD"}
        line |= {"exposure time": exposure, "cell line": cell.removeprefix("cell ")}
        line |= {"initial values": str(len(observation.initial)), "final values": str(len(observation.final))}
        explaining = log_check.n_explaining(data, observation, streams(n_runs, seed))
        table.append(line | {"random runs that explain it": f"{explaining} of {n_runs}"})
    return pd.DataFrame(table)


def network_setting(data: DrugData) -> str:
    """Return in words how many genes and interactions the network has, and how many genes are drawn."""
    network = data.network
    drawn = len({gene for edge in network.edges for gene in (edge.regulator, edge.gene)})
    activating = sum(edge.sign > 0 for edge in network.edges)
    return (
        f"{len(network.edges)} interactions, of which {activating} activate; {drawn} of {network.n_genes} genes, "
        f"since {network.n_genes - drawn} without an interaction are not drawn"
    )


def order_table(data: DrugData) -> pd.DataFrame:
    """Return the ten drugs of each kind in the order of the authors' script, and how their recorded means change."""
    means, lines = data.rewards.mean(axis=0), []
    for kind, sign in {"anti-epileptic": 1, "pro-convulsant": -1}.items():
        mine = [(drug.name, mean) for drug, mean in zip(data.drugs, means, strict=True) if drug.label == sign]
        steps = np.diff([mean for _, mean in mine])
        order = "falls" if (steps < 0).all() else "rises" if (steps > 0).all() else "goes up and down"
        lines.append({"kind": kind, "order of the script": ", ".join(n for n, _ in mine), "mean score": order})
    return pd.DataFrame(lines)


def network_values(data: DrugData, profile: str) -> pd.DataFrame:
    """Return the drawn network in the columns of a figure's CSV: the sign of each edge, and the perturbed genes."""
    edges = [{"series": f"{e.regulator} → {e.gene}", "statistic": "sign", "value": e.sign} for e in data.network.edges]
    marked = [{"series": gene, "statistic": "perturbed", "value": 1} for gene in data.network.perturbed]
    return as_values(pd.DataFrame(edges + marked), convention="as_coded", profile=profile, data=data.data)
