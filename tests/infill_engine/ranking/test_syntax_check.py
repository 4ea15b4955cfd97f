"""Which texts break the syntax, where only a part of the file is known."""

import pytest

from infill_engine.ranking.syntax_check import BREAKS, leaves_faults, new_faults
from infill_engine.types import InfillRequest

CURSOR = "│"
PHP = [
    ("in the middle of a file", "    $all[] = $value;\n}\n\nforeach ($names as $name) {\n    │\n}\n"),
    ("a class without its beginning", "    }\n\n    public function size()\n    {\n        │\n    }\n"),
    ("after code comes text", "$name = 'a';\n│\n?>\n<p>text</p>\n"),
    ("text between two pieces of code", "$name = 'a';\n?>\n<p>text</p>\n<?php\n│\n"),
    (
        "a template",
        "<ul>\n<?php foreach ($names as $name): ?>\n<li><?= $name ?></li>\n<?php │\nendforeach; ?>\n</ul>\n",
    ),
    ("the beginning of a file", "<?php\n\n│\n"),
]


ROWS = "    values.push(value);\n" * 40


def request(marked: str, language: str, window: int = 100_000) -> InfillRequest:
    """The model sees so many characters on either side."""
    before, after = marked.split(CURSOR)
    prefix, suffix = before[-window:], after[:window]
    return InfillRequest(prefix, suffix, language, wider_context=(before[: -len(prefix)], after[len(suffix) :]))


@pytest.mark.parametrize(("_place", "marked"), PHP, ids=lambda value: value if CURSOR not in value else "")
def test_a_part_of_a_php_file_is_read_as_code(_place: str, marked: str) -> None:
    whole, broken = new_faults(["echo $name;", "if ("], request(marked, "php"))
    assert whole == 0
    assert broken > 0


def test_php_in_a_broken_context() -> None:
    broken = request("function size()\n{\n    return count($this->;\n}\n\n│\n", "php")
    assert leaves_faults("if (", broken)


def test_python_needs_nothing_in_front() -> None:
    whole, broken = new_faults(["total += value", "if ("], request("for value in values:\n    │\n", "python"))
    assert (whole, broken >= BREAKS) == (0, True)


def test_a_block_that_ends_beyond_the_window_is_opened_soundly() -> None:
    opens = request(f"function one(values) {{\n  │\n{ROWS}  }}\n}}\n", "javascript", window=200)
    sound, broken = new_faults(["for (const value of others) {", "values.sort();"], opens)
    assert (sound, broken > 0) == (0, True)


def test_a_block_that_ends_beyond_the_window_is_not_ended_again() -> None:
    opened = f"function one(values) {{\n  if (values) {{\n  │\n{ROWS}  }}\n}}\n"
    sound, broken = new_faults(["values.sort();", "}"], request(opened, "javascript", window=200))
    assert (sound, broken > 0) == (0, True)


def test_embedded_code_beyond_the_window() -> None:
    page = f"<p>one < two\n<script>\nfunction one(values) {{\n  │\n{ROWS}  }}\n}}\n</script>\n<p>"
    sound, broken = new_faults(["if (values) {", "values.sort();"], request(page, "html", window=200))
    assert (sound, broken > 0) == (0, True)


def test_a_document_that_the_grammar_refuses_has_no_faults() -> None:
    deep = request("one: │\n" + "two: three\n" * 40 + "- " * 200, "yaml", window=200)
    assert new_faults(["1", "]"], deep) == [0, 0]
