"""Rules of style that a formatter does not know: arguments, comments in kernels, first lines, one meaning of a word."""

import ast
import re
from pathlib import Path

import pytest
from test_imports import parsed

import bestarm

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "src").rglob("*.py"))
MOST_ARGUMENTS = 10
EXCEPTIONS = {
    "tuning.py: __init__": "scikit-learn reads the settings of an estimator from its signature",
    # compiled; a row's key holds the definitions behind it, so another signature asks for the rows anew
    "finite_gp.py: _condition_all": "the Gaussian process of every row of DPP-BBO: an hour",
    "finite_gp.py: _learn_all": "the same rows, and the state of searches that users have saved",
    "finite_gp.py: rebuild": "the same rows",
    "gp_hyper.py: slice_sweeps": "the searches of DPP-BBO with fitted kernels",
    "gp_hyper.py: refit": "the same rows",
    "dropout_network.py: _fit_one": "the rows of GeneDisco: hours of networks",
    "minibatches.py: draw_minibatches": "every network of OAE: thirteen hours at the paper's scale",
    "fused_draws.py: draw_in_lanes": "takes the arguments of draw_minibatches, its judge",
    "fused_lanes.py: _take_steps": "the networks of OAE; arrays of its own keep the loop over lanes vectorised",
    "fused_units.py: _take_steps": "the same networks",
}
MOST_UNFORMATTED = 40
SHORT, PLAIN = 15, 25  # lines up to which a compiled function needs no docstring, and no comment
QUESTION = r"(What|How|Whether|Where|Which|Why|When|Who|From|Everything|In how many|Today's)\b"
IMPERATIVE = r"(Check|Compare|Compute|Draw|Execute|Find|Fit|Make|Match|Read|Rebuild|Return|Run|Save|Watch|Write)\b"


def functions(path):
    """Yield each function of a module, and whether it is compiled."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef):
            yield node, any("njit" in ast.unparse(decorator) for decorator in node.decorator_list)


def n_arguments(node):
    """Count the arguments of a function; those gathered by a star count as one, and ``self`` does not count."""
    every = [*node.args.posonlyargs, *node.args.args]
    bound = bool(every) and every[0].arg in ("self", "cls")
    return len(every) - bound + len(node.args.kwonlyargs) + bool(node.args.vararg) + bool(node.args.kwarg)


def presets():
    """Return the public functions, whose arguments are the settings of an algorithm, each with a meaning of its own."""
    return set(dir(bestarm))


def test_functions_take_at_most_ten_arguments():
    """What belongs together is a record, in compiled functions a `NamedTuple`; presets and pages show all settings."""
    found = {
        f"{path.name}: {node.name}"
        for path in FILES
        if path.parent.name != "bestarm_plain"
        for node, _ in functions(path)
        if n_arguments(node) > MOST_ARGUMENTS and node.name not in presets()
    }
    assert found == set(EXCEPTIONS)
    assert len(EXCEPTIONS) <= 15


def test_compiled_functions_say_what_they_do():
    """A docstring above 15 lines, and above 25 at least one comment on the equation or step that stands there."""
    silent = []
    for path in FILES:
        lines = path.read_text(encoding="utf-8").splitlines()
        for node, compiled in functions(path):
            length = node.end_lineno - node.lineno + 1
            body = lines[node.body[0].lineno - 1 : node.end_lineno]
            if compiled and length > SHORT and not ast.get_docstring(node):
                silent.append(f"{path.name}: {node.name} has no docstring")
            if compiled and len(body) > PLAIN and not any(re.search(r"# (?!fmt|noqa|type)", line) for line in body):
                silent.append(f"{path.name}: {node.name} has no comment")
    assert not silent


def test_the_formatter_is_hardly_ever_switched_off():
    mark = "# fmt: " + "skip"
    places = [path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    counts = {path: path.read_text(encoding="utf-8").count(mark) for path in places}
    assert sum(counts.values()) < MOST_UNFORMATTED, {path.name: n for path, n in counts.items() if n}


def test_first_lines_of_modules_are_noun_phrases():
    firsts = {path: (ast.get_docstring(parsed(path)) or "").partition("\n")[0] for path in FILES}
    wrong = [f"{path.name}: {line}" for path, line in firsts.items() if re.match(f"{QUESTION}|{IMPERATIVE}", line)]
    wrong += [f"{path.name} has no docstring" for path, line in firsts.items() if not line]
    assert not wrong


def test_published_is_no_word_for_the_code_of_authors():
    """What is published are committed figures and rows; the code behind a paper is its authors'."""
    pattern = re.compile(r"published code|code published|published (slip|projection|loss|line search of)")
    assert not [path.name for path in FILES for _ in pattern.findall(path.read_text(encoding="utf-8"))]


PROSE = [  # what people read; notebooks and texts of studies have tests of their own
    *(p for p in FILES if "bestarm_studies" not in p.parts),
    *(p for p in (ROOT / "docs").rglob("*.md") if p.name != "style.md"),  # which quotes what it advises against
    *(ROOT / "site").rglob("*.py"),
    *(ROOT / "site").rglob("*.md"),
    *(ROOT / "site").glob("*.yaml"),
    *(ROOT / name for name in ("README.md", "docs/CHANGELOG.md", "docs/CONTRIBUTING.md")),
]
WHO = (
    r"(search|searches|policy|policies|algorithm|algorithms|network|networks|tree|trees|sampler|optimism|GSE|GPOO|OAE)"
)
IDIOMS = {
    "*except*, not *but for*": r"\bbut for\b(?! the (present|moment))",
    "*in place of* or *instead of*": r"\bin the place of\b",
    "*cannot be found*, *is not public*": r"\bfound nowhere\b|\bpassed on by (nobody|anybody)\b",
    "no *12 batches for 8.9*": r"\b\d[\d.,]*%?( [a-z]+)? for \d[\d.,]*%?(?=[\s;,.)]*(?:[;,.)]|$))",
    "*being measured*, *costly*, *without a result*, *wall-clock*": r"\b(at the bench|dear(er|est)?|in vain)\b"
    r"|\bseconds of the wall\b|\bhas another word\b|\bhave another word\b",
    "no personified algorithms": rf"\b{WHO} (that )?(never |only |still )?"
    r"(hopes?|knows?|forgets?|wants?|believes?|thinks?|likes|cares|remembers?|guesses)\b",
}


@pytest.mark.parametrize("rule", IDIOMS)
def test_prose_keeps_the_rules_of_english(rule):
    wrong = []
    for path in PROSE:
        text = " ".join(path.read_text(encoding="utf-8").split())
        wrong += [f"{path.name}: {text[m.start() - 30 : m.end() + 20]}" for m in re.finditer(IDIOMS[rule], text)]
    assert not wrong


def test_the_rules_of_english_find_what_they_are_for():
    bad_and_good = [
        ("all rows but for two", "all rows except two"),
        ("in the place of 9", "in place of 9"),
        ("a file found nowhere", "the data are not public"),
        ("12.2 batches for 8.9.", "12.2 batches, 8.9 of chance"),
        ("five candidates at the bench", "five candidates that are being measured"),
        ("a search that knows nothing", "run for 30 minutes"),
    ]
    for (rule, pattern), (wrong, right) in zip(IDIOMS.items(), bad_and_good, strict=True):
        assert re.search(pattern, wrong), rule
        assert not any(re.search(p, right) for p in IDIOMS.values()), right
