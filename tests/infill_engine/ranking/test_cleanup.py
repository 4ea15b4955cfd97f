"""Each rule, and the chain of them: a text for the hole at the cursor `|`, and what is left of it."""

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
    ("marked", "text", "expected", "language"),
    [
        ("items.append|(3)\n", " #", None, "python"),
        ("x = 1|\n", "  # ", None, "python"),
        ("x = 1|\n", "  # the first", "  # the first", "python"),
        ('mark = "|\n', "#", "#", "python"),  # inside of a string
        ("f(a|);\n", ", b //", None, "javascript"),
        ("local x = 1|\n", " --", None, "lua"),
        ("x = y|\n", " //", " //", "python"),  # an operator there
        ("SELECT id| FROM users;\n", ", name --", None, "sql"),
    ],
)
def test_comment_mark(marked: str, text: str, expected: str | None, language: str) -> None:
    check("comment_mark", marked, text, expected, language)


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
    ("language", "marked", "text", "kept"),
    [
        ("shellscript", "export DB_USER=shop\nexport DB_PASSWORD=|\n", "shop", False),
        ("shellscript", "export DB_PASSWORD=|\n", "$SECRET", True),
        ("shellscript", "mysql --user app --password |\n", "shop", False),
        ("go", 'var conf = Config{\n\tUser:     "shop",\n\tPassword: "|",\n}\n', "shop", False),
        ("go", 'var conf = Config{\n\tUser: "shop",\n\t|\n}\n', 'Password: "shop",', False),
        ("go", "var password string = |\n", '"shop"', False),
        ("go", "password := |\n", 'os.Getenv("DB_PASSWORD")', True),
        ("python", "connect(user='app', password='|')\n", "app", False),
        ("python", "connect(user='app', password=|)\n", "'app'", False),
        ("python", "connect(user='app', password=|)\n", "password", True),
        ("python", "connect(user='app', |)\n", "password='app'", False),
        ("python", "password = |\n", "os.environ['DB_PASSWORD']", True),
        ("python", "password = |\n", "getpass('Password: ')", True),
        ("python", "password: str = |\n", '"x"', False),
        ("python", "SECRET_KEY = '|'\n", "abc", False),
        ("python", "url = 'postgres://app:|@host/db'\n", "app", False),
        ("python", "url = 'http://localhost:|/x'\n", "8080", True),
        ("python", "if token == |:\n", "'('", True),
        ("python", "def f(password):\n    |\n", "return password", True),
        ("python", "min_password_length = |\n", "8", True),
        ("javascript", "const db = { user: 'app', password: '|' };\n", "app", False),
        ("javascript", "const apiKey = |;\n", "process.env.API_KEY", True),
        ("javascript", "const apiKey = `|`;\n", "${key}", True),
        ("javascript", "const apiKey = |;\n", "'abc'", False),
        ("java", 'String password = "|";\n', "shop", False),
        ("java", "this.password = |;\n", "password", True),
        ("java", 'config.setPassword("|");\n', "shop", False),
        ("rust", "let password = |;\n", 'String::from("shop")', False),
        ("csharp", 'string connection = "User=app;Password=|";\n', "app", False),
        ("php", "'password' => '|',\n", "root", False),
        ("ruby", "password: '|'\n", "root", False),
        ("sql", "CREATE USER app IDENTIFIED BY '|';\n", "app", False),
        ("sql", "ALTER USER app WITH PASSWORD '|';\n", "app", False),
        ("json", '{"user": "app", "password": "|"}\n', "app", False),
        ("yaml", "user: app\npassword: |\n", "app", False),
        ("yaml", "user: app\npassword: |\n", "${DB_PASSWORD}", True),
        ("yaml", "user: app\n|\n", "password: app", False),
        ("toml", 'api_key = "|"\n', "abc", False),
        ("dockerfile", "ENV DB_PASSWORD=|\n", "shop", False),
        ("xml", "<user>app</user>\n<password>|</password>\n", "app", False),
        ("html", '<input name="password" value="|">\n', "app", False),
        ("html", '<input type="password" name="|">\n', "password", True),
        ("properties", "db.password=|\n", "app", False),
        ("ini", "token = |\n", "abc", False),
        ("kotlin", 'val password = "|"\n', "app", False),
        ("swift", 'let accessToken = "|"\n', "app", False),
        ("markdown", "The password is |\n", "never stored", True),
        # Places without such a key.
        ("python", 'requests.get(url, auth=("shop", "|"))\n', "hunter2", False),
        ("python", "session.auth = HTTPBasicAuth('shop', '|')\n", "hunter2", False),
        ("python", 'requests.get(url, auth=("shop", |))\n', "read_secret()", True),
        ("go", 'req.SetBasicAuth("shop", "|")\n', "hunter2", False),
        ("kotlin", '.header("Authorization", "Bearer |")\n', "abc123", False),
        ("kotlin", '.header("Authorization", "Bearer |")\n', "$key", True),
        ("javascript", "headers: { Authorization: `Bearer |` }\n", "abc123", False),
        ("javascript", "headers: { Authorization: `Bearer |` }\n", "${key}", True),
        ("javascript", 'const jwt = sign(payload, "|");\n', "abc123", False),
        ("java", 'String user = "shop";\nlogin("shop", "|");\n', "hunter2", False),
        ("yaml", "env:\n  - name: API_TOKEN\n    value: |\n", "abc123", False),
        ("yaml", "env:\n  - name: LEVEL\n    value: |\n", "debug", True),
        ("shellscript", "mysql -u shop -p|\n", "hunter2", False),
        ("shellscript", "docker run -p |\n", "8080:80", True),
        ("shellscript", "curl -u shop:| https://example.com\n", "hunter2", False),
        ("shellscript", "curl -u shop:| https://example.com\n", "$KEY", True),
        ("toml", 'authors = ["A. Writer", "|"]\n', "B. Writer", True),
        ("markdown", "The author, the |\n", "bearer of this", True),
    ],
)
def test_secret_values(language: str, marked: str, text: str, kept: bool) -> None:
    check("secret_values", marked, text, text if kept else None, language)


JAVA = "record Song(String title, int bars, int bpm) {}\nclass P {\n    double s(Song s) { return |; }\n}\n"
RUST = "impl B {\n    fn width(&self) -> u32 { 1 }\n    fn height(&self) -> u32 { 1 }\n}\nfn f(b: B) { | }\n"
PYTHON = (
    "class B:\n    def width(self):\n        return 1\n\n    @property\n    def size(self):\n        return 1\n\n|\n"
)


@pytest.mark.parametrize(
    ("language", "marked", "text", "expected"),
    [
        ("java", JAVA.replace("|", "s.| * 4 * 60.0 / s.bpm()"), "bars", "bars()"),
        ("java", JAVA.replace("|", "s.ba| * 4"), "rs", "rs()"),
        ("java", JAVA, "s.bars * 4 / s.bpm", "s.bars() * 4 / s.bpm()"),
        ("java", JAVA, "s.bars()", "s.bars()"),
        ("java", JAVA, "s.length", "s.length"),
        (
            "java",
            "class B {\n    int getWidth() { return w; }\n    int a(B b) { return b.| * 2; }\n}\n",
            "width",
            "getWidth()",
        ),
        ("rust", RUST.replace("|", "b.| * b.height()"), "width", "width()"),
        ("rust", RUST.replace("|", "b.|;"), "width", "width()"),
        ("rust", "struct B { width: u32 }\n" + RUST.replace("|", "b.|;"), "width", "width"),  # the field
        ("rust", "struct B { width: u32 }\n" + RUST.replace("|", "b.| * b.height();"), "width", "width()"),
        ("cpp", "struct B {\n    int width() const;\n};\nint f(B b) { return b.|; }\n", "width", "width()"),
        ("php", "<?php class B {\n  function width() {}\n}\n$n = $b->|;\n", "width", "width()"),
        ("kotlin", "class B {\n    fun width() = 1\n}\nval n = b.|\n", "width", "width()"),
        ("python", PYTHON.replace("|", "n = b.| * 2"), "width", "width()"),
        ("python", PYTHON.replace("|", "n = b.| * 2"), "size", "size"),
        ("python", PYTHON.replace("|", "call(b.|)"), "width", "width"),  # the method itself
        ("python", PYTHON.replace("|", "b.|"), "width = 2", "width = 2"),
        ("javascript", "class B {\n  width() {\n  }\n  get size() {\n  }\n}\nn = b.| * 2;\n", "width", "width()"),
        ("javascript", "class B {\n  width() {\n  }\n  get size() {\n  }\n}\nn = b.| * 2;\n", "size", "size"),
        ("typescript", "class B {\n  width(): number {\n  }\n}\nconst n = b.| * 2;\n", "width", "width()"),
        ("go", "func (b B) Width() int {\n}\n\nvar n = b.| * 2\n", "Width", "Width()"),
        ("csharp", "class B {\n    public int Width() => 1;\n}\nvar n = b.| * 2;\n", "Width", "Width()"),
    ],
)
def test_getters(language: str, marked: str, text: str, expected: str) -> None:
    check("getters", marked, text, expected, language)


@pytest.mark.parametrize(
    ("language", "marked", "text", "expected"),
    [
        (
            "rust",
            "fn f(x: Option<i32>) -> i32 {\n    if let Some(v) = x |\n    0\n}\n",
            "{ v } else { 0 }",
            "{ return v; }",
        ),
        (
            "rust",
            "fn f(x: Option<i32>) -> i32 {\n    if let Some(v) = x |\n    0\n}\n",
            "{ v } else { 1 }",
            "{ v } else { 1 }",
        ),
        (
            "rust",
            "fn f() -> i32 {\n    if a |\n    0\n}\n",
            "{\n        1\n    } else {\n        0\n    }",
            "{\n        return 1;\n    }",
        ),
        ("javascript", "  if (v) |\n  return 0;\n", "{ return v; } else { return 0; }", "{ return v; }"),
        ("javascript", "  if (v) |\n  return 0;\n", "return v; else return 0;", "return v;"),
        ("java", "    if (v > 0) |\n\n    return fallback();\n", "return v; else return fallback();", "return v;"),
        ("go", "\tif ok |\n\treturn 0\n", "{\n\t\treturn v\n\t} else {\n\t\treturn 0\n\t}", "{\n\t\treturn v\n\t}"),
        ("lua", "  if v then|\n  return 0\n", " return v else return 0 end", " return v end"),
        ("kotlin", "    if (v > 0) |\n    return 0\n", "v else 0", "return v"),
        ("python", "    return |\n    return 0\n", "v if v else 0", "v if v else 0"),
        (
            "javascript",
            "  if (v) |\n  other();\n",
            "{ return v; } else { return 0; }",
            "{ return v; } else { return 0; }",
        ),
        ("javascript", "  x = a |;\n  return 0;\n", "else return 0;", "else return 0;"),
    ],
)
def test_other_branch(language: str, marked: str, text: str, expected: str) -> None:
    check("other_branch", marked, text, expected, language)


IN_GO = "func f(xs []int) (t int) {\n\t|\n\treturn t\n}\n"


@pytest.mark.parametrize(
    ("language", "marked", "text", "expected"),
    [
        ("go", IN_GO, "for _, x := range xs {", "for _, x := range xs {\n\t}"),
        ("go", IN_GO.replace("|", "for |"), "_, x := range xs {", "_, x := range xs {\n\t}"),
        ("go", IN_GO.replace("\t|", "|"), "\tif err != nil {", "\tif err != nil {\n\t}"),
        ("go", IN_GO, "for _, x := range xs {\n\t\tt += x\n\t}", "for _, x := range xs {\n\t\tt += x\n\t}"),
        (
            "go",
            "func f(xs []int) {\n\t|\n\t\tuse(x)\n\t}\n}\n",
            "for _, x := range xs {",
            "for _, x := range xs {",
        ),  # wrapping
        ("go", "func f() {\n\t|\n\t}\n}\n", "if a {", "if a {"),  # closed below
        ("go", "|", "func f() {", "func f() {\n}"),
        ("javascript", "function f() {\n  |\n}\n", "const g = (a) => {", "const g = (a) => {\n  }"),
        ("javascript", "|\n", "app.get('/', (req, res) => {", "app.get('/', (req, res) => {\n})"),
        ("javascript", "run(|)\n", "function () {", "function () {}"),
        ("javascript", "x = |\n", "run(a", None),
        ("javascript", "x = |\n", "run(a,", None),
        ("cpp", "|\nint x;\n", "struct B {", "struct B {\n};"),
        ("java", "class A {\n    |\n}\n", "void f() {", "void f() {\n    }"),
        (
            "java",
            "class A {\n    void f() {\n        if (a) {\n            b();\n        |\n    }\n}\n",
            "} else {",
            "} else {\n        }",
        ),
        ("rust", "fn f() {\n    |\n}\n", "match x {", "match x {\n    }"),
        ("json", '{"a": 1,\n |\n}\n', '"b": {', '"b": {\n }'),
        ("kotlin", "fun f() {\n    |\n}\n", "for (x in xs) {", "for (x in xs) {\n    }"),
        ("lua", "local t = {}\n|\nprint(t)\n", "for i = 1, 3 do", "for i = 1, 3 do\nend"),
        ("lua", "function f()\n  |\nend\n", "if a then", "if a then\n  end"),
        ("lua", "function f()\n  |\n  end\nend\n", "if a then", "if a then"),
        ("ruby", "class A\n  |\nend\n", "def f(a)", "def f(a)\n  end"),
        ("shellscript", "|\necho b\n", "for f in *.txt; do", "for f in *.txt; do\ndone"),
        ("shellscript", "|\necho b\n", "if [ -f a ]; then", "if [ -f a ]; then\nfi"),
        ("html", "<div>\n  |\n</div>\n", '<ul class="a">', '<ul class="a">\n  </ul>'),
        ("python", "def f():\n    |\n", "for a in b:", "for a in b:"),
        ("python", "x = |\n", "foo(a", None),
        ("python", "x = |\n)\n", "foo(", "foo("),
        ("python", "x = '|'\n", "foo(a", "foo(a"),
        ("markdown", "A list (|\n", "of three", "of three"),
    ],
)
def test_block_end(language: str, marked: str, text: str, expected: str | None) -> None:
    check("block_end", marked, text, expected, language)


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


@pytest.mark.parametrize(
    ("language", "marked", "text", "kept"),
    [
        ("kotlin", "val a = users\n    .filter { it.active }\n    .map { it.name }\n    .|\n", "toList()", False),
        ("kotlin", "val a = users\n    .map { it.name }\n    .|\n", "toSet()", True),
        ("kotlin", "val a = text.|\n", "toList()", True),
        ("java", "var a = b.stream().toList().|;\n", "toList()", False),
        ("csharp", "var a = b.ToList().|;\n", "ToList()", False),
        ("javascript", "const a = b.trim().|;\n", "trim()", False),
        ("javascript", "const a = b.parent().|;\n", "parent()", True),
        ("ruby", "a = b.map(&:name).|\n", "to_a", False),
        ("ruby", "a = b.|\n", "to_a", True),
    ],
)
def test_conversions(language: str, marked: str, text: str, kept: bool) -> None:
    check("conversions", marked, text, text if kept else None, language)
