"""Definitions are known by their first lines, in any language."""

import pytest

from infill_engine.context.definitions import BODY_LINES, MEMBERS, SIGNATURE_LINES, definitions_in, name_defined


def texts(source: str) -> dict[str, str]:
    lines = source.split("\n")
    return {found.name: found.text for found in definitions_in(lines, 0, len(lines))}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("def area(self):", "area"),
        ("    async def area(", "area"),
        ("class Box(Base):", "Box"),
        ("MOST_ITEMS = 3", "MOST_ITEMS"),
        ("export default function draw(x) {", "draw"),
        ("pub(crate) fn draw(&self) -> u8 {", "draw"),
        ("func (b *Box) Area() int {", "Area"),
        ("  public static int area(Box box) {", "area"),
        ("const size_t most(int n) {", "most"),
        ("area(box)", None),
        ("return area(box) {", None),
        ("if (area(box)) {", None),
        ("x = 3", None),
        ("MOST == 3", None),
        ("defined(x):", None),
        ("def " + "a" * 400 + "():", None),
    ],
)
def test_a_line_defines_a_name(line: str, name: str | None) -> None:
    assert name_defined(line) == name


def test_a_short_body_is_shown_and_a_long_one_is_not() -> None:
    body = "    return 1\n" * BODY_LINES
    assert texts(f"def one():\n{body}x = 1")["one"] == f"def one():\n{body}".rstrip()
    assert texts(f"def one():\n{body}    return 2\nx = 1")["one"] == "def one():"


def test_a_signature_of_many_lines_is_whole_and_an_endless_one_cut() -> None:
    assert texts("def one(\n    a,\n    b,\n):\n" + "    x()\n" * 9)["one"] == "def one(\n    a,\n    b,\n):"
    assert len(texts("def one(\n" + "    a,\n" * 99)["one"].split("\n")) == SIGNATURE_LINES


def test_a_class_is_shown_by_its_members() -> None:
    source = "class Box:\n    size: int = 1\n\n    def area(self):\n        x = 1\n        return x\n\ny = 2\n"
    assert texts(source)["Box"] == "class Box:\n    size: int = 1\n    def area(self):"
    many = "class Box:\n" + "".join(f"    def m{n}(self):\n        pass\n" for n in range(99))
    assert len(texts(many)["Box"].split("\n")) == 1 + MEMBERS


def test_a_member_is_shown_with_its_class() -> None:
    assert texts("class Box:\n    x = 1\n\n    def area(self):\n        return 1\n")["area"].startswith(
        "class Box:\n    def"
    )
