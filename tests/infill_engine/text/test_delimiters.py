"""Brackets, quotes and comments read from text alone."""

import pytest

from infill_engine.text.delimiters import Scan, scan, string_end, unclosed


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("foo(bar(a, 'x)'", "python", Scan("((")),
        ("foo(a # (\n, [", "python", Scan("([")),
        ("x = 'abc", "python", Scan(inside="'")),
        ("x = 'it\\'s (", "python", Scan(inside="'")),
        ("x = 'abc\ny = (", "python", Scan("(")),
        ('x = """abc\n (', "python", Scan(inside='"""')),
        ('x = """a"b\n"""(', "python", Scan("(")),
        ("# it's (", "python", Scan(inside="#")),
        ("a)]}(", "python", Scan("(", ")]}")),
        ("[(])", "python", Scan("", ")")),
        ("foo(\ndef g():\n  x[", "python", Scan("[")),
        (")\n    return x)", "python", Scan("", ")")),
        ("foo(\nif", "python", Scan("(")),
        ("fn f<'a>(x: '(' {", "rust", Scan("({")),
        ("/* (", "c", Scan(inside="/*")),
        ("/* ( */ (", "c", Scan("(")),
        ("f(`a\n(`, {", "typescript", Scan("({")),
        ("a // (\r\n(", "go", Scan("(")),
        ('{"a": ["//", ', "json", Scan("{[")),
        ("it's (", "markdown", Scan("(")),
    ],
)
def test_scan(text: str, language: str, expected: Scan) -> None:
    assert scan(text, language) == expected


@pytest.mark.parametrize(
    ("opened", "closed", "expected"),
    [
        ("(", ")", ""),
        ("((", ")", "("),
        ("[(", "])", "("),
        ("{(", ")", ""),  # the brace is closed beyond the window
        ("{{(", "}", "({"),
        ("{{", "}", "{"),
        ("{{", "}}", ""),
        ("(", "))", ""),  # the window began inside brackets
        ("(", "", "("),
        ("", ")", ""),
    ],
)
def test_unclosed(opened: str, closed: str, expected: str) -> None:
    assert unclosed(opened, closed) == expected


@pytest.mark.parametrize(
    ("text", "quote", "expected"), [("ab' c", "'", 3), ("a\\'b", "'", -1), ("ab", '"', -1), ('a"b"""', '"""', 6)]
)
def test_string_end(text: str, quote: str, expected: int) -> None:
    assert string_end(text, quote) == expected
