"""The check that next edits break nothing: what CPython finds wrong with a text, and proposals after random edits."""

import random

import pytest

from bench.edits.breaking import MAKERS, Tried, new_faults, try_edits
from bench.edits.well_formed import python_faults
from bench.replay.sources import SourceFile
from infill_engine.edits.types import Change, Edit, Kind, Proposal, Span
from tests.bench.test_edits import TEXT

FAULTS = {
    "x = (\n": {"syntax": 1},
    "def f():\n\nx = 1\n": {"syntax": 1},
    "from a import b\nb(c, len)\n": {"undefined c": 1},
    "def f():\n    global n\n    n = 1\nprint(n)\n": {},
    "class A:\n    def f(self):\n        self.a = self.b\n        return self.f(self.a)\n": {"unset b": 1},
    "def f(a, *, b=1): pass\nf(1, b=2)\nf(1, 2)\nf(c=1)\n": {"arguments f": 2},
    "class A:\n    def __init__(self, a): pass\nA(1)\nA()\nA(*b)\n": {"arguments A": 1, "undefined b": 1},
}


@pytest.mark.parametrize("text", FAULTS)
def test_what_is_wrong_with_a_text(text: str) -> None:
    assert python_faults(text) == FAULTS[text]


def test_a_proposal_that_leaves_a_name_undefined_breaks_something() -> None:
    before, after, result = "a = 1\nb = a\n", "a = 2\nb = a\n", "c = 2\nb = a\n"
    proposal = Proposal((Edit(Span(0, 1, "a"), "c"),), "", 1.0, Kind.RENAME)
    tried = Tried(SourceFile("p", "a.py", before), "", (Change(4, 5, "2"),), proposal, (before, after, result))
    assert list(new_faults([tried], "python", None)) == [{"undefined a": 1}]


def test_no_proposal_after_a_random_edit_breaks_anything() -> None:
    files = [SourceFile("p", "a.py", TEXT.replace("def say(what):", "def say(what, height=1):"))]
    counts, tried = try_edits(files, "python", random.Random(2), 12)
    assert all(counts[kind]["edits"] == 12 for kind in MAKERS)
    assert len(tried) > 40
    assert [one for one, new in zip(tried, new_faults(tried, "python", None), strict=True) if new] == []
