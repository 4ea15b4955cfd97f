"""The problems are sound: what was taken out is right, what is left is not, and a broken file is named."""

import sys
from pathlib import Path

import pytest

from infill_engine.diagnostics.benchmark.problems.execution import passes
from infill_engine.diagnostics.benchmark.problems.judging import REACHED_THE_END, Judge, is_right, program_of
from infill_engine.diagnostics.benchmark.problems.loading import KINDS, Problem, load_problems
from infill_engine.errors import InputError

PROBLEMS = load_problems()
ENTRY = '[[problem]]\nid = "a"\nkind = "line"\ntext = "x = ⟦1⟧"\n'


def test_every_kind_has_problems() -> None:
    assert {problem.kind for problem in PROBLEMS} == set(KINDS)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX limits")
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.id)
def test_the_tests_accept_the_original_and_refuse_nothing(problem: Problem) -> None:
    program = program_of(problem, problem.truth)
    assert program is None or passes(program, status=REACHED_THE_END)
    nothing = program_of(problem, "")
    assert nothing is None or not passes(nothing, status=REACHED_THE_END)
    assert not is_right(problem, "")


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.id)
def test_the_document_fits_the_windows(problem: Problem) -> None:
    assert len(problem.prefix) <= 1600
    assert len(problem.suffix) <= 450
    assert problem.truth.strip()


def test_other_right_texts() -> None:
    problem = Problem("a", "line", "python", "def f(x):\n    return ", "\n", "x + 1", ("1 + x",), "assert f(1) == 2")
    texts = ("x + 1", "1 + x", "x - -1", "x", "x", "exit()")
    judge, expected = Judge(), [True, True, True, False, False, False]
    assert judge.which_are_right(problem, texts) == expected
    assert judge.which_are_right(problem, texts) == expected  # from what it remembers


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{ENTRY}{ENTRY}", "problem 2: the id 'a' is used twice"),
        (f"{ENTRY}what is this", "not TOML: .*line 5"),
        (ENTRY.replace("⟦1⟧", "1"), "problem 1: mark exactly one hole"),
        (ENTRY.replace('"line"', '"poem"'), "problem 1 has the kind 'poem'"),
        (ENTRY.replace('id = "a"\n', ""), "problem 1 has no id"),
        (ENTRY + "answer = 42\n", "problem 1: answer is not known"),
        (ENTRY + "tests = 3\n", "problem 1: tests is not known or not of the right type"),
        ("", "no problems"),
        ("problem = 3", "is not a table"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said) as told:
        load_problems([path])
    assert "own.toml" in str(told.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml cannot be read"):
        load_problems([tmp_path / "none.toml"])
