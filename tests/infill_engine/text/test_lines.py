"""Lines end at LF, CRLF and CR, and at nothing else."""

import pytest

from infill_engine.text import lines


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a\n", ["a", ""]),
        ("a\r\nb\rc\n\rd", ["a", "b", "c", "", "d"]),
        ("a\x0cb\x0bc\u2028d\x85e\x1cf", ["a\x0cb\x0bc\u2028d\x85e\x1cf"]),
    ],
)
def test_split(text: str, split: list[str]) -> None:
    assert lines.split(text) == split
    assert lines.first_line(text) == split[0]
    assert lines.last_line(text) == split[-1]


@pytest.mark.parametrize(
    ("line", "indent"), [("  a", "  "), ("\t a b", "\t "), ("a", ""), ("  ", "  "), ("  \n a", "  ")]
)
def test_indent_of(line: str, indent: str) -> None:
    assert lines.indent_of(line) == indent


def test_with_plain_ends() -> None:
    assert lines.with_plain_ends("a\r\nb\rc\n\r\u2028\x0cd") == "a\nb\nc\n\n\u2028\x0cd"


def test_line_breaks_stay_with_the_line_behind_them() -> None:
    assert lines.with_breaks_first("a\n\n  b\nc\n") == ["a", "\n\n  b", "\nc", "\n"]
