r"""Top-two Thompson sampling with a fixed budget, for means that are nearly linear.

References
----------
.. [1] Russo. "Simple Bayesian Algorithms for Best-Arm Identification". Operations Research 2020, COLT 2016. Top-two
   Thompson sampling.
.. [2] Shang, de Heide, Kaufmann, Ménard, Valko. "Fixed-Confidence Guarantees for Bayesian Best-Arm Identification".
   AISTATS 2020. T3C, whose challenger needs no second draw.
.. [3] Xu, Honda, Sugiyama. "A Fully Adaptive Algorithm for Pure Exploration in Linear Bandits". AISTATS 2018. The
   greedy pull for the difference of two arms.
"""

from dataclasses import dataclass

import numpy as np

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.policies.linear import top_two_round
from bestarm.policies.linear.fixed_budget import check_budget
from bestarm.settings import check_settings
from bestarm.streams import Streams


@dataclass
class TopTwoState:
    r"""The state of the policy for R replications, in units of :math:`\sigma`.

    ``own`` is :math:`\tau^2`, (R,); ``pulls`` are those that succeeded and ``sums`` their rewards, (R, K); ``roots``
    and ``lines``, of shapes (R, K, d) and (R, K), are Z and :math:`\ell` of `top_two_round`; ``next_fit`` is the number
    of pulls at which the variances are fitted next. ``features``, (n_sets, K, d), are in coordinates of their span.
    """

    own: FloatArray
    pulls: IntArray
    sums: FloatArray
    roots: FloatArray
    lines: FloatArray
    spent: IntArray
    next_fit: IntArray
    feature_set: IntArray
    replications: IntArray
    features: FloatArray = shared()
    tie_key: np.uint64 = shared()
    sample_key: np.uint64 = shared()


@dataclass(frozen=True)
class TopTwo:
    r"""Top-two Thompson sampling on a linear model with an own effect of each arm.

    The mean of arm k is :math:`x_k^\top\theta+u_k` with :math:`\theta\sim N(0,a^2I)` and :math:`u_k\sim N(0,\tau^2)`.
    With :math:`\tau^2=0` arms teach about each other all that a linear model allows, with a large one nothing. Both
    variances are unknown, too: they are drawn from their posterior on a grid, where :math:`\tau^2>0` has half of the
    prior, whenever half as many pulls more were spent, and are the likeliest ones at the end. The likeliest ones during
    the search would make arms certain that were never pulled, where rewards cannot tell :math:`\tau^2` from 0. So would
    small :math:`a^2`: an arm's linear part has at least a tenth of the noise's variance.

    After the least known arms, one pull for each dimension, a round draws the means from the posterior, with 0.7 of
    its standard deviations, and the best of them is the leader J ([1]_). Its challenger c is the arm most likely better
    than it, of smallest :math:`\max(\mu_J-\mu_c,0)^2/\operatorname{Var}(m_J-m_c)` ([2]_). Pulled is the arm, be it
    another one, that lessens :math:`\operatorname{Var}(m_J-m_c)` most ([3]_). Recommended is the arm with the largest
    posterior mean.

    *Deviations*: [1]_ and [2]_ have independent arms, draw with whole standard deviations and pull one of the two; the
    posterior of [3]_ has neither drawn variances nor own effects. A pull costs O(K d), a fit O(K d² + d³), d at most K.
    Raises ValueError for a value out of range.

    Parameters
    ----------
    budget : int
        B, at least 1.
    sigma : float
        Standard deviation of the noise, in units of reward.
    label : str
        Name; keys the random choices.
    """

    budget: int
    sigma: float
    label: str = "Top-two Thompson"

    def __post_init__(self) -> None:
        check_settings(self)
        check_budget(self.label, self.budget)
        if not 0 < self.sigma < np.inf:
            raise ValueError(
                f"sigma must be positive and finite, got {self.sigma}; give the noise's standard deviation."
            )

    def start(self, arms: Arms, streams: Streams) -> TopTwoState:
        """Return the state before the first pull."""
        n, n_arms = len(streams.replications), arms.n_arms
        features, feature_set = arms.feature_sets(n)
        left, singular, _ = np.linalg.svd(features, full_matrices=False)
        features = left * singular[:, None, :]
        state = TopTwoState(
            own=np.zeros(n),
            pulls=arms.no_pulls(n),
            sums=np.zeros((n, n_arms)),
            roots=np.empty((n, *features.shape[1:])),
            lines=np.empty((n, n_arms)),
            spent=np.zeros(n, dtype=np.int64),
            next_fit=np.full(n, features.shape[2]),
            feature_set=feature_set,
            replications=streams.replications,
            features=features,
            tie_key=streams.key(f"ties of {self.label}"),
            sample_key=streams.key(f"draws of {self.label}"),
        )
        noise = np.zeros(top_two_round.GRID)
        for r, s in enumerate(feature_set):
            top_two_round.fit(features[s], state.pulls[r], state.sums[r], state.roots[r], state.lines[r], noise)
        return state

    def ask(self, state: TopTwoState) -> Ask:
        """Choose an arm where budget is left."""
        arms = np.empty((len(state.spent), 1), dtype=np.int64)
        top_two_round.choose(_known(state), state.tie_key, state.sample_key, state.replications, state.spent, arms)
        return Ask(arms, (state.spent < self.budget)[:, None].astype(np.int64))

    def tell(self, state: TopTwoState, asked: Ask, totals: FloatArray) -> None:
        """Update the posterior; a total that is NaN (a failed evaluation) teaches nothing and costs its pulls."""
        features, keys = (state.features, state.feature_set), (state.sample_key, state.replications)
        rewards, spent = totals / self.sigma, (state.spent, state.next_fit)
        top_two_round.learn(*features, self.budget, _known(state), *spent, asked, rewards, *keys)

    def finished(self, state: TopTwoState) -> BoolArray:
        """Return which replications have spent their budget."""
        return state.spent >= self.budget

    def recommend(self, state: TopTwoState) -> IntArray:
        """Return the arm with the largest posterior mean, shape (R, 1)."""
        return top_two_round.best(_known(state), state.tie_key, state.replications, state.spent)


def _known(state: TopTwoState) -> top_two_round.Known:
    return top_two_round.Known(state.own, state.pulls, state.sums, state.roots, state.lines)
