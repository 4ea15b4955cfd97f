"""What can be rewritten around a selection. Texts mark the selection with ‹ and ›, or a cursor with │."""

import pytest

from infill_engine.text import syntax
from infill_engine.text.rewritable import faulty_spans, is_broken, parts_around, prose_around


def read(marked: str, language: str):
    marked = marked.replace("│", "‹›")
    left, rest = marked.split("‹")
    selected, right = rest.split("›")
    text = left + selected + right
    start = len(left.encode())
    return text, syntax.parse(text, language), start, start + len(selected.encode())


def texts(text: str, parts) -> list[tuple[str, str]]:
    lines = text.encode().split(b"\n")

    def offset(point):
        return sum(len(line) + 1 for line in lines[: point[0]]) + point[1]

    return [(part.label, text.encode()[offset(part.start) : offset(part.end)].decode()) for part in parts]


@pytest.mark.parametrize(
    ("language", "marked", "expected"),
    [
        (
            "python",
            "if size │>= limit:\n    pass\n",
            [("condition", "size >= limit"), ("statement", "if size >= limit:\n    pass")],
        ),
        (
            "python",
            "x = f(│a, b)\n",
            [("name", "a"), ("arguments", "(a, b)"), ("expression", "f(a, b)"), ("statement", "x = f(a, b)")],
        ),
        (
            "python",
            "def f(a):\n    ‹return a›\n",
            [("statement", "return a"), ("function body", "return a"), ("statement", "def f(a):\n    return a")],
        ),
        ("python", "é = '😀'; x = │b\n", [("name", "b"), ("statement", "x = b")]),
        (
            "typescript",
            "function f(a) { if (│a) { return 1; } }\n",
            [
                ("condition", "a"),
                ("statement", "if (a) { return 1; }"),
                ("function body", "{ if (a) { return 1; } }"),
                ("statement", "function f(a) { if (a) { return 1; } }"),
            ],
        ),
        ("json", '{"a": [│1, 2]}\n', [("value", "1"), ("value", "[1, 2]"), ("entry", '"a": [1, 2]')]),
        ("toml", "a = │1\n", [("value", "1"), ("entry", "a = 1")]),
        ("yaml", "a:\n  b: │1\n", [("value", "1"), ("entry", "b: 1"), ("block", "b: 1\n"), ("entry", "a:\n  b: 1\n")]),
        ("python", "\n│\n", []),
    ],
)
def test_parts_from_the_inside_to_the_outside(language, marked, expected):
    text, tree, start, end = read(marked, language)
    assert texts(text, parts_around(tree, language, start, end)) == expected


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("x = 1  # a ‹comment›\n", "comment"),
        ("x = 'some ‹words›'\n", "string"),
        ("x = ‹'some words'›\n", ""),
        ("x = 'some │words'\n", ""),
        ("x = f'some {‹words›}'\n", ""),
        ("x = ‹y›\n", ""),
    ],
)
def test_prose(marked, expected):
    _, tree, start, end = read(marked, "python")
    assert prose_around(tree, "python", start, end) == expected


def test_faults():
    _, tree, start, end = read("x = 1\ny = (‹\nz› = 2\n", "python")
    assert is_broken(tree, start, end)
    assert faulty_spans(tree, 0, 0) == []
    assert [start for start, _ in faulty_spans(tree, 1, 1)] == [(1, 2)]
    assert faulty_spans(syntax.parse("x = 1\n", "python"), 0, 9) == []
