"""Each rule, and the chain of them: a text for the hole at the cursor `|`, and what is left of it.

What rules do to texts of single languages: `tests/infill_engine/text/languages/cases/`.
"""

import pytest

from infill_engine.context.hole import hole_at
from infill_engine.ranking.cleanup import RULES, clean
from infill_engine.types import Hole, HoleKind, InfillRequest

BLOCK = "def f():\n    |\n"


def check(
    rule: str, marked: str, text: str, expected: str | None, language: str = "python", hole: Hole | None = None
) -> None:
    prefix, _, suffix = marked.partition("|")
    request = InfillRequest(prefix, suffix, language)
    function = next((each for each in RULES if each.__name__ == rule), clean)
    assert rule == "clean" or function is not clean
    assert function(text, request, hole or hole_at(prefix, suffix, language)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\t\nb\x0c", "a\t\nb\x0c"),
        ("ab\ufffd c", "ab"),
        ("a\x00b", "a"),
        ("\U0001f600\u2028", "\U0001f600\u2028"),
        ("a\ud800", "a"),
    ],
)
def test_undecodable(text: str, expected: str) -> None:
    check("undecodable", "|", text, expected)


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("    |\n", "\n\n    x\n    y", "x\n    y"),
        ("    |\n", "    x", "x"),
        ("    |\n", "x", "x"),
        ("|\n", "    x", "    x"),
        ("a = |\n", "\nx", "\nx"),
        ("    |\n", " \n ", " \n "),
    ],
)
def test_leading_blank(marked: str, text: str, expected: str) -> None:
    check("leading_blank", marked, text, expected)


@pytest.mark.parametrize(
    ("lines", "text", "expected"), [(1, "a\nb", "a"), (1, "\nb", ""), (2, "a\nb\nc", "a\nb"), (3, "a\nb", "a\nb")]
)
def test_max_lines(lines: int, text: str, expected: str) -> None:
    check("max_lines", "|", text, expected, hole=Hole(HoleKind.BLOCK, lines))


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        (BLOCK, "a()\n    b()", "a()\n    b()"),
        (BLOCK, "if a:\n        b()\n    c()", "if a:\n        b()\n    c()"),
        (BLOCK, "a()\n\n    b()", "a()\n\n    b()"),
        # Left of the hole the block has ended.
        (BLOCK, "return a\n\n\ndef g():\n    pass", "return a\n\n"),
        (BLOCK, "a()\n  b()", "a()"),
        # All of it off by the same amount.
        (BLOCK, "a()\nif b:\n    c()", "a()\n    if b:\n        c()"),
        (BLOCK, "a()\n        b()\n        if c:\n            d()", "a()\n    b()\n    if c:\n        d()"),
        (BLOCK, "a(\n        b)\n    c()", "a(\n        b)\n    c()"),
        (BLOCK, "a = b\n        .c()", "a = b\n        .c()"),
        # Tabs and spaces as the cursor's line has them.
        ("def f():\n\t|\n", "if a:\n        b()\n    c()", "if a:\n\t\tb()\n\tc()"),
        (BLOCK, "if a:\n\t\tb()\n\tc()", "if a:\n        b()\n    c()"),
        ("def f():\n|\n", "    a = 1\n    return a", "    a = 1\n    return a"),
        ("def f():\n  |\n", "  a = 1\n    return a", "  a = 1\n    return a"),
        ("def f():\n|\n", "    if a:\n        b\n    return a", "    if a:\n        b\n    return a"),
    ],
)
def test_indentation(marked: str, text: str, expected: str) -> None:
    check("indentation", marked, text, expected)


@pytest.mark.parametrize(
    ("language", "marked", "text", "indent", "expected"),
    [
        # The language's habit, where nothing else is known.
        ("python", "def f(a):\n|\n", "\treturn a", "", "    return a"),
        ("php", "<?php\nfunction f($a) {\n|\n}\n", "\treturn $a;", "", "    return $a;"),
        ("cpp", "int f(int a) {\n|\n}\n", "return a;", "", "    return a;"),
        ("lua", "function f(a)\n|\nend\n", "\treturn a", "", "  return a"),
        ("go", "func f() {\n|\n}\n", "    return", "", "\treturn"),
        ("javascript", "function f(a) {\n|\n}\n", "\tif (a) {\n\t\tb();\n\t}", "", "  if (a) {\n    b();\n  }"),
        # What the editor or the project says.
        ("python", "def f(a):\n|\n", "    return a", "\t", "\treturn a"),
        ("c", "int f(int a) {\n|\n}\n", "return a;", "\t", "\treturn a;"),
        ("javascript", "function f(a) {\n|\n}\n", "return a;", "    ", "    return a;"),
        # What the file shows.
        ("python", "if a:\n  b()\n\ndef f(a):\n|\n", "\treturn a", "    ", "  return a"),
        ("java", "class A {\n    int f(int a) {\n|\n    }\n}\n", "return a;", "\t", "        return a;"),
        ("c", "int f(int a,\n      int b) {\n|\n}\n", "return a;", "    ", "    return a;"),
        # Several lines, of which the last belongs to the code around.
        (
            "python",
            "def f(a):\n|\n",
            "\tb = a\n\tif b:\n\t\tc()\n\treturn b",
            "",
            "    b = a\n    if b:\n        c()\n    return b",
        ),
        ("python", "def f(a):\n|\n", "b = a\n    return b", "", "    b = a\n    return b"),
        ("cpp", "int f(int a) {\n|\n}\n", "    return a;\n}", "", "    return a;"),
        # Not a body, or not at column 0.
        ("python", "a = 1\n|\n", "\tb = 2", "", "\tb = 2"),
        ("python", "def f(a):\n    |\n", "return a", "\t", "return a"),
    ],
)
def test_first_indentation(language: str, marked: str, text: str, indent: str, expected: str) -> None:
    prefix, _, suffix = marked.partition("|")
    hole = hole_at(prefix, suffix, language)
    assert clean(text, InfillRequest(prefix, suffix, language, indent=indent), hole) == expected


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("foo(|)\n", "a)", "a"),
        ("foo(|)\n", "a, b(c))\nd", "a, b(c)"),
        ("foo(|)\n", "bar()", "bar()"),
        ("foo(|\n", "a)", "a)"),
        ("print(foo(|)\n", "a)", "a)"),
        ("print(foo(|)\n", "a))", "a)"),
        ("print(foo(|, 1))\n", "a)", "a"),
        ("foo(\n    a, |\n)\n", "b)", "b"),
        ("x[foo(|)]\n", "a]", "a"),
        ("x = |\n", "a)", "a"),
        ("foo(|)\n", "')'", "')'"),
        ("x = 'ab|'\n", "c'", "c"),
        ("x = 'ab|'\n", "c\\'d", "c\\'d"),
        ("x = 'ab|\n", "c'", "c'"),
        ("foo('ab|')\n", "c') + d(", "c"),
        ("# a |\n", "b) c", "b) c"),
    ],
)
def test_balance(marked: str, text: str, expected: str) -> None:
    check("balance", marked, text, expected)


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("function f() {\n  if (a) {|\n}\n", " b(); }", " b(); }"),
        ("function f() {\n  |\n}\n", "a();\n}\n", "a();\n"),
        ("foo({ a: | });\n", "b })", "b "),
    ],
)
def test_balance_of_braces(marked: str, text: str, expected: str) -> None:
    check("balance", marked, text, expected, "javascript", hole=Hole(HoleKind.BLOCK, 6, ""))


def test_balance_in_an_interpolation() -> None:
    check("balance", "foo(`a${|}`);\n", "b}", "b", "javascript")
    check("balance", "x = f'a{|}b'\n", "c}", "c")


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("if |:\n", "a:", "a"),
        ("x = | + 1\n", "y + 1", "y"),
        ("x = | + 1\n", "y", "y"),
        ("foo(|, b)\n", "a, b)", "a"),
        ("foo(|, b)\n", "a,", "a"),
        ("foo(|)\n", "bar()", "bar()"),
        ("x = |(a)\n", "foo(a)", "foo"),
        ("x = |b\n", "ab", "ab"),
        ("x = |b\n", "c + b", "c + "),
        ("x = |b\n", "b", ""),
        ("foo(|, 'a')\n", "b, 'a')", "b"),
        ("x = |\n", "y", "y"),
        ("x = |\nz = 1\n", "y\nz = 1", "y"),
        ("x = |\n\n  z = 1\nw = 2\n", "y\nq = 1\nz = 1\nw = 2", "y\nq = 1"),
        ("x = |\n)\n", "foo(\n  a\n)", "foo(\n  a\n)"),
    ],
)
def test_suffix_overlap(marked: str, text: str, expected: str) -> None:
    check("suffix_overlap", marked, text, expected)


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("x = |\n", "y  ", "y"),
        ("x = |\n", "y  \n  z\t\n\n", "y\n  z"),
        ("foo(|)\n", "a ", "a"),
        ("x = | + b\n", "a ", "a"),
        ("x = |b\n", "a + ", "a + "),
        ("x = |\n", "y \u00a0", "y"),
    ],
)
def test_trailing_blank(marked: str, text: str, expected: str) -> None:
    check("trailing_blank", marked, text, expected)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a a a a", False),
        ("a, a, a, a, a, a, a", False),
        ("((((", False),
        ("self.self.self.self.self", False),
        ("the cat the cat the cat the cat", False),
        ("x = 1\nx = 1\nx = 1", False),
        ("None, None, None, None", True),
        ("0, 0, 0, 0, 0, 0, 0, 0", True),
        ("))))", True),
        ("# ----------------", True),
        ("'#ffffff'", True),
        ("x.append(1)\nx.append(1)", True),
        ("}\n}\n}", True),
        ("foo(a, b, c, d)", True),
        ("", True),
    ],
)
def test_repetition(text: str, kept: bool) -> None:
    check("repetition", "x = |", text, text if kept else None)


@pytest.mark.parametrize(
    ("marked", "text", "kept"),
    [
        ("    one(a)\n    |\n", "one(a)", False),
        ("    one(a)\n\n    |\n", "one(a)", False),
        ("x\n    |\n    one(a)\n", "one(a)", False),
        ("one(a)\ntwo(b)\n|\n", "one(a)\ntwo(b)", False),
        ("one(a)\none(|\n", "a)", True),  # too little to tell
        ("one(alpha)\none(|\n", "alpha)", False),
        ("one(alpha)\n\none(|\n", "alpha)", True),
        ("    }\n|\n", "}", True),
        ("one(alpha)\none(|)\n", "alpha", True),
        ("one(a)\n|\n", "one(b)", True),
        ("|", "one(b)", True),
    ],
)
def test_neighbours(marked: str, text: str, kept: bool) -> None:
    check("neighbours", marked, text, text if kept else None)


@pytest.mark.parametrize(("text", "expected"), [("", None), (" \t\n\u2003", None), ("x", "x"), (" x", " x")])
def test_blank(text: str, expected: str | None) -> None:
    check("blank", "|", text, expected)


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("x = |\n", "1\n", "1"),
        ("x = |", "", None),
        ("x = |", "\n\ny", None),
        ("x = foo(|)\r\ny\r\n", "a)\r\nb", "a"),
        (BLOCK, "a()\n    return b\n\n\ndef g():\n    pass", "a()\n    return b"),
        (BLOCK.replace("\n", "\r\n"), "a()\r\n    return b\n", "a()\n    return b"),
        (BLOCK.replace("\n", "\r"), "a()\r    b()", "a()\n    b()"),
        (BLOCK, "\n    a()\n", "a()"),
        ("foo(bar(|), x)\n", "y), x)", "y"),
        ("x = 'say |'\n", "more'", "more"),
        ("x = one\n|\n", "x = one", None),
        ("if a.|:\n    pass\n", "b():", "b()"),
        ("return |x\n", "x", None),
    ],
)
def test_the_chain(marked: str, text: str, expected: str | None) -> None:
    check("clean", marked, text, expected)


@pytest.mark.parametrize("language", ["python", "javascript", "json", "nonsense"])
def test_no_text_raises_and_what_is_left_is_visible(language: str) -> None:
    odd = ["", "\r", "'\"`", ")]}", "((", "\\", "\ufffd", "x\u2028y \x0c", "a\n\tb\n  c", "'''\n", "# )", "\U0001f600"]
    for prefix in ("", "x = [(", "def f():\r\n    ", "x = 'a", "// ", "/* ", "a\x0c\u2028("):
        for suffix in ("", ")]", "'\r\n", " */", "\n}\n", "b"):
            request = InfillRequest(prefix, suffix, language)
            hole = hole_at(prefix, suffix, language)
            for text in odd:
                cleaned = clean(text, request, hole)
                assert cleaned is None or cleaned.strip()


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ('say("|")\n', "prивет", None),
        ('say("p|")\n', "ривет", None),  # the word begins before the cursor
        ('say("|")\n', "привет, world", "привет, world"),
        ("x = |\n", "\u03b1_max + beta", "\u03b1_max + beta"),  # two words
        ("prивет = 1\nx = |\n", "prивет", "prивет"),
        ("x = |\n", "naïve_Straße", "naïve_Straße"),
        ('say("ע|ם")\n', "ROL", None),  # the word goes on behind the cursor
        ('say("ע|ם")\n', "ול", "ול"),
        ('say("안|하세요")\n', "getFullYear", None),
        ('say("مر|با")\n', "xy", None),
        ('say("|")\n', "使用Python编程", "使用Python编程"),
        ('say("שלום |")\n', "עולם, world", "עולם, world"),
    ],
)
def test_scripts(marked: str, text: str, expected: str | None) -> None:
    check("scripts", marked, text, expected)


@pytest.mark.parametrize(
    ("marked", "text", "kept"),
    [
        ("# в|ы\n", "в", False),
        ("# в|ы\n", " публикац", False),
        ("# пр|ет\n# привет\n", "ив", True),
        ('x = "ע|ם"\ny = "עולם"\n', "ול", True),
        ('x = "ע|ם"\ny = "עולם"\n', "ולמ", False),
        ('x = "你|世界"\n', "好", True),  # a run of CJK characters is no word
        ("# 안|하세요\n# 안녕하세요\n", "녕하세요", False),
        ("# 안|하세요\n# 안녕하세요\n", "녕", True),
        ("# Müll|r\n", "e und Sch", False),
        ("get|Name()\n", "User", True),
        ("len|items\n", "(", True),
        ("def area(wi|th, height):\n", "dth, hei", False),
        ("x = pri|name\nprint(first_name)\n", "nt(first_", True),
        ("x = |name\n", "a.", True),
    ],
)
def test_cut_words(marked: str, text: str, kept: bool) -> None:
    check("cut_words", marked, text, text if kept else None)
