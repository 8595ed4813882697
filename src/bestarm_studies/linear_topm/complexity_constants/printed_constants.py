"""Claims of the Top-m paper about complexity constants, decided by computing them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm.designs.l1_design import l1_designs
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.linear_topm.complexity import (
    gaps,
    lucb_complexity,
    m_lingape_complexity,
    m_lingape_optimised_complexity,
    random_linear_instance,
    ugape_complexity,
)
from bestarm_studies.linear_topm.instances import published_random_instance

Test = Mapping[str, Any]
FEATURE_DIGITS = 1e-8  # the published features have eight decimals


def constants_of_table5(sigma: float, sizes: tuple[int, ...] = (3, 8)) -> pd.DataFrame:
    """Return Table 5: both constants, the gap and their order, for each m."""
    bandit = published_random_instance()
    means, designs = bandit.means[0], l1_designs(bandit.features).weights
    lines = []
    for m in sizes:
        ours = m_lingape_optimised_complexity(means, m, designs, sigma=sigma)
        classical = ugape_complexity(means, m)
        gap = float(gaps(means, m).min())
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
        "LUCB": lucb_complexity(means, 3, epsilon=test["epsilon"]),
        "m-LinGapE (1)": m_lingape_complexity(means, 3, sigma=test["sigma"], epsilon=test["epsilon"]),
        "UGapE": ugape_complexity(means, 3, epsilon=test["epsilon"]),
    }
    ordered = list(values.values())
    text = ", ".join(f"H({name}) = {value / ordered[0]:.1f} H(LUCB)" for name, value in values.items())
    return Decision(bool(ordered[0] >= ordered[1] >= ordered[2]), text)


def nine_eighths(test: Test) -> Decision:
    """Evaluate H(m-LinGapE (2)) / H(UGapE) on instances with independent arms, at sigma = 1."""
    ratios = []
    for instance in range(20):
        bandit = random_linear_instance(np.random.default_rng(instance), 6, 8)
        designs = l1_designs(bandit.features).weights
        ours = m_lingape_optimised_complexity(bandit.means[0], 2, designs, sigma=1.0)
        ratios.append(ours / ugape_complexity(bandit.means[0], 2))
    text = f"ratio between {min(ratios):.6f} and {max(ratios):.6f}; 9/8 = 1.125"
    return Decision(bool(max(ratios) <= 9 / 8 + 1e-9), text)
