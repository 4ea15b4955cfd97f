"""What mends a broken line, in each language of `broken_lines.toml`."""

import tomllib
from pathlib import Path

import pytest

from infill_engine.text import syntax
from infill_engine.text.repairs import repairs

FILE = Path(__file__).parent / "broken_lines.toml"
CASES = [
    pytest.param(language, case["text"], case["right"], id=f"{language}: {number}")
    for language, cases in tomllib.loads(FILE.read_text("utf-8")).items()
    for number, case in enumerate(cases)
]


def repaired(marked: str, language: str, *, error_in_line: bool = True) -> list[str]:
    before, _, rest = marked.partition("»")
    line, end, after = rest.partition("\n")
    return repairs(before, line, end + after, language, error_in_line=error_in_line)


@pytest.mark.parametrize(("language", "marked", "right"), CASES)
def test_the_right_line_comes_first(language: str, marked: str, right: str) -> None:
    tree = syntax.parse(marked.replace("»", ""), language)
    assert tree is not None
    assert (syntax.faults(tree) > 0) or not right
    assert repaired(marked, language)[:1] == ([right] if right else [])


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("python", "»x = 1\n"),
        ("python", "»return a +\n"),
        ("javascript", "»const a = fo + ;\nfoo(a);\n"),
        ("go", "package m\n\nfunc f(a int) int {\n»\treturn a + \n}\n"),
        ("python", "»\nx = (\n"),
    ],
)
def test_a_line_that_lacks_more_than_a_sign_is_left_alone(language: str, marked: str) -> None:
    assert repaired(marked, language) == []


def test_a_line_in_which_no_error_begins_is_repaired_only_where_it_shows_what_it_lacks() -> None:
    assert repaired("»if (a) \n  b();\n}\n", "javascript", error_in_line=False) == ["if (a) {"]
    assert repaired("»f(a, b)\nif (a) {\n", "javascript", error_in_line=False) == []


def test_a_repaired_line_keeps_its_line_end() -> None:
    assert repairs("", "def f(a)", "\r\n    return a\r\n", "python") == ["def f(a):"]


@pytest.mark.parametrize(
    ("language", "marked", "right"),
    [
        ("python", "»def f(x)\n    return x\n\n\ndef g(y)\n    return y\n", "def f(x):"),
        ("python", "def f(x)\n    return x\n\n\n»def g(y)\n    return y\n", "def g(y):"),
        ("go", "package m\n\n»func f(a int, b int {\n}\ntype A struct \n\tx int\n}\n", "func f(a int, b int) {"),
        ("javascript", "»const a = [1, 2 3];\nfucntion f() {\n}\n", "const a = [1, 2, 3];"),
    ],
)
def test_a_line_is_repaired_beside_another_broken_one(language: str, marked: str, right: str) -> None:
    assert repaired(marked, language)[:1] == [right]
