"""Which texts a person would take for the original one."""

import pytest

from bench.quality.reports.acceptance import is_acceptable


@pytest.mark.parametrize(
    ("text", "gold", "around"),
    [
        ("return a+b", "return a + b", ""),
        ("return b + a", "return a + b", ""),
        ("print('a')", 'print("a")', ""),
        ("for x in xs:", "for item in xs:", "xs = []"),
        ("y = f(1)", "x = f(1)", "def f(): ..."),
        ("if c == b and a:", "if a and b == c:", "a = b = c = 1"),
        ("const z = 2 * (b + a);", "const q = (a + b) * 2;", "a b"),
        ("c + b * a", "a * b + c", ""),
        ("x => 2 * x", "y => y * 2", ""),
        ("a = 1", "a = 1\nb = 2", ""),
    ],
)
def test_as_good_as_the_original(text: str, gold: str, around: str) -> None:
    assert is_acceptable(text, gold, around)


@pytest.mark.parametrize(
    ("text", "gold", "around"),
    [
        ("a - b", "b - a", ""),
        ("a, b", "b, a", ""),
        ("for x in xs:", "for item in xs:", "xs = []\nitem = 1"),  # the name means something
        ("f(y=1)", "f(x=1)", ""),  # the name of a parameter
        ("self.y = 1", "self.x = 1", ""),
        ("print('a')", "print('b')", ""),
        ("a = 1\nc = 2", "a = 1\nb = 2", "b c"),
        ("a", "a = 1", ""),
    ],
)
def test_another_text(text: str, gold: str, around: str) -> None:
    assert not is_acceptable(text, gold, around)
