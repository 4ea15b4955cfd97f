"""What of a text is left if it ends in a body without anything in it."""

import pytest

from infill_engine.text.bodies import without_empty_body


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("go", "_, x := range xs {\n\t}", "_, x := range xs"),
        ("rust", "let pos {\n    };", "let pos"),
        ("rust", "{\n    }", ""),
        ("javascript", "let i = 0; i < n; i++) {\n  }", "let i = 0; i < n; i++)"),
        ("javascript", "app.get('/', (req, res) => {\n})", ""),  # the call would stay open
        ("java", "} else {\n        }", "} else"),
        ("java", "void f()\n    {\n    }", "void f()"),
        ("lua", "for i = 1, 3 do\nend", "for i = 1, 3"),
        ("ruby", "xs.each do\n  end", "xs.each"),
        ("shellscript", "for f in *.txt; do\ndone", "for f in *.txt;"),
        # Something is in it, or it stands in one line.
        ("go", "if err != nil {\n\t\treturn err\n\t}", "if err != nil {\n\t\treturn err\n\t}"),
        ("javascript", "run(function () {})", "run(function () {})"),
        ("python", "for a in b:", "for a in b:"),
        ("lua", "undo\nend", "undo\nend"),
        ("lua", "function f()\n  end", "function f()\n  end"),
    ],
)
def test_without_empty_body(language: str, text: str, expected: str) -> None:
    assert without_empty_body("", text, language) == expected


@pytest.mark.parametrize(
    ("language", "before", "text", "expected"),
    [
        ("shellscript", "for f in *.c; d", "o\ndone", ""),
        ("shellscript", "for f in *.c; do", "\ndone", ""),
        ("shellscript", "for f in *.c; do\n  ", "done", ""),
        ("lua", "  for i = 1, 3 ", "do\n  end", ""),
        ("ruby", "xs.each do\r\n\r\n  ", "end", ""),
        ("javascript", "app.get('/', () => {\n  ", "});", ""),
        ("go", "\tfor ", "_, x := range xs {\n\t}", "_, x := range xs"),
        ("shellscript", "for f in *.c; do\n  cc $f\n", "done", "done"),
        ("javascript", "run(() => {\n  ", "a();\n});", "a();\n});"),
    ],
)
def test_the_body_may_begin_before_the_text(language: str, before: str, text: str, expected: str) -> None:
    assert without_empty_body(before, text, language) == expected
