"""``make mutants`` finds its modules and tests, and its report says what is missing."""

import ast
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator

from tooling.mutants.operators import OPERATORS
from tooling.mutants.report import Equivalent, Report, read_equivalents
from tooling.mutants.running import INVALID, KILLED, SURVIVED, TIMEOUT, first_failed
from tooling.mutants.selection import Mutant

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tooling" / "mutants"
MODULES = tomllib.loads((FOLDER / "mutants.toml").read_text())["modules"]
EQUIVALENTS = read_equivalents(FOLDER / "equivalent.toml")
MODULE = "models/deliveries/claim.py"


@pytest.mark.parametrize("module", MODULES)
def test_the_modules_and_their_tests_exist(module: str) -> None:
    paths = [module, *(test.partition("::")[0] for test in MODULES[module])]
    assert [path for path in paths if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("entry", EQUIVALENTS, ids=lambda entry: f"{entry.module} {entry.was}")
def test_an_equivalent_mutant_is_of_a_line_that_exists(entry: Equivalent) -> None:
    assert entry.module in MODULES
    assert entry.was in " ".join(_text_of(entry.module, entry.function).split())
    assert entry.reason


def _text_of(module: str, function: str) -> str:
    """The text of a function or class, or of the whole module if ``function`` is empty."""
    text = (ROOT / module).read_text()
    if not function:
        return text
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds))
    texts = (ast.get_source_segment(text, node) for node in found if node.name == function)
    return "\n".join(filter(None, texts))


@pytest.mark.parametrize(
    ("operator", "example"),
    [(operator, example) for operator in OPERATORS.values() for example in operator.examples()],
)
def test_the_operators_do_what_their_examples_say(
    operator: type[Operator], example: Example
) -> None:
    made = mutate_code(example.pre_mutation_code, operator(), example.occurrence)
    assert made == example.post_mutation_code


def test_the_test_that_killed_is_found_behind_lines_of_a_log() -> None:
    log = "ERROR    tasks.claim_pause:claim_pause.py:45 deliveries wait\n"
    red = "FAILED tests/test_a.py::test_b[c d] - assert 1 == 2\n"
    assert first_failed(log + red) == "tests/test_a.py::test_b[c d]"
    assert first_failed(f"{log}1 passed\n") is None


def _mutant(was: str) -> Mutant:
    return Mutant(MODULE, "claim", "AddNot", was, f"not {was}")


def _problems(outcomes: dict[str, str], *equivalent: str, least: float = 50) -> list[str]:
    found = {_mutant(was): [outcome] for was, outcome in outcomes.items()}
    known = [Equivalent(MODULE, "claim", "AddNot", was, "why") for was in equivalent]
    return list(Report([MODULE], found, known).problems(least))


def test_enough_killed_mutants_are_no_problem() -> None:
    outcomes = {"a": KILLED, "b": TIMEOUT, "c": SURVIVED, "d": SURVIVED, "e": INVALID}
    assert _problems(outcomes) == []
    assert _problems(outcomes, "c", least=66) == []


def test_too_many_survivors_and_no_mutants_are_problems() -> None:
    assert "33.3 %" in _problems({"a": KILLED, "b": SURVIVED, "c": SURVIVED})[0]
    assert "no mutants" in _problems({})[0]
    assert "0.0 %" in _problems({"a": INVALID})[0]


def test_an_entry_that_matches_no_mutant_is_a_problem() -> None:
    assert "'gone'" in _problems({"a": KILLED}, "gone")[0]


def test_a_killed_mutant_is_not_equivalent() -> None:
    report = Report(
        [MODULE], {_mutant("a"): [KILLED]}, [Equivalent(MODULE, "claim", "AddNot", "a", "")]
    )
    assert len(list(report.notes())) == 1
    assert (report.rows[0].counts, report.rows[0].equivalent) == (Counter({KILLED: 1}), 0)
