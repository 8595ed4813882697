"""The walker: mechanics against energy and symmetry, impacts, and known gaits."""

from itertools import product

import numpy as np
import pytest
from refusals import refuses
from scipy.integrate import solve_ivp

from bestarm_objectives.walker import mechanics, walking

A = np.array(walking.NOMINAL)
STATES = np.random.default_rng(0).normal(0, 0.4, (20, 6))


def energy(state):
    """Return kinetic and potential energy in the stance phase, in joules, from where the masses are."""
    first, second, torso = np.cos(state[:3])
    heights = 5.0 * 0.5 * first + 15.0 * first + 5.0 * (first - 0.5 * second) + 10.0 * (first + 0.5 * torso)
    return 0.5 * state[3:] @ mechanics.inertia(state) @ state[3:] + 9.8 * heights


def test_power_of_the_torques_is_the_change_of_energy():
    """Along a motion dE/dt = u_1 (w_3 - w_1) + u_2 (w_3 - w_2), by central differences; without torques it is 0."""
    for state, torques in product(STATES, np.array([[0.0, 0.0], [3.0, -2.0]])):
        rate = np.concatenate([state[3:], mechanics.accelerations(state, torques)])
        change = (energy(state + 1e-6 * rate) - energy(state - 1e-6 * rate)) / 2e-6
        assert change == pytest.approx(torques @ (state[5] - state[3:5]), rel=1e-5, abs=1e-5)


def test_mirror_image():
    """With all angles, rates and torques reversed, accelerations and the state after an impact are reversed."""
    for state in STATES:
        turned = mechanics.accelerations(-state, np.array([-1.0, 2.0]))
        np.testing.assert_allclose(turned, -mechanics.accelerations(state, np.array([1.0, -2.0])), atol=1e-10)
        np.testing.assert_allclose(mechanics.impact(-state)[0], -mechanics.impact(state)[0], atol=1e-10)


def test_controller_follows_the_finite_time_law():
    """The second derivative of the outputs along the motion is the law, 0 where outputs and their rates are 0."""
    for state in STATES:
        ahead, behind = (mechanics.outputs(state + s * mechanics.motion(state, A), A)[2:] for s in (1e-6, -1e-6))
        found = mechanics.outputs(state, A)
        pulls = []
        for value, rate in zip(found[:2], 0.1 * found[2:], strict=True):
            phi = value + np.sign(rate) * abs(rate) ** 1.1 / 1.1
            pulls.append(100 * (-np.sign(rate) * abs(rate) ** 0.9 - np.sign(phi) * abs(phi) ** (0.9 / 1.1)))
        np.testing.assert_allclose((ahead - behind) / 2e-6, pulls, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(mechanics.outputs(mechanics.before_impact(A, 1.55), A), 0.0, atol=1e-12)


def test_impact_loses_energy_and_keeps_the_swing_foot_on_the_ground():
    """Kinetic energy falls, the struck foot has no speed after the impact, and legs are exchanged."""
    for rates in np.random.default_rng(1).normal(0, 1, (20, 3)):
        state = np.concatenate([[mechanics.STEP_ANGLE, -mechanics.STEP_ANGLE, 0.3], rates])
        after, _ = mechanics.impact(state)
        np.testing.assert_array_equal(after[:3], [-mechanics.STEP_ANGLE, mechanics.STEP_ANGLE, 0.3])
        energy = 0.5 * rates @ mechanics.inertia(state) @ rates
        assert 0.5 * after[3:] @ mechanics.inertia(after) @ after[3:] <= energy + 1e-9


def test_known_impact():
    """Rates after the impact of the nominal gait, energies before and after, and the ratio of the forces."""
    state = mechanics.before_impact(A, 1.55)
    after, force = mechanics.impact(state)
    np.testing.assert_allclose(state[2:], [0.4965, 1.55, -2.0318, -0.4315], atol=1e-4)
    np.testing.assert_allclose(after[3:], [0.9268, -0.2393, 1.4839], atol=1e-4)
    assert energy(state) == pytest.approx(357.30, abs=0.01)
    assert energy(after) == pytest.approx(335.64, abs=0.01)
    assert force[0] / force[1] == pytest.approx(-0.5995, abs=1e-4)


def test_nominal_gait_is_steady():
    """Steps of 1.121 s, a rate of 1.550 before each impact, 0.6825 m/s, also at tolerances 100 times finer."""
    found = walking.walk(A)
    assert found.outcome == walking.WALKED
    np.testing.assert_allclose(found.step_seconds, 1.1214, atol=2e-4)
    np.testing.assert_allclose(found.ends[:, 3:], [[1.550, -2.032, -0.4315]] * 5, atol=1e-3)
    assert found.metres == pytest.approx(10 * mechanics.LEG * np.sin(mechanics.STEP_ANGLE), rel=1e-5)
    fine = walking.walk(A, relative=1e-7, absolute=1e-8)
    assert found.metres / found.seconds == pytest.approx(fine.metres / fine.seconds, rel=2e-4)


def test_walks_agree_with_scipy():
    """The first step of a controller from [0, 1]^8 ends when and where `solve_ivp` says (1e-4)."""
    a = np.full(8, 0.5)
    start, _ = mechanics.impact(mechanics.before_impact(a, 1.55))

    def reached(t, state):
        return state[0] - mechanics.STEP_ANGLE

    reached.terminal, reached.direction = True, 1
    solved = solve_ivp(lambda t, s: mechanics.motion(s, a), (0, 2), start, rtol=1e-9, atol=1e-10, events=reached)
    found = walking.walk(a, n_steps=1)
    assert found.seconds == pytest.approx(solved.t[-1], abs=1e-4)
    np.testing.assert_allclose(found.ends[0], solved.y[:, -1], atol=1e-3)


def test_speeds_and_failures():
    """Speeds of two controllers, a fall at 1.42 s that is worth 0, and a walk that time ends."""
    assert walking.walking_speeds(np.full((1, 8), 0.5))[0] == pytest.approx(1.2508, rel=2e-3)
    assert walking.walking_speeds(np.ones((1, 8)))[0] == pytest.approx(1.1215, rel=2e-3)
    fall = walking.walk(np.zeros(8))
    assert (fall.outcome, fall.seconds) == (walking.FELL, pytest.approx(1.42, abs=0.005))
    assert walking.walking_speeds(np.zeros((1, 8)))[0] == 0
    assert walking.walk(A, max_seconds=2.0).outcome == walking.OUT_OF_TIME
    assert walking.walk(np.full(8, 1e200)).outcome == walking.FAILED
    assert walking.walking_speeds(np.full((1, 8), 1e200))[0] == 0
    refuses(lambda: walking.walk(np.full(8, np.nan)), "eight finite coefficients")


def test_most_of_the_cube_walks():
    """Share of walkers and mean speed of 500 random controllers are those of 8192, within 3 standard errors."""
    speeds = walking.walking_speeds(np.random.default_rng(5).random((500, 8)))
    assert abs((speeds > 0).mean() - 0.952) < 3 * np.sqrt(0.048 * 0.952 / 500)
    assert speeds.mean() == pytest.approx(1.142, abs=3 * 0.295 / np.sqrt(500))
    assert speeds.max() < walking.BEST_SPEED


def test_best_controller():
    """Its speed is the one stated, and 200 neighbours in the cube are slower."""
    best = np.array(walking.BEST_CONTROLLER)
    assert walking.walking_speeds(best)[0] == pytest.approx(walking.BEST_SPEED, abs=1e-6)
    near = np.clip(best + 0.05 * np.random.default_rng(0).standard_normal((200, 8)), 0, 1)
    assert walking.walking_speeds(near).max() < walking.BEST_SPEED
