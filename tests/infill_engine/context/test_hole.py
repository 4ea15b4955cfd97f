"""What is missing at the cursor `|`."""

import pytest

from infill_engine.context.hole import BLOCK_LINES, hole_at
from infill_engine.text import syntax
from infill_engine.types import Hole, HoleKind

LINE, EXPRESSION, STATEMENT, BLOCK = HoleKind.LINE, HoleKind.EXPRESSION, HoleKind.STATEMENT, HoleKind.BLOCK


def check(marked: str, expected: Hole, language: str = "python") -> None:
    prefix, _, suffix = marked.partition("|")
    assert hole_at(prefix, suffix, language) == expected


@pytest.mark.parametrize(
    ("marked", "kind", "closers"),
    [
        ("x = foo(|)", EXPRESSION, ")"),
        ("x = foo(a, |)\n", EXPRESSION, ")"),
        ("x = foo(|, b)\n", EXPRESSION, ")"),
        ("x = foo(bar(|, c), [1])\n", EXPRESSION, "))"),
        ("x = [foo(|)]  # (one) )\n", EXPRESSION, ")]"),
        ("x = foo(|, ')')\n", EXPRESSION, ")"),
        ("if |:\n    pass\n", EXPRESSION, ""),
        ("for x in |:\n    pass\n", EXPRESSION, ""),
        ("x = | + 1\n", EXPRESSION, ""),
        ("x = | if a else b\n", EXPRESSION, ""),
        ("|x = 1\n", EXPRESSION, ""),
        ("def f(|):\n    pass\n", EXPRESSION, ")"),
        ("foo(\n    a,\n|)\n", EXPRESSION, ")"),
        ("x = f'a{|}b'\n", EXPRESSION, "}"),
        ("x = 'a' + | + 'b'\n", EXPRESSION, ""),
        # The rest of a line: nothing to the right but perhaps blanks or a comment.
        ("x = |", LINE, ""),
        ("x = |\n", LINE, ""),
        ("x = |   \r\ny = 2\r\n", LINE, ""),
        ("x = |  # (why)\n", LINE, ""),
        ("x = foo(|\n", LINE, ""),
        ("x = foo(\na, |\n)\n", LINE, ""),
        ("def f():|\n", LINE, ""),
        # Strings and comments.
        ("x = 'ab|c'\n", LINE, "'"),
        ('x = foo("a|")\n', LINE, '")'),
        ('x = foo("a|", b(c))\n', LINE, '")'),
        ('x = foo("a|\n', LINE, ""),
        ('x = """a\n|\n"""\n', LINE, ""),
        ('"""Say |."""\n', LINE, '"""'),
        ("# say |\n", LINE, ""),
        ("# say | (more)\n", LINE, ""),
        ("x = 1  # don't |\n", LINE, ""),
    ],
)
def test_python_on_a_line_with_text(marked: str, kind: HoleKind, closers: str) -> None:
    check(marked, Hole(kind, 1, "", closers))


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("def f():\n    |\n", Hole(BLOCK, BLOCK_LINES, "    ")),
        ("def f():\n|\n", Hole(BLOCK, BLOCK_LINES, "")),
        ("def f():\n    |", Hole(BLOCK, BLOCK_LINES, "    ")),
        ("def f():\n\t|\n\ndef g():\n\tpass\n", Hole(BLOCK, BLOCK_LINES, "\t")),
        ("def f(a,\n      b) -> int:  # why: so\n    |\n\n\nx = 1\n", Hole(BLOCK, BLOCK_LINES, "    ")),
        ('def f():\n    """Say."""\n    |\n', Hole(BLOCK, BLOCK_LINES, "    ")),
        ('def f():\n    r"""Say\n\n    more.\n    """\n    |\n', Hole(BLOCK, BLOCK_LINES, "    ")),
        ("def f():\n    # first\n    |\n", Hole(BLOCK, BLOCK_LINES, "    ")),
        ("try:\n    |\nexcept E:\n    pass\n", Hole(BLOCK, BLOCK_LINES, "    ")),
        ("try:\r\n    |\r\nexcept E:\r\n    pass\r\n", Hole(BLOCK, BLOCK_LINES, "    ")),
        ("def f():\n    |\n    return 1\n", Hole(STATEMENT, 1, "    ")),
        ('def f():\n    """Say."""\n    |\n\n    return 1\n', Hole(STATEMENT, 1, "    ")),
        ("def f():\n    x = 1\n    |\n    return 1\n", Hole(STATEMENT, 1, "    ")),
        ("def f():\n    x = 1\n    |\n", Hole(STATEMENT, 1, "    ")),
        ("|", Hole(STATEMENT, 1, "")),
        ("import os\n|\n\nx = 1\n", Hole(STATEMENT, 1, "")),
        ("foo(\n    a,\n    |\n)\n", Hole(EXPRESSION, 1, "    ")),
        ("x = {\n    'a': 1,\n    |\n}\n", Hole(EXPRESSION, 1, "    ")),
        ("x = {\n    'a':\n        |\n}\n", Hole(EXPRESSION, 1, "        ")),
        # An open bracket in broken code above does not make everything below it an argument.
        ("x = foo(a,\n\ndef f():\n    |\n", Hole(BLOCK, BLOCK_LINES, "    ")),
        ("x = foo(a,\n\ndef f():\n    y = 1\n    |\n    return y\n", Hole(STATEMENT, 1, "    ")),
        ("  | \n", Hole(STATEMENT, 1, "  ")),
        ("x = '\U0001f600'\ndef f():\n    y = '\U0001f600|'\n", Hole(LINE, 1, "    ", "'")),
        ("x = 1\u2028y\n    foo(|)", Hole(EXPRESSION, 1, "    ", ")")),
    ],
)
def test_python_on_a_line_of_its_own(marked: str, expected: Hole) -> None:
    check(marked, expected)


@pytest.mark.parametrize(
    ("language", "marked", "expected"),
    [
        ("javascript", "function f() {\n  |\n}\n", Hole(BLOCK, BLOCK_LINES, "  ")),
        ("javascript", "function f() {\n  |\n", Hole(BLOCK, BLOCK_LINES, "  ")),
        ("javascript", "const f = () => {\n  |\n};\n", Hole(BLOCK, BLOCK_LINES, "  ")),
        ("javascript", "function f() {\n  |\n  return 1;\n}\n", Hole(STATEMENT, 1, "  ")),
        ("javascript", "const x = {\n  |\n};\n", Hole(EXPRESSION, 1, "  ")),
        ("javascript", "foo({\n  a: 1,\n  |\n});\n", Hole(EXPRESSION, 1, "  ")),
        ("javascript", "foo(|);\n", Hole(EXPRESSION, 1, "", ")")),
        ("javascript", "foo(`a${|}`);\n", Hole(EXPRESSION, 1, "", "}")),
        ("javascript", "foo(`a|`);\n", Hole(LINE, 1, "", "`)")),
        ("javascript", "let x = |; // (\n", Hole(EXPRESSION, 1, "", "")),
        ("javascript", "function f() {\n  x = 'a|\n}\n", Hole(LINE, 1, "  ")),
        ("javascript", "/* say | */\n", Hole(LINE, 1, "", "*/")),
        ("javascript", "/* say\n| */\n", Hole(LINE, 1, " ", "*/")),
        ("javascript", "/* said */ x = |\n", Hole(LINE, 1, "")),
        ("typescript", "interface A {\n  |\n}\n", Hole(BLOCK, BLOCK_LINES, "  ")),
        ("typescriptreact", "const a = <p>don't {foo(|)}</p>;\n", Hole(EXPRESSION, 1, "", ")}")),
        ("go", "func f() {\n\t|\n}\n", Hole(BLOCK, BLOCK_LINES, "\t")),
        ("go", "func f() {\n\tx := T{\n\t\t|\n\t}\n}\n", Hole(EXPRESSION, 1, "\t\t")),
        ("rust", "fn f<'a>(x: &'a str) {\n    |\n}\n", Hole(BLOCK, BLOCK_LINES, "    ")),
        ("rust", "fn f() {\n    g(|)\n}\n", Hole(EXPRESSION, 1, "    ", ")")),
        ("java", "class A {\n    void f() {\n        |\n    }\n}\n", Hole(BLOCK, BLOCK_LINES, "        ")),
        ("c", "int f(void) {\n    |\n    return 1;\n}\n", Hole(STATEMENT, 1, "    ")),
        ("c", "if (|) {\n}\n", Hole(EXPRESSION, 1, "", ")")),
        ("json", '{\n  "a": 1,\n  |\n}\n', Hole(EXPRESSION, 1, "  ")),
        ("json", '{"a": |}\n', Hole(EXPRESSION, 1, "", "}")),
        ("json", '{"a": "b|"}\n', Hole(LINE, 1, "", '"}')),
        # No grammar: by text alone.
        ("kotlin", "fun f() {\n    |\n}\n", Hole(BLOCK, BLOCK_LINES, "    ")),
        ("kotlin", 'val x = f("a|")\n', Hole(LINE, 1, "", '")')),
        ("ruby", "def f\n  |\nend\n", Hole(BLOCK, BLOCK_LINES, "  ")),
        ("ruby", "def f\n  x = 1\n  |\nend\n", Hole(STATEMENT, 1, "  ")),
        ("lua", "x = f(|)\n", Hole(EXPRESSION, 1, "", ")")),
        ("plaintext", "It's a (|)\n", Hole(EXPRESSION, 1, "", ")")),
    ],
)
def test_other_languages(language: str, marked: str, expected: Hole) -> None:
    check(marked, expected, language)


def test_the_whole_documents_tree_is_used_where_the_window_misleads() -> None:
    document = 'x = """\n' + "many words (\n" * 200 + '"""\ny = foo()\n'
    cursor = document.index("foo(") + 4
    tree = syntax.parse(document, "python")
    window = document[cursor - 100 : cursor]
    hole = hole_at(window, document[cursor:], "python", tree, len(document[:cursor].encode()))
    assert hole == Hole(EXPRESSION, 1, "", ")")
    inside = document.index("many") + 4
    assert hole_at(document[8:inside], document[inside:], "python", tree, inside).kind is LINE


@pytest.mark.parametrize("language", ["python", "javascript", "rust", "json", "ruby", "plaintext", "nonsense"])
def test_no_cursor_in_broken_code_raises(language: str) -> None:
    text = "def f(:\n\tx = [\"a'\n  }} `${ /* \u2028 \x0c \ud800 \r # \U0001f600 '''\r\n\n   {\n"
    for cursor in range(len(text) + 1):
        assert hole_at(text[:cursor], text[cursor:], language).max_lines >= 1
