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


# where a body is opened, what opens it, and texts that break the syntax
OPENERS = [
    ("typescript", "const TAX = 1;\n\nexport function total(│\n", "cart: Cart): number {", "cart: Cart {"),
    ("typescript", "function f(a: string[]) {\n  a.forEach(│\n}\n", "(x) => {", "(x) =>"),
    ("javascript", "const x = │\n", "{", "= {"),
    ("go", "package a\n\nfunc f(xs []int) {\n\tfor _, x│\n}\n", " := range xs {", " := range xs"),
    ("java", "class A {\n  int total(│\n}\n", "Cart c) {", "Cart c"),
    ("rust", "fn total(│\n", "cart: &Cart) -> u32 {", "cart: &Cart)"),
    ("cpp", "class A│\n", " {", " :"),
    ("php", "<?php\nforeach (│\n", "$a as $b):", "$a as $b)"),
    ("ruby", "def f(xs)\n  xs.each│\nend\n", " do |x|", " do ("),
    ("lua", "function f(x)\n  if x│\nend\n", " then", " then ("),
    ("shellscript", "if [ -f x ]│\n", "; then", "; then ("),
]


@pytest.mark.parametrize(("language", "marked", "opens", "breaks"), OPENERS, ids=lambda value: "")
def test_a_text_may_leave_the_body_open_that_it_opens(language: str, marked: str, opens: str, breaks: str) -> None:
    sound, broken = new_faults([opens, breaks], request(marked, language))
    assert (sound, broken > 0) == (0, True)


def test_a_body_is_not_opened_in_the_middle_of_a_line() -> None:
    closed, opened = new_faults(["f(1)", "{"], request("const x = │;\n", "javascript"))
    assert (closed, opened > 0) == (0, True)


def test_bodies_that_are_still_open_are_no_fault_and_hide_none() -> None:
    typed = request("package a\n\nfunc f(xs []int) {\n\tfor _, x := range xs {\n\t\ttotal += │\n", "go")
    sound, broken, closes = new_faults(["x * x", "x x", "x\n\t}\n}"], typed)
    assert (sound, broken >= BREAKS, closes) == (0, True, 0)
    assert not leaves_faults("x * x", typed)


def test_a_line_may_end_a_call_in_a_body_that_is_still_open() -> None:
    typed = request("class Shop {\n    void add(Item item) {\n        items.add(│\n}\n", "java")
    sound, closes, broken = new_faults(["item);", "item);\n    }", "item"], typed)
    assert (sound, closes, broken >= BREAKS) == (0, 0, True)


@pytest.mark.parametrize(
    ("language", "marked", "opens", "breaks"),
    [
        ("lua", "function Cart:total()\n  for _, item│\n", " in ipairs(self.items) do", " in ipairs(self.items do"),
        ("lua", "function f()\n  if x then\n    y = │\nend\n", "(1)", "(1"),
        ("ruby", "class Cart\n  def total\n    @items.each│\n", " do |item|", " do |item"),
    ],
    ids=lambda value: "",
)
def test_bodies_that_a_word_ends_may_be_open(language: str, marked: str, opens: str, breaks: str) -> None:
    sound, broken = new_faults([opens, breaks], request(marked, language))
    assert (sound, broken >= BREAKS) == (0, True)


def test_a_fault_far_from_the_hole_counts_neither_for_nor_against_a_text() -> None:
    far = "def broken(:\n    return 1\n\n\n" + "def one(value):\n    return value\n\n\n" * 80
    sound, broken = new_faults(["values.sort()", "values.sort("], request(f"{far}def two(values):\n    │\n", "python"))
    assert (sound, broken) == (0, 1)


@pytest.mark.parametrize(
    ("language", "marked", "text", "broken"),
    [
        ("python", "def main():\n    save(│\n", "path, data):", True),
        ("python", "def main():\n    save(│\n", "path, data)", False),
        ("python", "def main():\n    save('│\n", "path', data):", True),
        ("javascript", "function main() {\n  save(│\n}\n", "path) {\n  }", True),
        ("javascript", "function main() {\n  save(│\n}\n", "path);", False),
        ("go", "func main() {\n\tsave([]int{│\n}\n", "1}) int {\n\t}", True),
        ("go", "func main() {\n\tsave([]int{│\n}\n", "1})", False),
        ("rust", "fn main() {\n    save(│\n}\n", "path: &str) -> i32 {\n    }", True),
        ("rust", "fn main() {\n    save(│\n}\n", "path);", False),
    ],
)
def test_a_text_alone_that_closes_its_call_wrongly(language: str, marked: str, text: str, broken: bool) -> None:
    assert (new_faults([text], request(marked, language))[0] >= BREAKS) == broken
