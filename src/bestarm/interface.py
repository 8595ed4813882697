"""The interface between a policy, which asks, and a simulated problem or a laboratory, which answers.

Every array whose leading axis is R holds one row per replication; a single real experiment is R = 1.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bestarm.settings import check_features
from bestarm.streams import Streams

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def shared() -> Any:
    """Declare a field of a state that all replications share (no leading axis R)."""
    return field(metadata={"shared": True})


def nested() -> Any:
    """Declare a field of a state that is the state of another policy; the class takes its rows by ``__post_init__``."""
    return field(metadata={"nested": True})


def take_rows(state: Any, rows: IntArray) -> Any:
    """Return a state, or an array with the leading axis R, that holds only some of its replications."""
    if isinstance(state, np.ndarray):
        return state[rows]
    kept = {
        f.name: getattr(state, f.name)[rows]
        for f in fields(state)
        if isinstance(getattr(state, f.name), np.ndarray) and not f.metadata.get("shared")
    }
    return replace(state, **kept)


class Ask(NamedTuple):
    """One round of requests for R replications.

    Attributes
    ----------
    arms : ndarray of int64, shape (R, b)
        Arm identities, of cells their heap numbers (`bestarm.partition`); b may differ from round to round.
    counts : ndarray of int64, shape (R, b)
        How often each arm is to be pulled; 0 is padding (ragged supports, finished replications).
    """

    arms: IntArray
    counts: IntArray


@dataclass(frozen=True)
class Arms:
    """What a policy may know of the arms before the first pull.

    Raises ValueError for fewer than two arms, no feature, or an entry that is not finite.

    Parameters
    ----------
    features : ndarray, shape (n_arms, n_features) or (R, n_arms, n_features)
        Arm features, shared by all replications or one set for each.
    """

    features: FloatArray

    def __post_init__(self) -> None:
        check_features(self.features)
        features = np.ascontiguousarray(self.features, dtype=np.float64)
        if features.ndim not in (2, 3):
            raise ValueError(
                f"features must have shape (n_arms, n_features) or (R, n_arms, n_features), got {features.shape}."
            )
        if features.shape[-2] < 2 or features.shape[-1] < 1:
            raise ValueError(f"at least 2 arms and 1 feature are needed, got shape {features.shape}.")
        if not np.isfinite(features).all():
            place = np.argwhere(~np.isfinite(features))[0]
            raise ValueError(
                f"features must be finite, got {features[tuple(place)]} at index {tuple(int(i) for i in place)} "
                f"(arm {place[-2]}, feature {place[-1]}). Drop this arm or impute the value."
            )
        object.__setattr__(self, "features", features)

    @classmethod
    def unstructured(cls, n_arms: int) -> "Arms":
        """Return arms that share no information: the features are the canonical basis."""
        return cls(np.eye(n_arms))

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return self.features.shape[-2]

    @property
    def n_features(self) -> int:
        """Dimension of the features."""
        return self.features.shape[-1]

    def no_pulls(self, n_replications: int) -> IntArray:
        """Return the tally before the first pull: how often each arm was pulled, shape (R, n_arms)."""
        return np.zeros((n_replications, self.n_arms), dtype=np.int64)

    def feature_sets(self, n_replications: int) -> tuple[FloatArray, IntArray]:
        """Return the features as sets, shape (n_sets, n_arms, n_features), and which of them each replication has.

        Raises ValueError if there is a set for each of another number of replications.
        """
        if self.features.ndim == 2:
            return self.features[None], np.zeros(n_replications, dtype=np.int64)
        if len(self.features) != n_replications:
            raise ValueError(
                f"features are those of {len(self.features)} replications, but {n_replications} are to be run; give one"
                " set for all, of shape (n_arms, n_features), or one for each."
            )
        return self.features, np.arange(n_replications)


class State(Protocol):
    """The state of a policy for R replications: a dataclass, whatever its fields are.

    * Its arrays have the leading axis R, except those declared with `shared`: `take_rows` keeps some replications by
      them, and the loop does so once half of the searches have ended.
    * What is no array is common to all replications: a number of rounds, a kernel. Random numbers are drawn by name
      (`bestarm.streams`), so that a state holds no generator.
    * It is all that a policy keeps between rounds; ``tell`` changes it in place.

    A search for people has a `bestarm.guards.protocol.GuardedState` around it, with ``replications`` and ``n_arms``.
    Those are not asked of the policy's own state, which the door need not look into.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]


StateOfPolicy = TypeVar("StateOfPolicy", bound=State)


class Policy(Protocol[StateOfPolicy]):
    """A rule for choosing arms: a frozen dataclass of hyper-parameters and named deviations, nothing else.

    `bestarm.check_policy` runs a policy through all that is written here. Two things more are looked at where a policy
    has them: a setting ``budget`` (evaluations) or ``rounds`` says that the search ends by itself, even if all that it
    is told are failures; ``as_coded()`` returns the policy with the named deviations of its authors' code.
    """

    @property
    def label(self) -> str:
        """Name in the paper; it also keys the policy's own random draws, so that two labels draw independently."""
        ...

    def start(self, arms: Any, streams: Streams) -> StateOfPolicy:
        """Return the state before the first pull of the R = ``len(streams.replications)`` replications.

        ``arms`` is annotated with what the policy searches, `Arms` or `bestarm.partition.Partition`; other things are
        refused at the door.
        """
        ...

    def ask(self, state: StateOfPolicy) -> Ask:
        """Decide which replications stop, and the next pulls of the others.

        A replication that has stopped asks for nothing (counts of 0); one that goes on asks for at least one pull.
        """
        ...

    def tell(self, state: StateOfPolicy, asked: Ask, totals: FloatArray) -> None:
        """Learn the sums of rewards, shape (R, b), of what was asked; NaN is an evaluation that failed.

        Counts may be smaller than those asked, down to 0 in replications that the loop has cut; such an entry, as all
        padding, teaches nothing, whatever its total.
        """
        ...

    def finished(self, state: StateOfPolicy) -> BoolArray:
        """Return which replications have stopped, shape (R,), as the last ``ask`` decided."""
        ...

    def recommend(self, state: StateOfPolicy) -> IntArray:
        """Return the recommended arms, shape (R, n_best), valid at any time."""
        ...


class Problem(Protocol):
    """What is searched: a frozen record that knows its optimum and answers with rewards."""

    @property
    def label(self) -> str:
        """Name of the instance; it keys the noise."""
        ...

    @property
    def arms(self) -> Any:
        """What a policy may know: `Arms`, or the cells of a `Partition`; both make the tally of pulls."""
        ...

    def rewards(self, asked: Ask, pulled: Any, streams: Streams) -> FloatArray:
        """Return sums of rewards, shape (R, b), and add the pulls to the tally ``pulled``."""
        ...

    def take(self, rows: IntArray) -> Self:
        """Return the problem for a subset of the replications."""
        ...


class FiniteProblem(Problem, Protocol):
    """A problem with finitely many arms, `Arms`, whose expected rewards can be listed."""

    @property
    def means(self) -> FloatArray:
        """Expected rewards, shape (1 or R, n_arms)."""
        ...


def check_asked(label: str, arms: Any, asked: Any, replications: IntArray) -> None:
    """Refuse what is no `Ask` of these replications, or pulls arms that do not exist; compiled code does not look."""
    if not isinstance(asked, Ask):
        raise ValueError(f"{label}: ask must return Ask(arms, counts), got a {type(asked).__name__}.")
    for name, part in zip(Ask._fields, asked, strict=True):
        if getattr(part, "dtype", None) != np.int64 or part.ndim != 2 or len(part) != len(replications):
            got = f"{part.dtype} of shape {part.shape}" if isinstance(part, np.ndarray) else f"a {type(part).__name__}"
            rule = f"an array of int64, shape ({len(replications)}, b)"
            raise ValueError(f"{label}: {name} of what ask returns must be {rule}, got {got}.")
    if asked.arms.shape != asked.counts.shape:
        shapes = f"{asked.arms.shape} and {asked.counts.shape}"
        raise ValueError(f"{label}: ask must return arms and counts of one shape, got {shapes}; pad counts with 0.")
    if asked.counts.min(initial=0) < 0:
        raise ValueError(f"{label}: ask returns a count of {asked.counts.min()}; counts are at least 0.")
    if isinstance(arms, Arms) and asked.arms.view(np.uint64).max(initial=0) >= arms.n_arms:  # negative ones, too
        odd = asked.arms[(asked.counts > 0) & ((asked.arms < 0) | (asked.arms >= arms.n_arms))]
        if len(odd):
            raise ValueError(f"{label}: ask wants arm {odd[0]}, but arms are 0, ..., {arms.n_arms - 1}.")


def check_recommended(label: str, arms: Any, recommended: Any, replications: IntArray) -> None:
    """Refuse recommendations that are no arms, shape (R, m)."""
    whole = isinstance(recommended, np.ndarray) and recommended.dtype.kind in "iu"
    if not whole or recommended.ndim != 2 or len(recommended) != len(replications):
        rule = f"an array of whole numbers, shape ({len(replications)}, m)"
        got = (
            f"{recommended.dtype} of shape {recommended.shape}" if hasattr(recommended, "shape") else repr(recommended)
        )
        raise ValueError(f"{label}: recommend must return {rule}, got {got:.80}.")
    known = isinstance(arms, Arms) and recommended.size > 0
    if known and not 0 <= recommended.min() <= recommended.max() < arms.n_arms:
        odd = f"{recommended.min()} to {recommended.max()}"
        raise ValueError(f"{label}: recommend returns arms {odd}, but arms are 0, ..., {arms.n_arms - 1}.")
