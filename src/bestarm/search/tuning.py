"""Settings of a scikit-learn estimator tried in batches, each chosen by what the ones before have taught."""

import math
import warnings
from collections.abc import Callable, Sequence
from pickle import PicklingError
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid, ParameterSampler, RandomizedSearchCV
from sklearn.utils import check_random_state

from bestarm.models.finite_gp import LARGEST_REWARD
from bestarm.search.search import Search
from bestarm.settings import LARGEST_FEATURE, check_whole

_WIDE = 100.0  # ratio of the largest to the smallest positive value, from which on a setting is seen by its logarithm


class BatchSearchCV(RandomizedSearchCV):
    """Search for the settings of an estimator, several trials at a time, by `bestarm.Search`.

    Settings are drawn from the distributions once. The first batch is random. Each further one is chosen by a policy
    that has learned from the scores so far, and its fits run side by side. A trial that fails is not repeated, and
    teaches nothing unless ``error_score`` is a number. If all fits of the first batch fail, the search ends, as
    scikit-learn's own; of a later batch that fails as a whole ``cv_results_`` has nothing, and a warning says so.

    Numbers are seen by the policy as they are, positive ones that span a factor of 100 or more by their logarithm;
    anything else is one of several words.

    Parameters
    ----------
    estimator, param_distributions
        What is fitted, and names of settings with lists or distributions, as
        `sklearn.model_selection.ParameterSampler` takes them.
    n_iter, batch_size : int, default 30 and 5
        Trials, and those of a batch.
    n_candidates : int, optional
        Settings that are drawn, by default ten times ``n_iter`` and at least 300, of which ``n_iter`` are tried. Where
        there are no more than ``n_iter``, all are, which a warning says.
    policy : str or policy, optional
        See `bestarm.Search`; by default its own.
    random_state : int, RandomState instance or None, default None
        Of the settings drawn and of the policy.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As of `sklearn.model_selection.RandomizedSearchCV`. With several metrics, ``refit`` names the one that is
        maximised; one that it does not name, a function or False, takes the first. All batches have the same splits.

    Attributes
    ----------
    search_ : Search
        The search with its log: ``search_.predict()`` has every setting drawn; None where all were tried. Candidate
        ``"7"`` is ``candidates_[7]``.
    candidates_ : list of dict
        The settings drawn.
    cv_results_, best_estimator_, best_params_, best_score_, best_index_, scorer_, n_splits_, refit_time_, classes_
        As of `sklearn.model_selection.RandomizedSearchCV`; ``cv_results_`` has the column ``batch`` besides.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> x, y = load_iris(return_X_y=True)
    >>> tuned = BatchSearchCV(SVC(), {"C": loguniform(1e-3, 1e3)}, n_iter=10, random_state=0).fit(x, y)
    >>> tuned.cv_results_["batch"].tolist()
    [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 30,
        batch_size: int = 5,
        n_candidates: int | None = None,
        policy: Any = None,
        random_state: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: Any = math.nan,
        return_train_score: bool = False,
    ) -> None:
        kept: dict[str, Any] = {"random_state": random_state, "scoring": scoring, "n_jobs": n_jobs, "refit": refit}
        kept |= {"cv": cv, "verbose": verbose, "pre_dispatch": pre_dispatch, "error_score": error_score}
        super().__init__(estimator, param_distributions, n_iter=n_iter, return_train_score=return_train_score, **kept)
        self.batch_size = batch_size
        self.n_candidates = n_candidates
        self.policy = policy

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:
        """Try batches of settings, as scikit-learn asks its searches to."""
        n = max(300, 10 * self.n_iter) if self.n_candidates is None else self.n_candidates
        for name, value in {"batch_size": self.batch_size, "n_candidates": n}.items():
            check_whole(name, value, 1)
        random = check_random_state(self.random_state)
        self.candidates_ = drawn(self.param_distributions, n, random)
        seed = int(random.randint(2**31 - 1))
        self.search_ = None
        if (n := len(self.candidates_)) <= self.n_iter:
            said = f"all {n} settings are tried, no policy chooses; make n_iter ({self.n_iter}) smaller."
            warnings.warn(said, stacklevel=2)
            evaluate_candidates(self.candidates_, more_results={"batch": [1] * n})
            return
        self.search_ = search = Search(as_table(self.candidates_), self.policy, seed=seed)
        tried, number, splits = 0, 0, list[Any]()

        def split(*data: Any, **more: Any) -> list[Any]:
            splits[:] = splits or self.cv.split(*data, **more)  # what shuffles would give each batch others
            return splits

        cv = SimpleNamespace(split=split) if hasattr(self.cv, "split") else None
        while tried < self.n_iter:
            batch, number = search.ask(min(self.batch_size, self.n_iter - tried)), number + 1
            settings = [self.candidates_[int(name)] for name in batch["name"]]
            try:
                results = evaluate_candidates(settings, cv, {"batch": [number] * len(settings)})
                scores = np.asarray(results[self._metric(results)], dtype=np.float64)[-len(settings) :]
            except ValueError as error:  # scikit-learn keeps nothing of a batch that fails as a whole
                if tried == 0 or "fits failed" not in str(error):
                    raise
                warnings.warn(f"no fit of batch {number} succeeded; cv_results_ has none of it.", FitFailedWarning, 2)
                scores = np.full(len(settings), float(self.error_score))
            scores[np.abs(scores) < 1.0 / LARGEST_REWARD] = 0.0  # a table of such alone is refused
            search.tell(batch.assign(reward=[float(s) if abs(s) <= LARGEST_REWARD else "failed" for s in scores]))
            tried += len(settings)

    def _metric(self, results: dict[str, Any]) -> str:
        """Return the column of the score that is maximised."""
        there = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
        wanted = [self.refit, "score"] if isinstance(self.refit, str) else ["score"]  # of one metric, however named
        wanted += there[:1] if callable(self.refit) or self.refit is False else []
        if not (found := [name for name in wanted if name in there]):
            got = f"got {self.refit!r}"
            raise ValueError(f"refit must name the metric that is maximised, one of {', '.join(there)}; {got}.")
        return f"mean_test_{found[0]}"


def drawn(distributions: Any, n: int, random: Any) -> list[dict[str, Any]]:
    """Return different settings, at most n: of lists alone without replacement, otherwise those that differ of n."""
    parts: Sequence[Any] = [distributions] if isinstance(distributions, dict) else distributions
    sampler = ParameterSampler(distributions, n, random_state=random)  # refuses what is neither list nor distribution
    if not any(hasattr(values, "rvs") for part in parts for values in part.values()):
        sampler.n_iter = min(n, len(ParameterGrid(distributions)))
    found = {tuple((name, _text(settings[name])) for name in sorted(settings)): settings for settings in sampler}
    return list(found.values())


def _text(value: Any) -> str:
    """Return a text that differs for values that differ; that of an array or an estimator may be shortened."""
    text = f"{type(value).__name__} {value!r}"
    if isinstance(value, str | int | float | None):
        return text
    try:
        return f"{text} {joblib.hash(value)}"
    except (PicklingError, AttributeError, TypeError):  # a function without a name, whose text is its place
        return text


def as_table(settings: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return settings as candidates: numbers, wide ones by their logarithm, and a column of 0 and 1 for each word.

    A word among numbers, such as None, is a gap there and has a column of its own.
    """
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for each in settings for name in each):
        there = [each.get(name, _ABSENT) for each in settings]
        texts = ["(missing)" if value is _ABSENT else _text(value) for value in there]
        known = [value for value in there if _is_number(value)]
        given = [(value, text) for value, text in zip(there, texts, strict=True) if value is not _ABSENT]
        odd = {text for value, text in given if not _is_number(value)}
        if len(known) > len(given) - len(known):
            seen = math.log10 if (min(known) > 0 and max(known) / min(known) >= _WIDE) else float
            columns[f"param_{name}"] = [seen(v) if _is_number(v) else None for v in there]
        else:
            odd = {text for _, text in given}
        levels = odd | ({"(missing)"} & set(texts) if odd else set())
        for level in sorted(levels):  # as a category, of however many words
            columns[f"param_{name}={level}"] = [float(text == level) for text in texts]
    return pd.DataFrame(columns, index=[str(i) for i in range(len(settings))])


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return is_real and bool(np.abs(value) <= LARGEST_FEATURE)


_ABSENT = object()  # of a setting that one of several dictionaries has and another has not
