r"""A planar walker of three links, compiled: its motion, its controller, and the impact of the swing leg.

The legs have length r = 1 m and mass 5 kg in the middle, the hip 15 kg, the torso 10 kg half a metre above the hip. A
state is :math:`(\theta_1,\theta_2,\theta_3,\omega_1,\omega_2,\omega_3)`: absolute angles from the vertical of the
stance leg, the swing leg and the torso, forward positive, in radians, and their rates. Sources: Westervelt, Grizzle,
Chevallereau, Choi, Morris, "Feedback Control of Dynamic Bipedal Robot Locomotion", 2007; Bhat, Bernstein, "Continuous
Finite-Time Stabilization of the Translational and Rotational Double Integrators", IEEE Transactions on Automatic
Control 1998.
"""

import numpy as np
from numba import njit

from bestarm.interface import FloatArray

LEG, TORSO = 1.0, 0.5
LEG_MASS, HIP_MASS, TORSO_MASS = 5.0, 15.0, 10.0
GRAVITY = 9.8
STEP_ANGLE = np.pi / 8
_ALPHA, _EPSILON = 0.9, 0.1


@njit(cache=True)
def inertia(state: FloatArray) -> FloatArray:
    """Return D, the matrix of the stance phase, shape (3, 3)."""
    d = np.zeros((3, 3))
    d[0, 0] = (1.25 * LEG_MASS + HIP_MASS + TORSO_MASS) * LEG**2
    d[0, 1] = d[1, 0] = -0.5 * LEG_MASS * LEG**2 * np.cos(state[0] - state[1])
    d[0, 2] = d[2, 0] = TORSO_MASS * LEG * TORSO * np.cos(state[0] - state[2])
    d[1, 1] = 0.25 * LEG_MASS * LEG**2
    d[2, 2] = TORSO_MASS * TORSO**2
    return d


@njit(cache=True)
def _forces(state: FloatArray) -> FloatArray:
    """Return h + G, what motion and gravity put on the three angles."""
    leg, torso = 0.5 * LEG_MASS * LEG**2, TORSO_MASS * LEG * TORSO
    s12, s13 = np.sin(state[0] - state[1]), np.sin(state[0] - state[2])
    w1, w2, w3 = state[3] ** 2, state[4] ** 2, state[5] ** 2
    weight = 1.5 * LEG_MASS + HIP_MASS + TORSO_MASS
    found = np.empty(3)
    found[0] = -leg * s12 * w2 + torso * s13 * w3 - weight * LEG * GRAVITY * np.sin(state[0])
    found[1] = leg * s12 * w1 + 0.5 * LEG_MASS * LEG * GRAVITY * np.sin(state[1])
    found[2] = -torso * s13 * w1 - TORSO_MASS * GRAVITY * TORSO * np.sin(state[2])
    return found


@njit(cache=True)
def _inverse(d: FloatArray) -> FloatArray:
    """Return the inverse of a symmetric matrix of size 3 whose entry (1, 2) is 0."""
    a, b, c, e, f = d[0, 0], d[0, 1], d[0, 2], d[1, 1], d[2, 2]
    determinant = a * e * f - b * b * f - c * c * e
    found = np.empty((3, 3))
    found[0, 0], found[1, 1], found[2, 2] = e * f, a * f - c * c, a * e - b * b
    found[0, 1] = found[1, 0] = -b * f
    found[0, 2] = found[2, 0] = -c * e
    found[1, 2] = found[2, 1] = b * c
    for i in range(3):
        for j in range(3):
            found[i, j] /= determinant
    return found


@njit(cache=True)
def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Return a product; loops compile much faster than what NumPy dispatches to."""
    found = np.zeros(matrix.shape[0])
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            found[i] += matrix[i, j] * vector[j]
    return found


@njit(cache=True)
def accelerations(state: FloatArray, torques: FloatArray) -> FloatArray:
    r"""Return :math:`\dot\omega` from :math:`D\dot\omega+h+G=Bu`; the torques act between torso and legs."""
    forces, load = _forces(state), np.empty(3)
    load[0], load[1] = -forces[0] - torques[0], -forces[1] - torques[1]
    load[2] = -forces[2] + torques[0] + torques[1]
    return _times(_inverse(inertia(state)), load)


@njit(cache=True)
def _polynomial(a: FloatArray, x: float) -> tuple[float, float, float]:
    """Return a cubic with its first and second derivative."""
    value = a[0] + x * (a[1] + x * (a[2] + x * a[3]))
    return value, a[1] + x * (2.0 * a[2] + 3.0 * x * a[3]), 2.0 * a[2] + 6.0 * x * a[3]


@njit(cache=True)
def _swing_path(a: FloatArray, x: float) -> tuple[float, float, float]:
    """Return the cubic times (x² - step angle²), 0 where the legs change, with its derivatives."""
    value, slope, bend = _polynomial(a, x)
    factor = x * x - STEP_ANGLE**2
    return value * factor, slope * factor + 2.0 * x * value, bend * factor + 4.0 * x * slope + 2.0 * value


@njit(cache=True)
def outputs(state: FloatArray, a: FloatArray) -> FloatArray:
    """Return what the controller drives to 0, and its rate: the torso's and the swing leg's distance from their paths.
    Of the eight coefficients four are of the torso's path, four of the swing leg's. Two outputs, then two rates."""
    torso, torso_slope, _ = _polynomial(a[:4], state[0])
    swing, swing_slope, _ = _swing_path(a[4:], state[0])
    found = np.empty(4)
    # y_1 = theta_3 - path(theta_1), y_2 = theta_2 + theta_1 - path(theta_1), then their rates
    found[0], found[1] = state[2] - torso, state[1] + state[0] - swing
    found[2], found[3] = state[5] - torso_slope * state[3], state[4] + (1.0 - swing_slope) * state[3]
    return found


@njit(cache=True)
def _pull(value: float, rate: float) -> float:
    """Return the finite-time law of Bhat and Bernstein for one output and its scaled rate."""
    phi = value + np.sign(rate) * abs(rate) ** (2.0 - _ALPHA) / (2.0 - _ALPHA)
    return -np.sign(rate) * abs(rate) ** _ALPHA - np.sign(phi) * abs(phi) ** (_ALPHA / (2.0 - _ALPHA))


@njit(cache=True)
def controls(state: FloatArray, a: FloatArray) -> FloatArray:
    """Return the two torques that make the outputs follow the finite-time law, by feedback linearisation."""
    _, torso_slope, torso_bend = _polynomial(a[:4], state[0])
    _, swing_slope, swing_bend = _swing_path(a[4:], state[0])
    found = outputs(state, a)
    inverse, mobility = _inverse(inertia(state)), np.empty((2, 3))
    for j in range(3):  # the Jacobian of the outputs times the inverse
        mobility[0, j] = inverse[2, j] - torso_slope * inverse[0, j]
        mobility[1, j] = inverse[1, j] + (1.0 - swing_slope) * inverse[0, j]
    # solve (J D^-1 B) u = v - J' omega + J D^-1 (h + G), J' the derivative of J by time
    drift = _times(mobility, _forces(state))
    w1 = state[3] ** 2
    # v is the finite-time law of Bhat and Bernstein
    wanted_0 = _pull(found[0], _EPSILON * found[2]) / _EPSILON**2 + torso_bend * w1 + drift[0]
    wanted_1 = _pull(found[1], _EPSILON * found[3]) / _EPSILON**2 + swing_bend * w1 + drift[1]
    # J D^-1 B, and Cramer's rule
    m00, m01 = mobility[0, 2] - mobility[0, 0], mobility[0, 2] - mobility[0, 1]
    m10, m11 = mobility[1, 2] - mobility[1, 0], mobility[1, 2] - mobility[1, 1]
    determinant = m00 * m11 - m01 * m10
    torques = np.empty(2)
    torques[0] = (m11 * wanted_0 - m01 * wanted_1) / determinant
    torques[1] = (m00 * wanted_1 - m10 * wanted_0) / determinant
    return torques


@njit(cache=True)
def motion(state: FloatArray, a: FloatArray) -> FloatArray:
    """Return the time derivative of a state under the controller."""
    found, changes = np.empty(6), accelerations(state, controls(state, a))
    for i in range(3):
        found[i], found[3 + i] = state[3 + i], changes[i]
    return found


@njit(cache=True)
def impact(state: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Let the swing foot strike the ground without slip or rebound, and exchange the legs.
    From the state just before, shape (6,), to that just after, the struck leg being the stance leg, and the tangential
    and normal impulse on the foot, shape (2,)."""
    # D_e: the inertia with two more coordinates, those of the stance foot, which is free now
    leg = 0.5 * LEG * (3.0 * LEG_MASS + 2.0 * HIP_MASS + 2.0 * TORSO_MASS)
    swing, torso = 0.5 * LEG_MASS * LEG, TORSO_MASS * TORSO
    system, load, d = np.zeros((7, 7)), np.zeros(7), inertia(state)
    for i in range(3):
        for j in range(3):
            system[i, j] = d[i, j]
    system[3, 3] = system[4, 4] = 2.0 * LEG_MASS + HIP_MASS + TORSO_MASS
    factors = (leg, -swing, torso)
    for i in range(3):
        system[i, 3] = system[3, i] = factors[i] * np.cos(state[i])
        system[i, 4] = system[4, i] = -factors[i] * np.sin(state[i])
    # right-hand side: D_e (omega, 0, 0) before the impact
    for i in range(5):
        for j in range(3):
            load[i] += system[i, j] * state[3 + j]
    # E: the velocity of the swing foot, which is 0 after the impact
    foot = np.zeros((2, 5))
    foot[0, 0], foot[0, 1], foot[0, 3] = LEG * np.cos(state[0]), -LEG * np.cos(state[1]), 1.0
    foot[1, 0], foot[1, 1], foot[1, 4] = -LEG * np.sin(state[0]), LEG * np.sin(state[1]), 1.0
    for i in range(2):
        for j in range(5):
            system[5 + i, j], system[j, 5 + i] = foot[i, j], -foot[i, j]
    # [[D_e, -E'], [E, 0]] (q, F) = (D_e (omega, 0, 0), 0)
    solved = np.linalg.solve(system, load)
    after, force = np.empty(6), np.empty(2)
    # the legs change their parts
    after[0], after[1], after[2] = state[1], state[0], state[2]
    after[3], after[4], after[5] = solved[1], solved[0], solved[2]
    force[0], force[1] = solved[5], solved[6]
    return after, force


@njit(cache=True)
def before_impact(a: FloatArray, rate: float) -> FloatArray:
    """Return the state at the end of a step in which both outputs and their rates are 0."""
    torso, torso_slope, _ = _polynomial(a[:4], STEP_ANGLE)
    _, swing_slope, _ = _swing_path(a[4:], STEP_ANGLE)
    return np.array([STEP_ANGLE, -STEP_ANGLE, torso, rate, -(1.0 - swing_slope) * rate, torso_slope * rate])
