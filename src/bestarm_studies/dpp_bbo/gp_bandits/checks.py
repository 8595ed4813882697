"""Lemma 3.1, decided by a computation."""

import numpy as np

from bestarm.policies.gaussian.gp_acquisition import est_width
from bestarm_lab.claims.cells import Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision


def est_is_ucb(test: Test) -> Decision:
    """Check Lemma 3.1 on random posteriors: EST's arm is that of UCB with EST's width."""
    generator, equal = np.random.default_rng(0), 0
    for _ in range(int(test["posteriors"])):
        means, variances = generator.standard_normal(50), generator.gamma(2.0, 0.2, 50)
        maximum = float(means.max() + generator.gamma(1.0))
        ucb = means + est_width(means, variances, maximum) * np.sqrt(variances)
        same = ucb.argmax() == ((maximum - means) / np.sqrt(variances)).argmin()
        equal += int(same and abs(ucb.max() - maximum) < 1e-9)
    text = f"the same arm for {equal} of {test['posteriors']} posteriors, whose bound is the estimate, by algebra"
    return Decision(equal == test["posteriors"], text, informative=False)


CHECKS = {"est_is_ucb": Check(est_is_ucb, {"posteriors": "number"})}
