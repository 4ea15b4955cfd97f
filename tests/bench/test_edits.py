"""The bench of next edits: its truth about names, its cases, and what it counts."""

import random
import zipfile
from pathlib import Path

import pytest

from bench.edits.__main__ import find_and_replace, make_cases, reverses, run_case, summarise
from bench.edits.calling import signature_changes
from bench.edits.case import Case, Module, Wanted, same_program
from bench.edits.others import fields, literals, mirrored
from bench.edits.renaming import renames
from bench.edits.scoping import variables
from bench.replay.sources import SourceFile
from infill_engine.edits.types import Change, Edit, EditedText, Kind, Proposal, Span

TEXT = """from os import path


class Box:
    def __init__(self, size, colour, weight):
        self.size = size
        self.colour = colour
        self.weight = weight

    def grow(self, by):
        self.size = self.size + by
        return self.shrink(by, path)

    def shrink(self, amount, where):
        if amount:
            self.size = self.size - amount
        else:
            self.colour = self.weight - amount
        return f"{amount} {where.sep}"


def area(width, height):
    result = [width * n for n in height]
    say("square metres")
    return result, say("square metres")


def say(what):
    return area(what, height=1), area("two", 3)
"""


def module(text: str = TEXT) -> Module:
    made = Module.of(SourceFile("package", "a.py", text))
    assert made is not None
    return made


def test_what_names_refer_to() -> None:
    found = {(v.scope, v.name): len(v.starts) for v in variables(module()) if v.kind != "function"}
    assert found["function", "amount"] == 5  # one of them in a formatted string
    assert found["function", "n"] == 2
    assert found["module", "Box"] == 1
    assert found["module", "path"] == 2


def test_names_that_cannot_be_told_are_left_out() -> None:
    made = module("def f(a):\n    return f'a {a} a', [(b := a) for a in a]\n")
    assert {v.name for v in variables(made)} == {"f"}


DOCUMENTED = 'def f(a):\n    """Of a."""\n    return a\n'


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("x = 1  # why\n", "x = 1\n", True),
        ("x=(1)\n", "x = 1\n", True),
        ("x = 2\n", "x = 1\n", False),
        ("x = (\n", "x = 1\n", False),
        (DOCUMENTED, 'def f(a):\n    """Of b."""\n    return a\n', True),
        (DOCUMENTED, "def f(a):\n    # why\n    return a\n", True),
        (DOCUMENTED, 'def f(a):\n    """Of a."""\n    return b\n', False),
        (DOCUMENTED, "def f(a", False),
    ],
)
def test_the_same_program(text: str, other: str, same: bool) -> None:
    assert same_program(text, other) is same


def cases() -> list[Case]:
    made, chance, wanted = module(), random.Random(1), Wanted(frozenset(), most=9)
    vocabulary = ["alpha", "beta", "gamma", "delta", "epsilon"]
    return [
        *renames(made, chance, vocabulary, wanted),
        *signature_changes(made, chance, wanted),
        *fields(made),
        *literals(made, chance, vocabulary),
        *mirrored(made),
    ]


def test_what_cases_a_file_makes_and_that_they_are_solved() -> None:
    kinds = {case.kind for case in cases()}
    assert kinds >= {
        "rename local",
        "rename parameter",
        "rename function",
        "rename import",
        "rename attribute",
        "rename method",
        "parameter removed",
        "parameter moved",
        "field for a parameter",
        "literal used twice",
    }
    rows = [run_case(case) for case in cases()]
    missed = [row["kind"] for row in rows if not row["rank"] and not row["kind"].startswith(("parameter added", "mir"))]
    assert missed == []
    assert not any(row["reversals"] or row["broken"] for row in rows)


def test_find_and_replace_knows_no_scope() -> None:
    by_kind = {case.kind: case for case in cases()}
    function = by_kind["rename function"]
    assert find_and_replace(function) == function.expected
    removed = by_kind["parameter removed"]
    assert find_and_replace(removed) != removed.expected


def test_what_counts_as_a_reversal() -> None:
    edited = EditedText("a b a", "c b a", (Change(0, 1, "c"),), "python")

    def proposal(start: int, old: str, new: str) -> Proposal:
        return Proposal((Edit(Span(start, start + len(old), old), new),), "", 0.5, Kind.RENAME)

    assert reverses(proposal(0, "c", "a"), edited)
    assert reverses(proposal(0, "c b", "x"), edited)
    assert not reverses(proposal(4, "a", "c"), edited)


def test_a_summary_of_a_package(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "package-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("package/a.py", TEXT)
        wheel.writestr("package/words.py", "alpha = better = gamma_rays = 1\n")
    made = make_cases([tmp_path], 2, 1)
    assert made == make_cases([tmp_path], 2, 1)
    summary = summarise([run_case(case) for case in made])
    assert summary["cases"] > 5
    assert summary["harmless"] > 4
    assert summary["families"]["renames"]["found"] == 1.0
    assert summary["reversals"] == summary["broken"] == 0
