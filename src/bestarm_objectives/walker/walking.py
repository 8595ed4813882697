r"""Walks of the planar walker: stance phases integrated between impacts, the speed of the hip, known controllers.

Integration: Dormand, Prince, "A Family of Embedded Runge-Kutta Formulae", Journal of Computational and Applied
Mathematics 1980. Interpolation within a step: Shampine, "Some Practical Runge-Kutta Formulas", 1986.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bestarm.interface import FloatArray
from bestarm_objectives.walker.mechanics import LEG, STEP_ANGLE, before_impact, impact, motion

COEFFICIENTS = ("a01", "a11", "a21", "a31", "a02", "a12", "a22", "a32")
NOMINAL = (0.512, 0.073, 0.035, -0.819, -2.27, 3.26, 3.11, 1.89)
BEST_CONTROLLER = (1.0, 0.6225003187516867, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
BEST_SPEED = 1.3895642  # of that controller, where six evolution strategies from the best of 8192 points ended
FIRST_RATE = 1.55
N_STEPS = 5
MAX_SECONDS = 13.0
RELATIVE, ABSOLUTE = 1e-5, 1e-6
FELL_HEIGHT = 0.5
WALKED, OUT_OF_TIME, FELL, FAILED = 0, 1, 2, 3
_FIRST_STEP, _SMALLEST_STEP, _LONGEST_STEP, _BISECTIONS = 1e-3, 1e-10, 0.05, 60
_A = np.array([
    [0, 0, 0, 0, 0, 0],
    [1 / 5, 0, 0, 0, 0, 0],
    [3 / 40, 9 / 40, 0, 0, 0, 0],
    [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
])  # fmt: skip
_E = np.array([-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40])
_P = np.array([
    [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
    [0, 0, 0, 0],
    [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
    [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
    [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
    [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
    [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
])  # fmt: skip


class Walk(NamedTuple):
    """What a walk came to."""

    outcome: int  # ``WALKED`` all steps, ``OUT_OF_TIME``, ``FELL``, or ``FAILED`` (a state that is not finite)
    seconds: float  # seconds, metres: time and horizontal way of the hip
    metres: float
    step_seconds: FloatArray  # shape (n_steps,): time of each step, NaN of those not made
    ends: FloatArray  # shape (n_steps, 6): state before each impact


@njit(cache=True)
def _try_step(state: FloatArray, h: float, a: FloatArray, k: FloatArray, relative: float, absolute: float) -> tuple:
    """Fill the stages of one step after the first; return the new state and the scaled error."""
    new = state.copy()
    for stage in range(1, 7):
        for i in range(6):
            new[i] = state[i]
            for before in range(stage):
                new[i] += h * _A[stage, before] * k[before, i]
        # stage of the pair of Dormand and Prince; the last one is the first of the next step
        rates = motion(new, a)
        for i in range(6):
            k[stage, i] = rates[i]
    # root mean square of error over tolerance
    total = 0.0
    for i in range(6):
        error = 0.0
        for stage in range(7):
            error += _E[stage] * k[stage, i]
        total += (h * error / (absolute + relative * max(abs(state[i]), abs(new[i])))) ** 2
    return new, np.sqrt(total / 6.0)


@njit(cache=True)
def _within(state: FloatArray, h: float, k: FloatArray, share: float) -> FloatArray:
    """Return the state at a share of a step."""
    found = state.copy()
    for stage in range(7):
        power, weight = share, 0.0
        for p in range(4):
            weight += _P[stage, p] * power
            power *= share
        for i in range(6):
            found[i] += h * weight * k[stage, i]
    return found


@njit(cache=True)
def _crossing(state: FloatArray, h: float, k: FloatArray, angle: float) -> float:
    """Return the share of a step at which the stance leg reaches an angle that it has passed at the end."""
    low, high = 0.0, 1.0
    rising = state[0] < angle
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if (_within(state, h, k, middle)[0] < angle) == rising:
            low = middle
        else:
            high = middle
    return high


@njit(cache=True)
def _stance(state: FloatArray, a: FloatArray, seconds: float, relative: float, absolute: float) -> tuple:
    """Integrate one stance phase; return how it ended, after how long, and the last state."""
    fallen = np.arccos(FELL_HEIGHT)
    time, h, k = 0.0, _FIRST_STEP, np.empty((7, 6))
    rates = motion(state, a)
    for i in range(6):
        k[0, i] = rates[i]
    while True:
        h = min(h, _LONGEST_STEP, seconds - time)
        new, error = _try_step(state, h, a, k, relative, absolute)
        if not np.isfinite(error):
            error = 1e10
        # rejected: once more with a shorter step
        if error > 1.0:
            h *= max(0.2, 0.9 * error**-0.2)
            if h < _SMALLEST_STEP:
                return FAILED, time, state
            continue
        # the swing foot strikes the ground
        if state[0] < STEP_ANGLE <= new[0]:
            share = _crossing(state, h, k, STEP_ANGLE)
            return WALKED, time + share * h, _within(state, h, k, share)
        # the walker has fallen
        if abs(new[0]) > fallen:
            share = _crossing(state, h, k, fallen if new[0] > 0.0 else -fallen)
            return FELL, time + share * h, _within(state, h, k, share)
        time += h
        if seconds - time < _SMALLEST_STEP:
            return OUT_OF_TIME, time, new
        state = new
        for i in range(6):
            k[0, i] = k[6, i]
        # accepted: the next step by the error of this one
        h *= 10.0 if error == 0.0 else min(10.0, 0.9 * error**-0.2)


@njit(cache=True)
def _walk(
    a: FloatArray, n_steps: int, max_seconds: float, first_rate: float, relative: float, absolute: float
) -> tuple:
    """Walk until a step fails, or as many steps as asked; return the fields of `Walk`."""
    step_seconds, ends = np.full(n_steps, np.nan), np.full((n_steps, 6), np.nan)
    seconds, metres, outcome = 0.0, 0.0, FAILED
    state, _ = impact(before_impact(a, first_rate))
    for step in range(n_steps):
        outcome, took, end = _stance(state, a, max_seconds - seconds, relative, absolute)
        seconds += took
        metres += LEG * (np.sin(end[0]) - np.sin(state[0]))
        if outcome != WALKED:
            break
        step_seconds[step] = took
        for i in range(6):
            ends[step, i] = end[i]
        state, _ = impact(end)
    return outcome, seconds, metres, step_seconds, ends


def walk(
    a: FloatArray,
    *,
    n_steps: int = N_STEPS,
    max_seconds: float = MAX_SECONDS,
    first_rate: float = FIRST_RATE,
    relative: float = RELATIVE,
    absolute: float = ABSOLUTE,
) -> Walk:
    """Walk some steps, from the end of a step in which the outputs are 0.
    ``a`` are the eight coefficients of the controller, ``first_rate`` is the rate of the stance leg before the first
    impact, in radians a second; ``relative`` and ``absolute`` are tolerances of the integration. Raises ValueError if
    there are not eight coefficients, or one is not finite."""
    a = np.ascontiguousarray(a, dtype=np.float64)
    if a.shape != (8,) or not np.isfinite(a).all():
        raise ValueError(f"a controller has eight finite coefficients, got {a}.")
    return Walk(*_walk(a, n_steps, max_seconds, first_rate, relative, absolute))


@njit(cache=True, nogil=True)
def _speeds(controllers: FloatArray, graded: bool) -> FloatArray:
    found = np.zeros(controllers.shape[0])
    for i in range(controllers.shape[0]):
        outcome, seconds, metres, _, _ = _walk(controllers[i], N_STEPS, MAX_SECONDS, FIRST_RATE, RELATIVE, ABSOLUTE)
        if (outcome <= OUT_OF_TIME or (graded and outcome == FELL)) and np.isfinite(metres):
            found[i] = max(metres / (seconds if outcome <= OUT_OF_TIME else MAX_SECONDS), 0.0)
    return found


def walking_speeds(controllers: FloatArray, *, graded: bool = False) -> FloatArray:
    """Return the mean speed of the hip over five steps, at most 13 seconds, in metres a second.
    Controllers have shape (n, 8). A walker that falls gets its way over 13 seconds if ``graded``; by default 0, which
    makes the function jump. Raises ValueError if there are not eight coefficients, or one is not finite."""
    controllers = np.ascontiguousarray(np.atleast_2d(controllers), dtype=np.float64)
    if controllers.ndim != 2 or controllers.shape[1] != 8 or not np.isfinite(controllers).all():
        raise ValueError(f"controllers must be finite with shape (n, 8), got shape {controllers.shape}.")
    return _speeds(controllers, graded)
