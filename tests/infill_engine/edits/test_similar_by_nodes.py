"""Places that are changed as the last edit was: which there are, what becomes of them, and when there are none."""

from dataclasses import replace

import pytest

from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.similar.by_nodes import SimilarPlace, places
from infill_engine.edits.types import applied
from tests.infill_engine.edits.marked_edits import edited

WRAPPED = ("go", "func f() {\n\t[[ -> must(]]w.Write(1)[[ -> )]]\n\tw.Write(two(2), 3)\n}\n")
ARGUMENT = ("python", "a = read(x, y[[ -> , strict=True]])\nb = read(left(z), 1)\nread(c)\n")
OPTIONAL = ("typescript", "interface A {\n  width[[ -> ?]]: number;\n  height: number;\n}\n")
ASSERTED = ("java", "class T { void a() {\n  [[same(1, size(list)) -> that(size(list)).is(1)]];\n  same(2, n);\n} }\n")
NAMED = ("python", "self.width = [[ -> max(0, ]]int(width)[[ -> )]]\nself.height = int(height)\n")
FIELD = ("go", 'var a = T{\n\tName: "a",\n[[ -> \tSize: 1,\n]]}\n\nfunc f() {\n\tuse(T{\n\t\tName: "b",\n\t})\n}\n')
MARKED = ("python", "@slow\n[[ -> @net\n]]def f(): pass\n\nclass T:\n    @slow\n    def g(self): pass\n")
DROPPED = ("python", "[[@old\n -> ]]def f(): pass\n\nclass T:\n    @old\n    def g(self): pass\n")


@pytest.mark.parametrize(
    ("example", "result"),
    [
        (WRAPPED, "\tmust(w.Write(two(2), 3))\n"),
        (ARGUMENT, "b = read(left(z), 1, strict=True)\n"),
        (ARGUMENT, "read(c, strict=True)\n"),
        (OPTIONAL, "  height?: number;\n"),
        (ASSERTED, "  that(n).is(2);\n"),
        (NAMED, "self.height = max(0, int(height))\n"),
        (FIELD, '\t\tName: "b",\n\t\tSize: 1,\n'),
        (MARKED, "    @slow\n    @net\n"),
    ],
)
def test_another_place_is_changed_alike_with_its_own_names(example: tuple[str, str], result: str) -> None:
    assert any(result in text for text in found(*example))


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("python", "a = read(x[[ -> , strict=True]])\nread(y, strict=True)\n"),  # has it already
        ("python", "first = resize(a, [[3 -> 4]])\nsecond = resize(b, 3)\n"),  # another number
        ("python", "def f(a[[ -> , b]]): pass\ndef g(a): pass\n"),  # another function
        ("python", "import [[json -> yaml]]\n\ndef f(json): pass\n"),
        ("python", "x = 1  # the [[file -> folder]]\ny = 1  # the file\n"),
        ("python", "if [[a -> b]]:\n    pass\n"),
    ],
)
def test_nothing_else_is_changed(language: str, marked: str) -> None:
    assert found(language, marked) == []


def test_lines_are_removed_again_after_two_removals() -> None:
    gone = ("@old\n", "")
    assert not found(*DROPPED, gone)
    assert any("class T:\n    def g" in str(text) for text in found(*DROPPED, gone, gone))


def test_what_was_taken_back_is_no_example() -> None:
    language, marked = WRAPPED
    assert found(language, marked, ("w.Write(1)", "must(w.Write(1))"))
    assert not found(language, marked, ("must(w.Write(1))", "w.Write(1)"))


def test_a_repeated_edit_is_more_likely_to_go_on() -> None:
    pair = ("read(x, y)", "read(x, y, strict=True)")
    assert sure(*ARGUMENT, pair, pair) > sure(*ARGUMENT, pair)


def found(language: str, marked: str, *history: tuple[str, str]) -> list[str | None]:
    edit = edited(marked, language)
    return [applied(edit.after, place.edits) for place in _places(language, marked, history)]


def sure(language: str, marked: str, *history: tuple[str, str]) -> float:
    return max(place.confidence for place in _places(language, marked, history))


def _places(language: str, marked: str, history: tuple[tuple[str, str], ...]) -> list[SimilarPlace]:
    edit = ParsedEdit.of(replace(edited(marked, language), history=history))
    assert edit is not None
    return places(edit)
