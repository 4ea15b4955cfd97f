"""The problem format: where the cursor comes to stand, and what program a candidate makes."""

import gzip
import json
from pathlib import Path

import pytest

from bench.quality.problems.humaneval import Problem, read_problems
from infill_engine.diagnostics.benchmark.problems.execution import passes
from infill_engine.errors import InputError

TEST = "def check(candidate):\n    assert candidate(2, 3) == 5\n"


def problem(prompt: str, gold: str, suffix: str, task_id: str = "SingleLineInfilling/HumanEval/0/L0") -> dict[str, str]:
    return {
        "task_id": task_id,
        "prompt": prompt,
        "suffix": suffix,
        "canonical_solution": gold,
        "test": TEST,
        "entry_point": "add",
    }


def read(tmp_path: Path, *rows: dict[str, str]) -> list[Problem]:
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_problems(path)


@pytest.mark.parametrize(
    ("prompt", "gold", "suffix", "at_cursor", "inserted"),
    [
        # A line of its own: the editor indents it, the completion holds indentation and line break.
        ("def add(a, b):\n", "    c = a + b\n", "    return c\n", "    │\n    return c\n", "c = a + b"),
        ("def add(a, b):\n    c = a + b\n", "    return c\n", "", "    │\n", "return c"),
        # Inside a line nothing is added.
        ("def add(a, b):\n    return a ", "+ b", "\n", "    return a │\n", "+ b"),
    ],
)
def test_the_cursor_stands_where_an_editor_would_have_it(
    tmp_path: Path, prompt: str, gold: str, suffix: str, at_cursor: str, inserted: str
) -> None:
    (made,) = read(tmp_path, problem(prompt, gold, suffix))
    task = made.task
    lines = task.text.split("\n")
    marked = "\n".join([lines[task.row][: task.column] + "│" + lines[task.row][task.column :], *lines[task.row + 1 :]])
    assert marked == at_cursor
    assert task.gold == inserted
    assert prompt + made.completion(inserted) + suffix == prompt + gold + suffix
    assert passes(made.program(inserted))
    assert not passes(made.program("pass"))


def test_lines_of_one_problem_are_one_cluster(tmp_path: Path) -> None:
    ids = ("SingleLineInfilling/HumanEval/7/L0", "SingleLineInfilling/HumanEval/7/L1")
    rows = [problem("def add(a, b):\n", "    return a + b\n", "", task_id) for task_id in ids]
    assert [made.task.cluster for made in read(tmp_path, *rows)] == ["HumanEval/7", "HumanEval/7"]


def test_gzipped_problems_are_read(tmp_path: Path) -> None:
    path = tmp_path / "problems.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(problem("x = ", "1", "\n")).encode()))
    assert [made.task.gold for made in read_problems(path)] == ["1"]


@pytest.mark.parametrize("content", ["{}", "[]", "no JSON", '{"task_id": 1}'])
def test_another_file_is_refused_in_words(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match="each line needs"):
        read_problems(path)
