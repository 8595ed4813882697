"""A search against a naive model: any order of tell, ask, pending, not done, exclude, restore, add, save and load."""

import copy
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bestarm.search.search import Search

NUMBERS = {0.0: 1, 1.0: 5, -2.5: 1, 7.25: 2, None: 1}  # measurements behind each of the values
VALUES = st.sampled_from([0.0, 1.0, -2.5, 7.25, None])


class Machine(RuleBasedStateMachine):
    """The naive model: lists of values, sets of names, and nothing else."""

    @initialize(policy=st.sampled_from(["random", "linear", "neighbours", "gp"]))
    def begin(self, policy):
        """Twelve candidates, of which some are told about beforehand."""
        self.rng = np.random.default_rng(0)
        self.names = [f"c{i}" for i in range(12)]
        self.search = Search(self.some(self.names), policy, seed=3)
        self.weighs = policy == "gp"  # and is told how many measurements are behind a reward
        self.values: dict[str, list[float]] = {}
        self.waiting: set[str] = set()
        self.undone: set[str] = set()
        self.withdrawn: set[str] = set()
        self.rows = 0
        self.last = None
        self.folder = tempfile.TemporaryDirectory()

    def teardown(self):
        if hasattr(self, "folder"):
            assert self.search.check() == []
            self.folder.cleanup()

    def some(self, names):
        return pd.DataFrame(self.rng.normal(size=(len(names), 2)), index=list(names), columns=["x", "y"])

    def free(self):
        return set(self.names) - set(self.values) - self.waiting - self.withdrawn

    def take(self, batch, size, free):
        names = batch["name"].tolist()
        assert len(set(names)) == len(names) == min(size, len(free))
        assert set(names) <= free
        self.waiting |= set(names)
        self.undone -= set(names)
        self.last = (size, names) if names else None

    def measured(self, name, value):
        self.values.setdefault(name, []).append(value)
        self.rows += 1
        self.waiting.discard(name)
        self.undone.discard(name)
        self.last = None

    @rule(size=st.integers(1, 5))
    def ask(self, size):
        """The same batch while it waits as a whole, otherwise a new one beside all that waits."""
        if self.last and self.last[0] == size:
            assert self.search.ask(size)["name"].tolist() == self.last[1]
            return
        self.take(self.search.ask(size), size, self.free())

    @rule()
    def ask_again(self):
        if self.waiting:
            assert set(self.search.ask()["name"]) == self.waiting

    @rule(size=st.integers(1, 4), data=st.data())
    def ask_beside(self, size, data):
        pending = set(data.draw(st.lists(st.sampled_from(self.names), unique=True, max_size=5)))
        self.undone |= self.waiting - pending
        self.waiting = set(pending)
        self.take(self.search.ask(size, pending=sorted(pending)), size, self.free())

    @rule(data=st.data(), replace=st.booleans())
    def tell(self, data, replace):
        """Some measurements, asked for or not, failures among them; as they are or as corrections."""
        told = data.draw(st.lists(st.tuples(st.sampled_from(self.names), VALUES), min_size=1, max_size=4))
        written = [(name, "failed" if value is None else value) for name, value in told]
        table = pd.DataFrame(written, columns=["name", "reward"])
        if self.weighs:
            table["n"] = [NUMBERS[value] for _, value in told]
        table = table.sample(frac=1.0, random_state=1) if data.draw(st.booleans()) else table
        self.search.tell(table, replace=replace, again=True)
        if replace:
            for name in {name for name, _ in told}:
                self.rows -= len(self.values.pop(name, ()))
        for name, value in told:
            self.measured(name, np.nan if value is None else value)

    @precondition(lambda self: self.values)
    @rule(data=st.data())
    def tell_the_list(self, data):
        """Everything told so far once more, as a list that grows does, with one row added and one to come."""
        known = [(name, value) for name, values in self.values.items() for value in values if name not in self.waiting]
        if not known:
            return
        new = data.draw(st.sampled_from(self.names))
        rows = [*known, (new, 12345.0)]
        if new in self.waiting:
            rows += [(new, value) for value in self.values.get(new, [])]
        rows = [(name, "failed" if np.isnan(value) else value) for name, value in rows]
        to_come = [(name, "") for name in sorted(self.waiting - {new})]
        table = pd.DataFrame([*rows, *to_come], columns=["name", "reward"])
        if self.weighs:
            table["n"] = [NUMBERS.get(value, 1) for value in table["reward"]]
        self.search.tell(table)
        self.measured(new, 12345.0)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def give_up(self, data):
        """Something that waits is not done, by a call or by a table."""
        name = data.draw(st.sampled_from(sorted(self.waiting)))
        if data.draw(st.booleans()):
            self.search.not_done([name])
        else:
            self.search.tell(pd.DataFrame({"name": [name], "reward": ["not done"]}), again=True)
        self.waiting.discard(name)
        self.undone.add(name)
        self.last = None

    @rule(data=st.data())
    def exclude(self, data):
        name = data.draw(st.sampled_from(self.names))
        self.search.exclude([name])
        self.withdrawn.add(name)
        self.waiting.discard(name)
        self.last = None

    @precondition(lambda self: self.withdrawn)
    @rule(data=st.data())
    def restore(self, data):
        name = data.draw(st.sampled_from(sorted(self.withdrawn)))
        self.search.restore([name])
        self.withdrawn.discard(name)
        self.last = None

    @precondition(lambda self: len(self.names) < 20)
    @rule(n=st.integers(1, 3))
    def add(self, n):
        new = [f"c{len(self.names) + i}" for i in range(n)]
        self.search.add_candidates(self.some(new))
        self.names += new
        self.last = None

    @rule(how=st.sampled_from(["file", "pickle", "deepcopy"]))
    def copy(self, how):
        if how == "file":
            path = Path(self.folder.name, "s.zip")
            self.search.save(path)
            self.search = Search.load(path)
        else:
            self.search = pickle.loads(pickle.dumps(self.search)) if how == "pickle" else copy.deepcopy(self.search)

    @invariant()
    def same_states(self):
        """States, measurements and what is pending are those of the model."""
        if not hasattr(self, "search"):
            return
        history = self.search.history
        assert len(history) == self.rows
        if "n" in history:
            good = history.dropna(subset="reward")
            assert good["n"].tolist() == [NUMBERS.get(value, 1) for value in good["reward"]]
        assert set(self.search.pending) == self.waiting
        states = self.search.states
        for name in self.names:
            wanted = "not done" if name in self.undone else "unmeasured"
            if name in self.values:
                wanted = "failed" if np.isnan(self.values[name]).all() else "measured"
            wanted = "asked" if name in self.waiting else wanted
            assert states[name] == ("withdrawn" if name in self.withdrawn else wanted), name


Machine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, derandomize=True, suppress_health_check=list(HealthCheck)
)
TestSearchMachine = Machine.TestCase
