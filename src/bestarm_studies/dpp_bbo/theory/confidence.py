"""Intervals of GP-BUCB (Desautels and others, JMLR 2014); estimates, widths of EST (Wang and others, AISTATS 2016)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.observe import Observed
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.gp_acquisition import maximum_by_approximation, maximum_by_integral, ucb_width
from bestarm.policies.gaussian.gp_state import BatchGPState
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.observed import watched
from bestarm_lab.figures.figures import line_panels, runs_text
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import summarise
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms, Maker
from bestarm_studies.dpp_bbo.gp_draws import BLOCK, blocks, kernel_root
from bestarm_studies.dpp_bbo.moments import before_batch, hallucinated
from bestarm_studies.dpp_bbo.theory.information import stacked, ucb_beta
from bestarm_studies.dpp_bbo.values import ROUNDING

COVERAGE_STYLES = {
    "GP-BUCB, B = 5": Style("#C68301", "o"),
    "GP-BUCB, B = 10": Style("#895900", "s", "--"),
    "GP-BUCB, B = 20": Style("#3F2700", "^", "-."),
    "rewards at once, B = 20": Style("0.45", "", DOTS),
}
MAXIMUM_STYLES = {
    "ESTa": Style("#D55E00", "s", "--"),
    "ESTn": Style("#0072B2", "o"),
    "joint draws": Style("#009E73", "^", "-."),
    "maximum of f": Style("0.2", "", DOTS),
}


@dataclass
class BatchIntervals(Observed):
    r"""GP-BUCB under observation: its intervals at every position of a batch, and those with rewards at once.
    The interval at position b is :math:`\mu_{fb}\pm\beta_t^{1/2}\sigma_{t-1}` with the deviation given all arms before;
    rewards at once would move the mean alone. ``truth`` has the values of f, shape (R, n_arms); ``found`` arrays of
    shape (R,) for each batch, position and mean."""

    truth: FloatArray
    found: list[dict[str, Any]] = field(default_factory=list)

    def start(self, arms: Arms, streams: Streams) -> BatchGPState:
        self.found.clear()
        state: BatchGPState = super().start(arms, streams)
        return state

    def tell(self, state: BatchGPState, asked: Ask, totals: FloatArray) -> None:
        """Note the intervals that the batch was chosen by, and let the policy learn."""
        batch = hallucinated(state)
        if batch:
            self._note(state, asked.arms, totals, batch.start)
        super().tell(state, asked, totals)

    def _note(self, state: BatchGPState, arms: IntArray, totals: FloatArray, first: int) -> None:
        means, size, bound = state.means, arms.shape[1], self.policy.acquisition
        variances = before_batch(state)
        start, at_once = np.sqrt(variances), means.copy()
        for b in range(size):
            deviations = np.sqrt(np.maximum(variances, 0.0))
            t = (state.round - 1) * size + b + 1
            width = ucb_width(len(means[0]), t, bound.delta, bound.beta_scale)
            for name, mean in (("GP-BUCB", means), ("rewards at once", at_once)):
                error = np.abs(self.truth - mean) / deviations
                self.found.append(
                    {
                        "series": name,
                        "position": b + 1,
                        "outside": (error > width).mean(axis=1),
                        "missed": (error > width).any(axis=1),
                        "squared": (error**2).mean(axis=1),
                        "inflation": (start / deviations).max(axis=1),
                    }
                )
            row, pivot = state.rows[:, first + b], state.pivots[:, first + b]
            gain = (totals[:, b] - np.take_along_axis(at_once, arms[:, b : b + 1], axis=1)[:, 0]) / pivot
            at_once += gain[:, None] * row
            variances = variances - row**2


def coverage_rows(
    problem: Maker, replications: int, searches: Mapping[int, BatchGP], *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    """Return how often GP-BUCB's intervals miss f, by position in the batch, beside those with rewards at once."""
    functions = problem(replications=replications)
    frames = []
    for size, policy in searches.items():
        for part, streams in blocks(functions, replications, seed):
            observer = BatchIntervals(policy, part.means)
            simulate(observer, part, streams, metrics={})
            lines = [pd.DataFrame({"replication": streams.replications} | found) for found in observer.found]
            every = pd.concat(lines, ignore_index=True)
            means = every.groupby(["series", "replication", "position"], sort=False).mean().astype(np.float32)
            frames.append(means.reset_index().assign(batch=size))
    return pd.concat(frames, ignore_index=True).assign(convention="as_written")


def maximum_rows(
    policy: BatchGP,
    problem: Maker,
    replications: int,
    batches: Sequence[int],
    n_draws: int,
    *,
    seed: int = 0,
    workers: int = 1,
) -> pd.DataFrame:
    """Return both estimates of the maximum, before they are kept above the means, beside that of joint draws.
    Draws from the posterior are draws from the prior, moved by what they would have predicted wrongly of the rewards
    (Matheron). By Slepian's inequality ESTn is at least the mean of their maximum, ``joint`` with its standard
    ``error``. ``maximum`` is that of f, ``best`` the largest reward."""
    functions = problem(replications=replications)
    x = functions.features
    root = kernel_root(x, float(np.ravel(policy.model.lengthscale)[0]))

    def look(state: BatchGPState, part: CandidateArms) -> list[dict[str, Any]] | None:
        batch = hallucinated(state)
        if state.round not in batches or not batch:
            return None
        n, lines = batch.start, []
        deviations, means = np.sqrt(before_batch(state)), state.means
        for r, replication in enumerate(state.replications):
            generator = np.random.default_rng([seed, int(replication), state.round])
            draws = generator.standard_normal((n_draws, len(x))) @ root.T
            noise = np.sqrt(state.noise[r]) * generator.standard_normal((n_draws, n))
            for t in range(n):
                missed = state.rewards[r, t] - noise[:, t] - draws[:, state.conditioned[r, t]]
                draws += (missed / state.pivots[r, t])[:, None] * state.rows[r, t]
            tops, best = draws.max(axis=1), float(state.rewards[r, :n].max())
            known = {
                "replication": int(replication),
                "batch": state.round,
                "joint": float(tops.mean()),
                "error": float(tops.std(ddof=1) / np.sqrt(n_draws)),
                "maximum": float(part.means[r].max()),
                "largest_mean": float(means[r].max()),
                "best": best,
            }
            approximate = maximum_by_approximation(means[r], deviations[r], best)
            integral = maximum_by_integral(means[r], deviations[r], best)
            lines.append({"series": "ESTa", "estimate": approximate} | known)
            lines.append({"series": "ESTn", "estimate": integral} | known)
        return lines

    return watched(policy, functions, look, replications, seed=seed, block=BLOCK).assign(convention="as_written")


def prior_widths(sizes: Sequence[int]) -> pd.DataFrame:
    r"""Return the widths of UCB and EST before any reward, for so many independent arms with variance 1.
    ``first`` is :math:`\sqrt{2\log|X|}`; the estimates take 0 for the best reward."""
    lines = []
    for n in sizes:
        zeros, ones = np.zeros(n), np.ones(n)
        line = {"arms": n, "UCB": float(np.sqrt(ucb_beta(n, 1, 0.05)))}
        line |= {"ESTn": maximum_by_integral(zeros, ones, 0.0), "ESTa": maximum_by_approximation(zeros, ones, 0.0)}
        lines.append(line | {"first": float(np.sqrt(2.0 * np.log(n)))})
    return pd.DataFrame(lines)


def coverage_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return errors over widths by position in the batch, for each size of the batch and both means."""
    names = rows["series"] + ", B = " + rows["batch"].astype(str)
    means = {name: (name, "mean") for name in ("squared", "missed", "outside", "inflation")}
    found = summarise(rows.assign(series=names), means, x="position", profile=profile)
    return found.assign(panel=found["statistic"])


def maximum_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return medians of both estimates of the maximum by batch, beside the maxima of joint draws and of f."""
    one = rows[rows["series"] == "ESTn"]
    others = {"joint draws": "joint", "maximum of f": "maximum"}
    frames = [rows, *(one.assign(series=name, estimate=one[column]) for name, column in others.items())]
    return summarise(pd.concat(frames), {"median": ("estimate", "median")}, x="batch", panel="maximum", profile=profile)


def confidence_figure(coverage: pd.DataFrame, maxima: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return how far what searches trust is right: above, errors in units of deviations and missed intervals by
    position in a batch of GP-BUCB; below, medians of EST's estimates of the maximum by batch, on logarithmic axes."""
    titles = {
        "squared": "mean squared error\nin units of the variance",
        "missed": "share of batches with\nan arm out of its interval",
        "inflation": "largest deviation over\nits value in the batch",
    }
    given: dict[str, Any] = {"x": "position in the batch", "title": "", "styles": COVERAGE_STYLES, "marks": "band"}
    given |= {"statistic": {name: name for name in titles}, "possible": dict.fromkeys(titles, (0.0, None))}
    above = partial(line_panels, coverage, list(COVERAGE_STYLES), titles=titles, **given)

    def below(figure: Any) -> None:
        line_panels(
            maxima,
            list(MAXIMUM_STYLES),
            figure=figure,
            statistic="median",
            titles={"maximum": "estimate of the maximum"},
            styles=MAXIMUM_STYLES,
            log="xy",
            x="before batch",
            y="value",
            title="",
        )
        figure.axes[0].set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])

    runs = runs_text(pd.concat([coverage["n"], maxima["n"]]))
    return stacked([(2.9, above), (2.7, below)], title, runs, "bands: 95% intervals, bars: quartiles", setting)


def estimate_above(test: Test, rows: Rows) -> Decision:
    """Check that the estimates of a series are at least a column, up to ``errors`` standard errors of it."""
    frame = rows[test["experiments"][0]]
    mine = frame[frame["series"] == test["series"]]
    short = mine[test["column"]] - test.get("errors", 0.0) * mine["error"] - mine["estimate"]
    text = f"below in {int((short > ROUNDING).sum())} of {len(mine)} posteriors, by at most {max(short.max(), 0.0):.3g}"
    return Decision(bool((short <= ROUNDING).all()), text, checked=f"{len(mine)} posteriors")


def hidden_arms(test: Test) -> Decision:
    """Check that EST's squared width at the prior does not grow with the number of arms, as that of UCB does."""
    table = prior_widths(test["sizes"])
    est, ucb = (float(table[name].iloc[-1] ** 2 - table[name].iloc[0] ** 2) for name in ("ESTn", "UCB"))
    text = f"from {test['sizes'][0]} to {test['sizes'][-1]} arms ESTn's squared width grows by {est:.2f}, "
    text += f"that of UCB by {ucb:.2f}"
    return Decision(est < 0.1 * ucb, text)


CHECKS = {
    "estimate_above": Check(estimate_above, {"series": "series", "column": "column"}, may={"errors": "number"}),
    "hidden_arms": Check(hidden_arms, {"sizes": "numbers"}),
}
