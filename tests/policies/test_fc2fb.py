"""FC2FB: a naive judge, stages, risks, refusals, a save between stages."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

import bestarm
from bestarm.interface import Arms
from bestarm.policies.linear.fc2fb import Fc2fb
from bestarm.policies.linear.gifa import LinGifa, MLinGape
from bestarm.policies.linear.gse import Gse
from bestarm.policies.linear.mislid import MisLid
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import correct
from bestarm_studies.linear_topm.instances import classic_instance

EASY = classic_instance(4, 2, np.pi / 3)
GIVEN = {"n_best": 2, "sigma": 0.5, "threshold": "heuristic"}


def judge(policy, budget, base, delta0, bandit, replication):
    """Run Algorithm 3 for one replication, a stage after the other; return its answer, its pulls and its stage."""
    streams = Streams(3, bandit.label, np.array([replication]))
    stages = int(np.floor(np.log2(budget / base)))
    pulled, pulls = bandit.arms.no_pulls(1), 0
    for stage in range(1, stages + 1):
        risk = delta0 ** (2 ** (stages - stage))
        own = replace(policy, delta=max(risk, 1e-300), label=f"{policy.label} stage {stage}")
        state, left = own.start(bandit.arms, streams), budget // stages
        while True:
            asked = own.ask(state)
            if own.finished(state)[0]:
                return own.recommend(state)[0].tolist(), pulls, stage
            if asked.counts.sum() > left:
                break
            own.tell(state, asked, bandit.rewards(asked, pulled, streams))
            left -= int(asked.counts.sum())
            pulls += int(asked.counts.sum())
    return own.recommend(state)[0].tolist(), pulls, None


@pytest.mark.parametrize("policy", [MLinGape(**GIVEN), LinGifa(**GIVEN), MisLid(2, 0.1)], ids=lambda p: p.label)
def test_a_naive_judge_gives_the_same_answers_after_as_many_pulls(policy):
    wrapped, answers = Fc2fb(policy, 600), []
    metrics = {"first": lambda _, best: best[:, 0] + 0.0, "second": lambda _, best: best[:, 1] + 0.0}
    rows = simulate(wrapped, EASY, Streams(3, EASY.label, np.arange(8)), metrics=metrics)
    ends = set()
    for r in range(8):
        answer, pulls, stage = judge(policy, 600, 3, np.exp(-1.0), EASY, r)
        answers.append(answer)
        ends.add(stage)
        assert rows.pulls[r] == pulls
    assert rows[["first", "second"]].to_numpy().tolist() == answers
    assert len(ends) > 1  # replications end in several stages


def test_stages_share_the_budget_and_their_risks_grow():
    wrapped, arms = Fc2fb(MLinGape(2), 1000, base=10, delta0=0.5), Arms(np.eye(5))
    assert wrapped.stages(arms) == 6
    assert [wrapped.at(stage, arms).delta for stage in range(1, 7)] == [0.5**power for power in (32, 16, 8, 4, 2, 1)]
    assert Fc2fb(MLinGape(2), 10**7, base=1).at(1, arms).delta == 1e-300  # e^-8388608 underflows


def test_more_budget_errs_less():
    hard, shares = classic_instance(4, 2, np.pi / 9), []
    for budget in (60, 480, 3840):
        policy, streams = Fc2fb(MLinGape(**GIVEN), budget), Streams(1, hard.label, np.arange(400))
        shares.append(simulate(policy, hard, streams, metrics={"correct": correct}).correct.mean())
    assert shares[0] + 0.05 < shares[1] < shares[2] - 0.05


def test_what_has_no_risk_is_refused_in_one_line():
    remedy = ".*take m_lingape or lingifa"
    refuses(lambda: bestarm.fc2fb(Gse(40), 100), "got GSE, one with a budget" + remedy)
    refuses(lambda: bestarm.fc2fb(bestarm.lingape(40), 100), "got LinGapE, one with a" + remedy)
    refuses(lambda: Fc2fb(MLinGape(2), 100, delta0=0.9), r"delta0 must lie in \(0, 1/2\], got 0.9")
    with pytest.raises(ValueError, match=r"budget must be at least twice the base, got 100 and a base of 60"):
        Fc2fb(MLinGape(2), 100, base=60).start(EASY.arms, Streams.first(1))
    with pytest.raises(ValueError, match=r"each of 4 stages must hold the 5 pulls of the first request, got a budget"):
        Fc2fb(MLinGape(2), 16, base=1).start(Arms(np.eye(5)), Streams.first(1))


def test_a_search_saved_in_a_late_stage_goes_on(tmp_path):
    policy = bestarm.fc2fb(bestarm.m_lingape(2, sigma=0.5), 200)
    streams = Streams(3, EASY.label, np.arange(2))
    state, pulled = policy.start(EASY.arms, streams), EASY.arms.no_pulls(2)
    while state.stage < 3:
        asked = policy.ask(state)
        policy.tell(state, asked, EASY.rewards(asked, pulled, streams))
    bestarm.save(state, tmp_path / "late.npz")
    found, again = bestarm.load(tmp_path / "late.npz")
    for _ in range(30):
        asked, same = policy.ask(state), found.ask(again)
        np.testing.assert_array_equal(asked.arms, same.arms)
        if policy.finished(state).all():
            break
        totals = EASY.rewards(asked, pulled, streams)
        policy.tell(state, asked, totals)
        found.tell(again, same, totals)
    assert again.stage == state.stage >= 3
