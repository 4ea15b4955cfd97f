"""The problems are sound: what was taken out is right, what is left is not, and a broken file is named."""

import sys
from pathlib import Path
from typing import get_args

import pytest

from infill_engine.diagnostics.benchmark.problems.execution import passes
from infill_engine.diagnostics.benchmark.problems.judging import REACHED_THE_END, Judge, is_right, program_of
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem, ProblemKind, load_problems
from infill_engine.errors import InputError

PROBLEMS = load_problems()
ENTRY = '[[problem]]\nid = "a"\nkind = "line"\ntext = "x = ⟦1⟧"\n'


def test_every_kind_has_problems() -> None:
    assert {problem.kind for problem in PROBLEMS} == set(get_args(ProblemKind))


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX limits")
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.id)
def test_the_tests_accept_the_original_and_refuse_nothing(problem: Problem) -> None:
    program = program_of(problem, problem.truth)
    assert program is None or passes(program, status=REACHED_THE_END, wall_seconds=60)
    nothing = program_of(problem, "")
    assert nothing is None or not passes(nothing, status=REACHED_THE_END, wall_seconds=60)
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
        (f"{ENTRY}{ENTRY}", r"problem\[1\]: the id 'a' is used twice"),
        (f"{ENTRY}what is this", "not a file of problems: .*line 5"),
        (ENTRY.replace("⟦1⟧", "1"), r"problem\[0\]: mark exactly one hole"),
        (ENTRY.replace('"line"', '"poem"'), r"'poem'.*problem\[0\].kind"),
        (ENTRY.replace('id = "a"\n', ""), r"missing required field `id`.*problem\[0\]"),
        (ENTRY + "answer = 42\n", r"unknown field `answer`.*problem\[0\]"),
        (ENTRY + "tests = 3\n", r"Expected `str`, got `int`.*problem\[0\].tests"),
        ("", "no problems"),
        ("problem = 3", "Expected `array`"),
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
