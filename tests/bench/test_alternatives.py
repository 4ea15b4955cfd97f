"""The bench of alternatives: its cases, and what it counts."""

import random

from bench.alternatives.__main__ import summarise
from bench.alternatives.faults import faults_in
from bench.edits.case import Module
from bench.sources import SourceFile

TEXT = """def area(width, height, margin):
    if width == height:
        print(width)
    border = width + margin
    return (width + margin) * (height + margin)
"""


def test_each_fault_differs_from_the_original_by_what_its_kind_says():
    module = Module.of(SourceFile("p", "a.py", TEXT))
    found = {fault.kind: fault for fault in faults_in(module, random.Random(1))}
    assert found.keys() == {
        "colon missing",
        "bracket missing",
        "= for ==",
        "operand missing",
        "name misspelled",
        "name misspelled twice",
        "condition, intact",
    }
    assert "    if width = height:\n" in found["= for =="].text
    for kind, fault in found.items():
        assert (fault.text == TEXT) is (kind == "condition, intact")
    twice = found["name misspelled twice"]
    (first, second) = (twice.text[start:end] for start, end in twice.spans)
    assert first == second
    assert first not in TEXT


def test_shares():
    row = {"kind": "a", "offered": 2, "rank": 1, "intact": 1, "ms": 10.0}
    found = summarise([row, {**row, "rank": 0, "offered": 0, "intact": 0}])["kinds"]["a"]
    assert found == {"n": 2, "right_first": 0.5, "right_of_4": 0.5, "some": 0.5, "intact": 0.5}
