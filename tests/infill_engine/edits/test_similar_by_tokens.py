"""Recent edits are repeated where the same tokens stand: what becomes of a text, and what stays as it is."""

import pytest

from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.similar.by_tokens import places
from infill_engine.edits.similar.repeats import Lines, repeats
from infill_engine.edits.similar.token_rules import rules_of
from infill_engine.edits.types import Edit, applied


@pytest.mark.parametrize(
    ("old", "new", "line", "result"),
    [
        ("methods: list[str]", "methods: Collection[str]", "names: list[str] = []", "names: Collection[str] = []"),
        ("def f(tmpdir, x):", "def f(tmpdir: Path, x):", "def g(tmpdir, y):", "def g(tmpdir: Path, y):"),
        ("std::size_t a;", "size_t a;", "std::size_t f(std::size_t n)", "size_t f(size_t n)"),
        ("x = read(path)", "x = read(path, mode)", "    show(read(path))", "    show(read(path, mode))"),
        ("# the old way", "# the new way", "# another old way", "# another new way"),
        ('"form-group"', '"mb-3"', 'set("form-group");', 'set("mb-3");'),
        ("wait(a) ;", "wait(a);", "wait(b) ;", None),  # blanks are for formatters
        ('"form-group"', '"mb-3"', 'set("form");', None),  # half of it
        ("resize(a, 3)", "resize(a, 4)", "resize(b, 3)", None),  # another number
        ("f(a)", "f(a, b)", "f(a, b, c)", None),  # is made
        ("x", "y", "z = x", None),  # one letter
    ],
)
def test_a_change_of_tokens_is_repeated(old: str, new: str, line: str, result: str | None) -> None:
    assert _repeated([(old, new)], line) == ([] if result is None else [result])


def test_a_block_of_lines_is_repeated_with_its_own_indentation() -> None:
    old, new = "local tab\ntab=$(printf '\\t')\n", "local tab=$'\\t'\n"
    text = "f() {\n    local tab\n    tab=$(printf '\\t')\n    show\n}\n"
    assert _repeated([(old, new)], text) == ["f() {\n    local tab=$'\\t'\n    show\n}\n"]


def test_line_ends_stay_as_they_are() -> None:
    block, text = ("read(a)\r\nclose(a)\r\n", "with read(a):\r\n    pass\r\nshow()\r\n"), "x\r\nread(a)\r\nclose(a)\r\n"
    assert _repeated([block], text) == ["x\r\nwith read(a):\r\n    pass\r\nshow()\r\n"]
    assert _repeated([("read(path)\r\n", "read(path, mode)\r\n")], "read(path)\r\nx\r\n") == [
        "read(path, mode)\r\nx\r\n"
    ]


def test_lines_that_were_changed_together_are_changed_together() -> None:
    old = "  return fetch(user)\n    .then((response) => response.json());\n"
    new = "  const response = await fetch(user);\n  return response.json();\n"
    same = "  return fetch(order)\n    .then((response) => response.json());\n"
    assert _repeated([(old, new)], same) == [new.replace("user", "order")]
    assert _repeated([(old, new)], "\n  .then((response) => response.json());\n") == []
    assert set(_repeated([("read(a)\nread(b)\n", "load(a)\nload(b)\n")], "show()\nread(c)\n")) == {"show()\nload(c)\n"}


def test_lines_that_were_removed_twice_are_removed_again_but_not_where_they_were_moved_to() -> None:
    gone, text = ("log.debug(state)\n", ""), "a()\nlog.debug(state)\nb()\n"
    assert _places(text, [gone]) == []
    assert [applied(text, edits) for edits in _places(text, [gone, gone])] == ["a()\nb()\n"]
    assert _places(text, [gone, gone, ("", "log.debug(state)\n")]) == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('show("red")', 'show("blue")', 'paint("red")\n'),
        ("# the old way", "# the new way", "x = 1  # the old way\n"),
        ("def f(path): pass", "def f(source): pass", "def g(path): pass\n"),
        ("def f(): pass", "async def f(): pass", "def f(): pass\n"),
    ],
)
def test_what_may_be_alike_by_chance_is_repeated_after_two_edits(old: str, new: str, line: str) -> None:
    assert _places(line, [(old, new)]) == []
    assert len(_places(line, [(old, new), (old, new)])) == 1


def test_a_defined_name_that_became_another_is_left_to_its_scope() -> None:
    text = "def read(): pass\n\n\ndef load(): pass\n\n\nread()\n"
    assert _places(text, [("read()", "load()")]) == []
    assert _places(text.replace("load", "save"), [("read()", "load()")])


def test_a_block_that_is_part_of_what_became_of_it_stays() -> None:
    edit = ("track(event)\n", "if event:\n    track(event)\n")
    assert _repeated([edit], "if event:\n    track(event)\n") == []
    assert _repeated([edit], "x()\n    track(event)\n") == ["x()\n    if event:\n        track(event)\n"]


def test_an_edit_that_was_taken_back_is_not_repeated() -> None:
    there = ("read(path)", "load(path)")
    text = "show(read(path))\n"
    assert [applied(text, edits) for edits in _places(text, [there])] == ["show(load(path))\n"]
    assert _places(text, [there, ("load(path)", "read(path)")]) == []


def _repeated(history: list[tuple[str, str]], text: str) -> list[str | None]:
    lines = Lines(text)
    return [applied(text, found.edits) for rule in rules_of(history) for found in repeats(rule, lines)]


def _places(text: str, history: list[tuple[str, str]]) -> list[tuple[Edit, ...]]:
    source = ParsedText.parse(text, "python")
    assert source is not None
    return [place.edits for place in places(ParsedEdit(source, source, (), history))]
