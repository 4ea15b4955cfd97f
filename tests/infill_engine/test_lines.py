"""Lines end at LF, CRLF and CR, and at nothing else."""

import pytest

from infill_engine import lines


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


@pytest.mark.parametrize(
    ("texts", "end"), [(("",), "\n"), (("a\r\nb\n",), "\r\n"), (("a", "b\rc"), "\r"), (("a\nb", "c\r\n"), "\n")]
)
def test_line_end_of(texts: tuple[str, ...], end: str) -> None:
    assert lines.line_end_of(*texts) == end
