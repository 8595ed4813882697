r"""FC2FB: a fixed budget for an algorithm that was made for fixed confidence.

References
----------
.. [1] Balagopalan, Li, Zhao, Nguyen, Daitche, Nassif, Jun. "Fixed Budget is No Harder Than Fixed Confidence in Best-Arm
   Identification up to Logarithmic Factors". ICML 2026 (PMLR 306), arXiv 2602.03972. Algorithm 3, Theorem 3.2.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import InitVar, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, nested, shared, take_rows
from bestarm.settings import check_settings
from bestarm.streams import Streams

_LEAST_RISK = 1e-300  # exp(-1/2 ...) of the first stages underflows, and a risk of 0 is none


@dataclass
class Fc2fbState:
    """The state of FC2FB for R replications: that of the present stage, and what earlier ones recommend."""

    policy: Fc2fb
    arms: Arms
    streams: Streams
    places: IntArray  # 0, ..., R - 1; a copy that is made with fewer rows takes those of ``inner``
    recommended: IntArray  # (R, m)
    stopped: BoolArray  # (R,)
    stage: int = shared()  # from 1
    spent: int = shared()  # pulls of this stage, the same in all replications
    inner: Any = nested()  # state of the policy of this stage
    fresh: InitVar[bool] = False

    def __post_init__(self, fresh: bool) -> None:
        if fresh:
            return
        self.inner, self.streams = deepcopy(take_rows(self.inner, self.places)), self.streams.take(self.places)
        if self.arms.features.ndim == 3:
            self.arms = replace(self.arms, features=self.arms.features[self.places])
        self.places = np.arange(len(self.places))

    def resume(self) -> None:
        """Start the policy of the present stage anew."""
        self.inner = self.policy.at(self.stage, self.arms).start(self.arms, self.streams)


@dataclass(frozen=True)
class Fc2fb:
    r"""FC2FB ([1]_, Algorithm 3): run a fixed-confidence policy again and again, each time with a larger risk.

    With :math:`R = \lfloor\log_2(B/Q)\rfloor` stages, each has :math:`\lfloor B/R\rfloor` pulls; stage r runs the
    policy afresh at the risk :math:`\delta_0^{2^{R-r}}`, and the first stage that stops by itself gives the answer. If
    the policy's time is :math:`A\ln(1/\delta) + C`, the error falls as :math:`e^{-B/(4A\log_2(B/Q))}` (Theorem 3.2).

    Where no stage stops, [1]_ recommends any arm; here it is what the last stage recommends at its end. Raises
    ValueError for a policy without a risk, or with a budget of its own; for a value out of range.

    Parameters
    ----------
    policy : Policy
        A policy with a risk ``delta`` and no budget, as ``m_lingape`` or ``lingifa``. In all replications it asks for
        as many pulls a round; its own ``delta`` is not used.
    budget : int
        B, pulls in all.
    base : int, optional
        Q, at most half the budget; by default the number of features, what [1]_ recommends for linear bandits.
    delta0 : float
        Risk of the last stage, in (0, 1/2]; [1]_ recommends 1/e or 1/2.
    label : str
        By default "FC2FB of" and the policy's.
    """

    policy: Any
    budget: int
    base: int | None = None
    delta0: float = float(np.exp(-1.0))
    label: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "policy", getattr(self.policy, "policy", self.policy))  # without its guards
        name = getattr(self.policy, "label", type(self.policy).__name__)
        limits = [limit for limit in ("budget", "rounds") if hasattr(self.policy, limit)]
        if not hasattr(self.policy, "delta") or limits:
            why = f"one with a {limits[0]}" if limits else "one without"
            raise ValueError(
                f"policy must have a risk delta and no budget of its own, got {name}, {why}; take m_lingape or "
                "lingifa, or run it as it is."
            )
        object.__setattr__(self, "label", self.label or f"FC2FB of {name}")
        check_settings(self, budget=2, base=1)
        if not 0 < self.delta0 <= 0.5:
            raise ValueError(f"delta0 must lie in (0, 1/2], got {self.delta0}: it is the risk of the last stage.")

    def stages(self, arms: Arms) -> int:
        """Return R, the number of stages; refuses a base above half of the budget."""
        base = arms.n_features if self.base is None else self.base
        if 2 * base > self.budget:
            raise ValueError(
                f"budget must be at least twice the base, got {self.budget} and a base of {base}; raise the budget, or "
                "give a smaller base."
            )
        return int(np.log2(self.budget / base))

    def at(self, stage: int, arms: Arms) -> Any:
        """Return the policy of a stage."""
        after = self.stages(arms) - stage
        if (stage, after) not in self._made:
            risk = max(self.delta0 ** float(2**after), _LEAST_RISK)
            self._made[stage, after] = replace(self.policy, delta=risk, label=f"{self.policy.label} stage {stage}")
        return self._made[stage, after]

    @cached_property
    def _made(self) -> dict[tuple[int, int], Any]:
        """Policies of stages by stage and the number of stages after it."""
        return {}

    def start(self, arms: Arms, streams: Streams) -> Fc2fbState:
        """Return the state before the first pull; refuses a budget whose stages do not hold the first request."""
        n, first = len(streams.replications), self.at(1, arms)
        share, inner = self.budget // self.stages(arms), first.start(arms, streams)
        least = int(first.ask(deepcopy(inner)).counts.sum(axis=1).max())
        if least > share:
            raise ValueError(
                f"each of {self.stages(arms)} stages must hold the {least} pulls of the first request, got a budget of "
                f"{self.budget}, {share} a stage; raise the budget, or the base."
            )
        best, never = first.recommend(inner), np.zeros(n, dtype=np.bool_)
        return Fc2fbState(self, arms, streams, np.arange(n), best, never, 1, 0, inner, fresh=True)

    def ask(self, state: Fc2fbState) -> Ask:
        """Ask what the stage's policy asks; where it would pass the stage's share, the next stage begins."""
        stages = self.stages(state.arms)
        while True:
            policy = self.at(state.stage, state.arms)
            asked, ended = policy.ask(state.inner), policy.finished(state.inner) & ~state.stopped
            if ended.any():
                state.recommended[ended] = policy.recommend(state.inner)[ended]
                state.stopped |= ended
            counts = np.where(state.stopped[:, None], 0, asked.counts)
            sizes = counts.sum(axis=1)[~state.stopped]
            if len(sizes) and sizes.min() < sizes.max():
                raise ValueError(
                    f"the policy must ask for as many pulls in all replications, got {sizes.min()} and {sizes.max()} "
                    f"from {self.policy.label}; run one replication at a time."
                )
            if not len(sizes) or state.spent + sizes[0] <= self.budget // stages:
                state.spent += int(sizes.max(initial=0))
                return Ask(asked.arms, counts)
            if state.stage == stages:
                state.recommended, state.stopped = self.recommend(state), np.ones_like(state.stopped)
                return Ask(asked.arms, np.zeros_like(counts))
            state.stage, state.spent = state.stage + 1, 0
            state.resume()

    def tell(self, state: Fc2fbState, asked: Ask, totals: FloatArray) -> None:
        """Let the policy of the stage learn."""
        self.at(state.stage, state.arms).tell(state.inner, asked, totals)

    def finished(self, state: Fc2fbState) -> BoolArray:
        """Return which replications have stopped."""
        return state.stopped

    def recommend(self, state: Fc2fbState) -> IntArray:
        """Return what the first stage that stopped recommends, else the present stage, shape (R, m)."""
        now = self.at(state.stage, state.arms).recommend(state.inner)
        return np.where(state.stopped[:, None], state.recommended, now)
