"""What a proposal says again of the text around it; │ is the hole."""

import pytest

from infill_engine.ranking.context_features import ContextFeatures


def around(marked: str) -> ContextFeatures:
    return ContextFeatures.of(*marked.split("│"))


ECHOES = [
    ("import os\nimport re\n│\n", "import re", 1.0),
    ("import os\n\n\nimport re\n\n│\n", "import os", 1 / 2),  # blank lines are no distance
    ("import os\nim│\nimport re\n", "port re", 1.0),
    ("    a = 1\nif x:\n        │", "a = 1", 1 / 2),  # however far it is indented
    ("f(1, 2)\nf(│, 2)\n", "1", 1.0),
    ("f(1, 2)\nf(│, 2)\n", "2", 0.0),
    ("a = 1\r\n│\r\nb = 2\r\n", "b = 2", 1.0),
    ("a = 1\n│, 3\n", "a = 1\nb", 1.0),  # the rest of the line comes after the last line
    ("a = 1\n│", "b = 1", 0.0),
    ("\n\n│\n\n", "\nx", 0.0),
    ("│", "x", 0.0),
]


@pytest.mark.parametrize(("marked", "text", "expected"), ECHOES)
def test_the_nearest_equal_line_counts(marked: str, text: str, expected: float) -> None:
    assert around(marked).equal_line(text) == expected


REDEFINED = [
    ("def a():\n    pass\n\ndef │", "a():", True),
    ("def a():\n    pass\n\ndef │", "b():", False),
    ("d│\n\nasync def a(x): pass\n", "ef a():", True),
    ("class A:\n    def a(self): pass\n    │\n", "def a(self):\n        return 1", True),
    ("class A:\n    def a(self): pass\nclass B:\n    │\n", "def a(self):", False),  # in another class
    ("class B:\n    │\nclass A:\n    def a(self): pass\n", "def a(self):", False),
    ("def a():\n    │\n", "def a(): ...", False),  # inside of it
    ("def a():\n    def b(): ...\n│\n", "def b():", False),
    ("function a() {\n}\n│\n", "function a() {", True),
    ("a = 1\n│\n", "a = 1", False),
]


@pytest.mark.parametrize(("marked", "text", "expected"), REDEFINED)
def test_a_name_is_seldom_defined_twice_in_one_body(marked: str, text: str, expected: bool) -> None:
    assert around(marked).redefines(text) is expected


@pytest.mark.parametrize(("marked", "expected"), [("a = fo│", True), ("é│", True), ("a = │", False), ("│x", False)])
def test_a_cursor_inside_a_word(marked: str, expected: bool) -> None:
    assert around(marked).inside_word is expected


def test_names_that_do_not_stand_around() -> None:
    nearby = around("width = 1\n│\nheight = 2\n")
    assert nearby.unknown("width * depth") == 0.5
    assert nearby.unknown("width * height") == 0.0
    assert nearby.unknown("1") == 0.0
