"""Definitions are known by their first lines, which the language's record describes."""

import pytest

from infill_engine.context.definitions import BODY_LINES, MEMBERS, SIGNATURE_LINES, definitions_in, name_defined
from infill_engine.text.languages import language


def texts(source: str, identifier: str = "python") -> dict[str, str]:
    lines = source.split("\n")
    return {found.name: found.text for found in definitions_in(lines, 0, len(lines), language(identifier).code)}


@pytest.mark.parametrize(
    ("identifier", "line", "name"),
    [
        ("python", "def area(self):", "area"),
        ("python", "    async def area(", "area"),
        ("python", "class Box(Base):", "Box"),
        ("python", "MOST_ITEMS = 3", "MOST_ITEMS"),
        ("python", "area(box)", None),
        ("python", "x = 3", None),
        ("python", "MOST == 3", None),
        ("python", "defined(x):", None),
        ("python", "def " + "a" * 400 + "():", None),
        ("javascript", "export default function draw(x) {", "draw"),
        ("javascript", "return area(box) {", None),
        ("javascript", "if (area(box)) {", None),
        ("typescript", "export type Props = {", "Props"),
        ("typescript", "  type Props,", None),
        ("rust", "pub(crate) fn draw(&self) -> u8 {", "draw"),
        ("rust", "pub const MOST: usize = 3;", "MOST"),
        ("go", "func (b *Box) Area() int {", "Area"),
        ("java", "  public static int area(Box box) {", "area"),
        ("java", "    private static final int MOST = 3;", "MOST"),
        ("java", "    return area(box);", None),
        ("csharp", "    public const int Most = 3;", "Most"),
        ("csharp", "    protected override Task<int> AreaAsync(Box box)", "AreaAsync"),
        ("c", "static const size_t most(int n) {", "most"),
        ("c", "#define MOST 3", "MOST"),
        ("c", "int area(struct box *box);", None),
        ("cpp", "int Box::area(int scale) const {", "area"),
        ("ruby", "  def self.area?(box)", "area?"),
        ("ruby", "  class Shapes::Box < Base", "Box"),
        ("php", "    public function &area($box)", "area"),
        ("php", "    private const MOST = 3;", "MOST"),
        ("shellscript", "draw_box() {", "draw_box"),
        ("shellscript", "readonly MOST=3", "MOST"),
        ("shellscript", "  MOST=4", None),
        ("lua", "function Box:area(scale)", "area"),
        ("lua", "M.area = function(box)", "area"),
        ("kotlin", "private suspend fun area(box: Box): Int {", "area"),
        ("an-unknown-language", "  enum Shape {", "Shape"),
    ],
)
def test_a_line_defines_a_name(identifier: str, line: str, name: str | None) -> None:
    assert name_defined(line, language(identifier).code) == name


@pytest.mark.parametrize(
    ("identifier", "source", "name", "text"),
    [
        (
            "go",
            "type Box struct {\n\tSize int\n\tw, h  float64\n}\n",
            "Box",
            "type Box struct {\n\tSize int\n\tw, h  float64",
        ),
        (
            "rust",
            "pub struct Box {\n    pub size: u8,\n    w: f64,\n}\n",
            "Box",
            "pub struct Box {\n    pub size: u8,\n    w: f64,",
        ),
        (
            "rust",
            "impl Box {\n    fn area(&self) -> u8 {\n        1\n    }\n}\n",
            "area",
            "impl Box {\n    fn area(&self) -> u8 {\n        1",
        ),
        (
            "csharp",
            "class Box\n{\n    private int size;\n\n    public int Area()\n    {\n        return 1;\n    }\n}\n",
            "Area",
            "class Box\n    public int Area()\n    {\n        return 1;",
        ),
        (
            "csharp",
            "class Box\n{\n    private int size;\n    public int Area { get; }\n}\n",
            "Box",
            "class Box\n{\n    private int size;\n    public int Area { get; }",
        ),
        (
            "java",
            "class Box {\n    int size = 1;\n    f();\n    Box g();\n}\n",
            "Box",
            "class Box {\n    int size = 1;\n    Box g();",
        ),
        (
            "cpp",
            "struct Box {\n  int size;\n  double area() const;\n  f(x) {}\n};\n",
            "Box",
            "struct Box {\n  int size;\n  double area() const;",
        ),
        (
            "php",
            "class Box\n{\n    private ?int $size = 1;\n    $x = 2;\n}\n",
            "Box",
            "class Box\n{\n    private ?int $size = 1;",
        ),
        (
            "ruby",
            "class Box\n  attr_reader :size\n\n  def area\n    1\n  end\nend\n",
            "Box",
            "class Box\n  attr_reader :size\n  def area",
        ),
        ("ruby", "def area\n  1\nend\n", "area", "def area\n  1"),
        (
            "typescript",
            "interface Box {\n  size?: number;\n  area(): number;\n}\n",
            "Box",
            "interface Box {\n  size?: number;\n  area(): number;",
        ),
        ("lua", "local function area(box)\n  return 1\nend\n", "area", "local function area(box)\n  return 1"),
        ("shellscript", "area() {\n  echo 1\n}\n", "area", "area() {\n  echo 1"),
        (
            "sql",
            "CREATE TABLE box (\n  id int,\n  size int\n);\n",
            "box",
            "CREATE TABLE box (\n  id int,\n  size int\n);",
        ),
    ],
)
def test_what_is_shown_of_a_definition(identifier: str, source: str, name: str, text: str) -> None:
    assert texts(source, identifier)[name] == text


@pytest.mark.parametrize(
    ("identifier", "line", "member"),
    [
        ("go", "func (b *Box) Area() int {", True),
        ("go", "func Area() int {", False),
        ("lua", "function Box:area()", True),
        ("lua", "local function area()", False),
        ("cpp", "int Box::area() {", True),
        ("cpp", "int area() {", False),
        ("python", "    def area(self):", True),
    ],
)
def test_members_are_known_outside_of_their_class_too(identifier: str, line: str, member: bool) -> None:
    assert [found.member for found in definitions_in([line], 0, 1, language(identifier).code)] == [member]


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
