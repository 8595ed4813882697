"""Claims of the Top-m paper about gaps and complexity constants, decided by computing them."""

import numpy as np
import pandas as pd

from bestarm.designs.l1_design import l1_designs
from bestarm.problems.linear_bandit import LinearBandit
from bestarm_lab.claims.cells import Test, Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.study import project_seed
from bestarm_studies.linear_topm import complexity
from bestarm_studies.linear_topm.instances import published_random_instance
from bestarm_studies.linear_topm.settings import parts_of

FEATURE_DIGITS = 1e-8  # the published features have eight decimals


def constants_of_table5(sigma: float, sizes: tuple[int, ...] = (3, 8)) -> pd.DataFrame:
    """Return Table 5: both constants, the gap and their order, for each m."""
    bandit = published_random_instance()
    means, designs = bandit.means[0], l1_designs(bandit.features).weights
    lines = []
    for m in sizes:
        ours = complexity.m_lingape_optimised_complexity(means, m, designs, sigma=sigma)
        classical = complexity.ugape_complexity(means, m)
        gap = float(complexity.gaps(means, m).min())
        lines.append({"m": m, "m_lingape": ours, "ugape": classical, "gap": gap, "at most": bool(ours <= classical)})
    return pd.DataFrame(lines)


def table5(test: Test) -> Decision:
    """Compare Table 5 with its printed digits, as far as the eight decimals of the published features decide them."""
    holds, texts = True, []
    for m, constants in constants_of_table5(test["sigma"]).set_index("m").iterrows():
        for name in ("m_lingape", "ugape"):
            found, printed = float(constants[name]), test["printed"][m][name]
            # the constants are sums of inverse squared gaps: a relative error of 2 / gap times that of the means
            holds &= bool(abs(found - printed) <= 0.01 + 2.0 * FEATURE_DIGITS / float(constants["gap"]) * found)
            texts.append(f"m = {m}, {name}: {found:.2f} (printed {printed})")
    return Decision(holds, "; ".join(texts))


def order_of_constants(test: Test) -> Decision:
    """Evaluate three constants on the published random instance; at epsilon = 0 their ratios are the same anywhere."""
    means = published_random_instance().means[0]
    values = {
        "LUCB": complexity.lucb_complexity(means, 3, epsilon=test["epsilon"]),
        "m-LinGapE (1)": complexity.m_lingape_complexity(means, 3, sigma=test["sigma"], epsilon=test["epsilon"]),
        "UGapE": complexity.ugape_complexity(means, 3, epsilon=test["epsilon"]),
    }
    ordered = list(values.values())
    text = ", ".join(f"H({name}) = {value / ordered[0]:.1f} H(LUCB)" for name, value in values.items())
    return Decision(bool(ordered[0] >= ordered[1] >= ordered[2]), text)


def nine_eighths(test: Test) -> Decision:
    """Evaluate H(m-LinGapE (2)) / H(UGapE) on instances with independent arms, at sigma = 1."""
    ratios = []
    for instance in range(20):
        bandit = complexity.random_linear_instance(np.random.default_rng(instance), 6, 8)
        designs = l1_designs(bandit.features).weights
        ours = complexity.m_lingape_optimised_complexity(bandit.means[0], 2, designs, sigma=1.0)
        ratios.append(ours / complexity.ugape_complexity(bandit.means[0], 2))
    text = f"ratio between {min(ratios):.6f} and {max(ratios):.6f}; 9/8 = 1.125"
    return Decision(bool(max(ratios) <= 9 / 8 + 1e-9), text)


def gap(test: Test) -> Decision:
    """Compare the gap between the m-th and the next mean with the printed number of decimals."""
    holds, texts = True, []
    for name, (printed, decimals) in test["printed"].items():
        problem, _ = parts_of(name)
        means = np.sort(problem.means[0])[::-1]
        m = int(test["n_best"][name])
        found = means[m - 1] - means[m]
        holds &= bool(round(found, decimals) == printed)
        texts.append(f"{name}: {found:.5f} (printed {printed})")
    return Decision(holds, "; ".join(texts))


def no_worse(test: Test) -> Decision:
    """Compare m-LinGapE's constants of Table 2 with that of LUCB, which it extends, on some instances."""
    settings = {"epsilon": test["epsilon"], "sigma": test["sigma"]}
    ratios: dict[str, list[float]] = {"m-LinGapE (1)": [], "m-LinGapE (2)": []}
    for name, m in test["n_best"].items():
        problem, _ = parts_of(name)
        assert isinstance(problem, LinearBandit)
        means, designs = problem.means[0], l1_designs(problem.features).weights
        classical = complexity.lucb_complexity(means, int(m), epsilon=test["epsilon"])
        ratios["m-LinGapE (1)"].append(complexity.m_lingape_complexity(means, int(m), **settings) / classical)
        ratios["m-LinGapE (2)"].append(
            complexity.m_lingape_optimised_complexity(means, int(m), designs, **settings) / classical
        )
    text = "; ".join(f"H({name}) is {min(r):.3g} to {max(r):.3g} times H(LUCB)" for name, r in ratios.items())
    largest = max(max(found) for found in ratios.values())
    return Decision(bool(largest <= 1.0 + 1e-9), f"{text}, on {len(test['n_best'])} instances")


def hard_where_worse(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by instance whether H(UGapE) is above its median over all of a size, where the other constant is larger.
    Elsewhere the value is missing. Instances are drawn again, as `complexity_ratios` draws them."""
    mine = rows[rows["series"] == test["size"]].set_index("replication")
    n_arms, n_best, n_features = (int(part.split("=")[1]) for part in test["size"].split(", "))
    constants, seed = [], project_seed()
    for instance in mine.index:
        rng = np.random.default_rng(np.random.SeedSequence([seed, n_arms, n_best, n_features, int(instance)]))
        bandit = complexity.random_linear_instance(rng, n_arms, n_features, mine["normalisation"].iloc[0])
        constants.append(complexity.ugape_complexity(bandit.means[0], n_best))
    hard = pd.Series(constants, index=mine.index)
    return (hard > hard.median()).astype(np.float64).where(mine["holds"] == 0.0).to_frame(test["size"])


CHECKS: dict[str, Check] = {
    "gap": Check(gap, {"printed": "any", "n_best": "any"}),
    "table5": Check(table5, {"sigma": "number", "printed": "any"}),
    "order_of_constants": Check(order_of_constants, {"sigma": "number", "epsilon": "number"}),
    "nine_eighths": Check(nine_eighths),
    "no_worse": Check(no_worse, {"sigma": "number", "epsilon": "number", "n_best": "any"}),
}
VALUES: dict[str, Value] = {
    "holds": Value("H(m-LinGapE (2)) at most H(UGapE)"),
    "hard_where_worse": Value(
        "H(UGapE) above its median, where H(m-LinGapE (2)) is larger", hard_where_worse, needs={"size": "series"}
    ),
}
