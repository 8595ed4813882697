"""``python -m bestarm_site.record``: run the algorithms of the replays and write what they did to ``site/replays``.

The runs have the seed and the instances of the studies, so that they are runs of the committed rows. All are
deterministic; tests record them anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bestarm.designs.partition_tree import EXPANDED
from bestarm.interface import Ask, FloatArray
from bestarm.observe import Looking, Observed
from bestarm.policies.cells.gp_tree import GpTree
from bestarm.policies.cells.gpoo import Gpoo
from bestarm.policies.linear.bayes_gap import BayesGap
from bestarm.policies.linear.gifa_round import gap_index
from bestarm.policies.linear.gse import Gse
from bestarm.policies.networks.oae import Oae
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.study import project_seed
from bestarm_studies.gpoo.functions import reward_function
from bestarm_studies.gse.algorithms import SIGMA
from bestarm_studies.gse.instances import adaptive_instance
from bestarm_studies.linear_topm.settings import HARD, PAPER
from bestarm_studies.oae.landscapes import landscape
from bestarm_studies.oae.problem.evolution import CENTRES, Sketch

FOLDER = Path(__file__).parents[1] / "replays"


def rounded(values: Any, digits: int = 3) -> Any:
    """Return an array as nested lists of few digits; what is not finite is None."""
    found = np.round(np.asarray(values, dtype=np.float64), digits)
    listed = found.astype(object)
    listed[~np.isfinite(found)] = None
    return listed.tolist()


# --------------------------------------------------------------------------------------------------------------------
# GSE: stages with and without kept rewards, beside BayesGap

N_ARMS, PER_ARM, SHOWN, COUNTED = 16, 20, 6, 1000


@dataclass
class Stages(Observed):
    """An elimination whose live arms, estimates and pulls are noted before the first stage and after each."""

    noted: list[tuple[Any, Any, Any]] = field(default_factory=list)
    pulls: Any = None

    def start(self, arms: Any, streams: Streams) -> Any:
        """Return the first state, and note it."""
        state = super().start(arms, streams)
        self.pulls = np.zeros(state.live.shape, dtype=np.int64)
        self.noted.append((state.live.copy(), state.means.copy(), self.pulls.copy()))
        return state

    def tell(self, state: Any, asked: Ask, totals: FloatArray) -> None:
        """Update the policy, and note what is left."""
        super().tell(state, asked, totals)
        np.add.at(self.pulls, (np.arange(len(asked.arms))[:, None], asked.arms), asked.counts)
        self.noted.append((state.live.copy(), state.means.copy(), self.pulls.copy()))


def gse_replay(counted: int = COUNTED) -> dict[str, Any]:
    """Return six runs of GSE-Lin, of GSE-Lin that keeps its rewards, and of BayesGap-Lin on one instance and noise.

    Parameters
    ----------
    counted : int
        Over how many runs it is counted in which the best arm is alive, or leads.
    """
    problem, budget = adaptive_instance(N_ARMS), N_ARMS * PER_ARM
    streams = Streams.first(counted, seed=project_seed(), instance=problem.label)
    best = int(np.argmax(problem.means[0]))
    found: dict[str, Any] = {"arms": N_ARMS, "budget": budget, "best": best, "means": rounded(problem.means[0], 4)}
    panels = []
    for name, keeps in (("GSE-Lin", False), ("GSE-Lin, rewards kept", True)):
        watched = Stages(Gse(budget, label="GSE-Lin", keeps_rewards=keeps))
        simulate(watched, problem, streams, metrics={})
        runs = [
            [
                {"live": np.flatnonzero(live[r]).tolist(), "means": rounded(means[r], 2), "pulls": pulls[r].tolist()}
                for live, means, pulls in watched.noted
            ]
            for r in range(SHOWN)
        ]
        alive = [float(live[:, best].mean()) for live, _, _ in watched.noted]
        panels.append({"name": name, "runs": runs, "alive": rounded(alive)})
    spent = [int(sum(stage["pulls"])) for stage in panels[0]["runs"][0]]
    seen: dict[int, list[tuple[Any, Any, Any]]] = {}

    def look(state: Any) -> None:
        number = int(state.spent[0])
        seen[number] = [(state.means[r].copy(), state.pulls[r].copy(), None) for r in range(SHOWN)]
        lead = state.means.argmax(axis=1)
        shares[number] = float((lead == best).mean())

    shares: dict[int, float] = {}
    gap = BayesGap(budget, sigma=SIGMA, kernel="linear")
    watched_gap = Looking(gap, look)
    simulate(watched_gap, problem, streams, metrics={})
    at = [max(n for n in seen if n <= wanted) for wanted in spent]
    runs = [
        [{"live": list(range(N_ARMS)), "means": rounded(seen[n][r][0], 2), "pulls": seen[n][r][1].tolist()} for n in at]
        for r in range(SHOWN)
    ]
    panels.append({"name": "BayesGap-Lin", "runs": runs, "alive": [round(shares[n], 3) for n in at]})
    return found | {"spent": spent, "panels": panels, "counted": counted}


# --------------------------------------------------------------------------------------------------------------------
# GPOO and GPTree: from a tree to a grid

SLOPES, SCALES, EVALUATIONS = (0.03, 0.1, 0.3, 1.0, 3.0, 6.32), (1.0, 2.0, 4.0, 8.0, 14.0, 28.0), 80


@dataclass
class Cells(Observed):
    """A search over cells whose divided and evaluated cells are noted in every round."""

    divided: list[list[int]] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)

    def ask(self, state: Any) -> Ask:
        """Let the policy choose, and note what it divided before."""
        asked = super().ask(state)
        known = {cell for cells in self.divided for cell in cells}
        now = set(state.cells[0][state.status[0] == EXPANDED].tolist())
        self.divided.append(sorted(now - known))
        if asked.counts[0, 0]:
            self.asked.append(int(asked.arms[0, 0]))
        return asked


def tree_replay() -> dict[str, Any]:
    """Return the first run on f2 of GPTree at six slopes and of GPOO at six scales, each with two β."""
    problem = reward_function("f2")
    x = np.linspace(0.0, 1.0, 257)
    streams = Streams.first(1, seed=project_seed(), instance=problem.label)
    runs: dict[str, Any] = {}
    names: tuple[tuple[Literal["lemma1", "as_coded"], Literal["budget", "as_coded"]], ...]
    names = (("lemma1", "budget"), ("as_coded", "as_coded"))  # of GPOO's β and of GPTree's
    for beta, of_tree in names:
        named: list[tuple[str, Any]] = [
            (f"GPTree|{beta}|{s:g}", GpTree("GPTree", EVALUATIONS, slope=s, beta=of_tree)) for s in SLOPES
        ]
        named += [(f"GPOO|{beta}|{c:g}", Gpoo("GPOO", EVALUATIONS, delta_scale=c, beta=beta)) for c in SCALES]
        for name, policy in named:
            watched = Cells(policy)
            frame = simulate(watched, problem, streams, metrics={"answer": _first})
            answer = int(frame["answer"].iloc[-1])
            value = float(problem.function(problem.partition.centres(np.array([answer])))[0])
            runs[name] = {
                "asked": watched.asked,
                "divided": watched.divided,
                "answer": answer,
                "value": round(value, 4),
            }
    peak = float(problem.function(x[:, None]).max())
    return {"x": rounded(x, 4), "f": rounded(problem.function(x[:, None])), "peak": round(peak, 4), "runs": runs}


def _first(_: Any, cells: Any) -> FloatArray:
    return np.asarray(cells[:, 0], dtype=np.float64)


# --------------------------------------------------------------------------------------------------------------------
# OAE on four hills

STRENGTHS, BATCHES = (0.0, 0.001, 0.01, 0.1, 1.0), 24


def oae_replay() -> dict[str, Any]:
    """Return the first run of MeanOpt on four hills for five strengths of optimism, with its network in every round."""
    law = landscape("MultiValleyOneDim")
    grid: dict[str, Any] = {"centres": list(CENTRES), "batches": BATCHES, "runs": {}}
    for strength in STRENGTHS:
        label = "Greedy" if strength == 0 else f"MeanOpt {strength:g}"
        policy = Oae(label, 3, BATCHES, standardise=True, hidden=(10, 5), learning_rate=0.01, optimism=strength)
        sketch = Sketch(policy, tuple(range(1, BATCHES + 1)))
        streams = Streams.first(1, seed=project_seed(), instance=law.label)
        arms = law.take(streams.replications)
        simulate(sketch, arms, streams, metrics={})
        x, y = arms.features[0, :, 0], arms.means[0]
        order = np.argsort(x)
        shown = order[:: max(1, len(order) // 120)]
        grid.setdefault("x", rounded(x[order], 2))
        grid.setdefault("truth", rounded(y[order]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        before: set[int] = set()
        steps = []
        for number in range(1, BATCHES + 1):
            scores, pulled = sketch.noted[number]
            now = set(place[np.flatnonzero(pulled[0])].tolist())
            steps.append({"model": rounded(scores[0, shown], 2), "new": sorted(now - before)})
            before = now
        grid["runs"][f"{strength:g}"] = steps
        grid["at"] = place[shown].tolist()
    return grid


# --------------------------------------------------------------------------------------------------------------------
# Top-m: a stale pair

LAST, ROUNDS_KEPT = 200, 240


@dataclass
class Pairs(Observed):
    """m-LinGapE with the index of the pair of each round, before and after the pull that this pair led to."""

    rounds: list[dict[str, Any]] = field(default_factory=list)

    def _index(self, state: Any, pair: Any) -> float:
        scale = float(self.policy._scale(state)[0])
        return float(gap_index(state.gram[0], state.means[0], scale, True, int(pair[1]), int(pair[0])))

    def ask(self, state: Any) -> Ask:
        """Let the policy choose a pair, and note it with its index."""
        asked = super().ask(state)
        pair = state.pair[0].copy()
        now = {"pair": pair.tolist(), "index": self._index(state, pair), "best": int(state.candidates[0, 0])}
        self.rounds.append(now | {"t": int(state.pulls.sum()), "stopped": bool(state.stopped[0])})
        return asked

    def tell(self, state: Any, asked: Ask, totals: FloatArray) -> None:
        """Update the policy, and note the index that the pair of before has now."""
        super().tell(state, asked, totals)
        if self.rounds and state.initialised:
            self.rounds[-1]["stale"] = self._index(state, self.rounds[-1]["pair"])


def topm_run(number: int) -> tuple[list[dict[str, Any]], int | None]:
    """Return the rounds of one run, and the round in which the stale pair would have stopped it."""
    from bestarm.policies.linear.gifa import MLinGape

    problem = HARD()
    streams = Streams.first(LAST, seed=project_seed(), instance=problem.label).take(np.array([number]))
    watched = Pairs(MLinGape(1, selection="greedy", **PAPER))
    simulate(watched, problem, streams, metrics={})
    found = watched.rounds
    stale = next((i for i, r in enumerate(found) if i > 0 and r.get("stale", 1.0) <= PAPER["epsilon"]), None)
    return found, stale


def topm_replay() -> dict[str, Any]:
    """Return three runs of greedy m-LinGapE on the hard instance: the first, and the first two wrong ones."""
    problem = HARD()
    best = int(np.argmax(problem.means[0]))
    kept: list[dict[str, Any]] = []
    wrong = 0
    for number in range(LAST):
        found, stale = topm_run(number)
        is_wrong = stale is not None and found[stale]["best"] != best
        wrong += is_wrong
        if number == 0 or (is_wrong and len(kept) < 3):
            kept.append(thinned(number, found, stale))
    return {"best": best, "means": rounded(problem.means[0], 4), "runs": kept, "wrong": wrong, "of": LAST}


def thinned(number: int, found: list[dict[str, Any]], stale: int | None) -> dict[str, Any]:
    """Return some rounds of a run: those around the stale stop, and others evenly."""
    n = len(found)
    near = set() if stale is None else set(range(max(0, stale - 30), min(n, stale + 31)))
    keep = sorted(near | set(np.unique(np.linspace(0, n - 1, ROUNDS_KEPT).astype(int)).tolist()))
    rounds = [
        [r["t"], *r["pair"], r["best"], round(r["index"], 3), round(r.get("stale", np.nan), 3)]
        for r in (found[i] for i in keep)
    ]
    rounds = [[None if isinstance(v, float) and np.isnan(v) else v for v in row] for row in rounds]
    at = None if stale is None else keep.index(stale)
    return {"run": number, "rounds": rounds, "stale": at, "end": found[-1]["t"]}


REPLAYS: dict[str, Callable[[], dict[str, Any]]] = {
    "gse": gse_replay,
    "tree": tree_replay,
    "oae": oae_replay,
    "topm": topm_replay,
}


def recorded(name: str) -> str:
    """Return one replay as JSON, run anew."""
    return json.dumps(REPLAYS[name](), separators=(",", ":"), allow_nan=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for wanted in sys.argv[1:] or REPLAYS:
        text = recorded(wanted)
        (FOLDER / f"{wanted}.json").write_text(text, encoding="utf-8")
        print(f"{wanted}: {len(text) / 1000:.0f} kB")
