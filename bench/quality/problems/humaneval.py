"""Reads problems in the format of HumanEval-Infilling: one JSON object per line, plain or gzipped.

    {"task_id", "prompt", "suffix", "canonical_solution", "test", "entry_point"}

The prompt of a missing line ends with a line break, and its suffix begins with the next line. In an editor the cursor
would be on a line of its own between them, indented like the last non-blank line, or one level deeper after a colon.
This module inserts that line; its indentation and line break belong to the completion.
"""

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path

from bench.quality.problems.holes import Task
from infill_engine.errors import InputError

FIELDS = ("task_id", "prompt", "suffix", "canonical_solution", "test", "entry_point")
_PROBLEM = re.compile(r"HumanEval/\d+")
_LEVEL = "    "


@dataclass(frozen=True, slots=True)
class Problem:
    """One line of the file, and its task. `lead` and `trail` turn a candidate into the completion."""

    prompt: str
    suffix: str
    test: str
    entry_point: str
    lead: str
    trail: str
    task: Task

    def completion(self, text: str) -> str:
        """Return the text between prompt and suffix after `text` is inserted at the cursor."""
        return (self.lead + text if text else "") + self.trail

    def program(self, text: str) -> str:
        """Return the whole program with its tests."""
        return f"{self.prompt}{self.completion(text)}{self.suffix}\n\n{self.test}\n\ncheck({self.entry_point})\n"


def read_problems(path: Path) -> list[Problem]:
    """Return the problems of a file. Raises InputError if it is missing or has other fields."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
        rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        return [_problem(row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise InputError(f"{path} is not a file of infilling problems ({fault!r}); each line needs {FIELDS}") from fault


def _problem(row: dict[str, str]) -> Problem:
    task_id, prompt, suffix, gold, test, entry_point = (row[name] for name in FIELDS)
    own_line = prompt.endswith("\n") or not prompt
    lead = _editor_indent(prompt) if own_line else ""
    trail = "\n" if own_line else ""
    before = prompt + lead
    lines = before.split("\n")
    found = _PROBLEM.search(task_id)
    wanted = gold.removesuffix("\n") if own_line else gold
    task = Task(
        id=task_id,
        cluster=found.group() if found else task_id,
        kind=task_id.partition("/")[0] if "/" in task_id else "problem",
        text=before + trail + suffix,
        row=len(lines) - 1,
        column=len(lines[-1]),
        # If the gold text is indented differently than the editor would, no candidate can match it.
        gold=wanted.removeprefix(lead),
    )
    return Problem(prompt, suffix, test, entry_point, lead, trail, task)


def _editor_indent(prompt: str) -> str:
    line = next((line for line in reversed(prompt.split("\n")) if line.strip()), "")
    indent = line[: len(line) - len(line.lstrip())]
    return indent + _LEVEL if line.rstrip().endswith(":") else indent
