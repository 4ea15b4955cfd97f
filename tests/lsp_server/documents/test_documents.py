"""Snapshots and edits: against a reference that works on the whole text, for any text and any edit."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from infill_engine.text.syntax import parser_for
from lsp_server.documents.snapshots import Documents, EditKind, Snapshot, TextChange, change_to, split_lines
from lsp_server.protocol.positions import Place, to_place, to_position

URI = "file:///project/example.py"
ODD = st.text(st.sampled_from("ab \r\n\t\x0c\x0b\x1c\x85\u2028é→😀𝒳"), max_size=24)


def text_of(snapshot: Snapshot) -> str:
    return "".join(snapshot.lines)


def opened(text: str) -> Documents:
    documents = Documents()
    documents.open(URI, "python", text)
    return documents


def reference_split(text: str) -> tuple[str, ...]:
    lines = [""]
    for piece in re.findall(r"\r\n|\r|\n|[^\r\n]", text):
        lines[-1] += piece
        if piece in ("\r\n", "\r", "\n"):
            lines.append("")
    return tuple(lines)


def reference_offset(text: str, position: types.Position, encoding: str) -> int:
    lines = reference_split(text)
    if position.line >= len(lines):
        return len(text)
    offset = sum(map(len, lines[: position.line]))
    units = {"utf-8": lambda c: len(c.encode()), "utf-16": lambda c: 1 + (c > "\uffff"), "utf-32": lambda c: 1}[
        encoding
    ]
    left = position.character
    for character in lines[position.line].rstrip("\r\n"):
        left -= units(character)
        if left < 0:
            break
        offset += 1
    return offset


@given(ODD)
def test_lines_end_as_the_protocol_says(text: str) -> None:
    assert split_lines(text) == reference_split(text)


def test_a_last_line_as_long_as_minified_code_is() -> None:
    """Searched for its end from each of its characters, it would take days."""
    text = "x" * 2_000_000
    assert split_lines(f"a\r\n{text}") == ("a\r\n", text)


positions = st.builds(types.Position, line=st.integers(0, 9), character=st.integers(0, 12))
edits = st.lists(st.tuples(positions, positions, ODD), min_size=1, max_size=5)


@settings(max_examples=400, deadline=None)
@given(ODD, edits, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_edits_give_the_reference_text(text: str, todo: list, encoding: str) -> None:
    documents = opened(text)
    for first, second, inserted in todo:
        lines = documents.get(URI).lines
        a, b = sorted((reference_offset(text, first, encoding), reference_offset(text, second, encoding)))
        text = text[:a] + inserted + text[b:]
        change = TextChange(inserted, to_place(lines, first, encoding), to_place(lines, second, encoding))
        snapshot = documents.change(URI, change).after
        assert text_of(snapshot) == text
        assert snapshot.lines == reference_split(text)
        assert snapshot.size == len(text)
        found = snapshot.syntax.at(snapshot.lines, snapshot.cursor)
        if found is not None:
            tree, _ = found
            assert str(tree.root_node) == str(parser_for("python").parse(text.encode()).root_node)


@settings(max_examples=200, deadline=None)
@given(ODD, ODD)
def test_whole_text_replaced(before: str, after: str) -> None:
    documents = opened(before)
    snapshot = documents.change(URI, change_to(documents.get(URI), after)).after
    assert snapshot.lines == reference_split(after)
    assert snapshot.size == len(after)


@given(ODD, positions, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_positions_round_trip(text: str, position: types.Position, encoding: str) -> None:
    lines = split_lines(text)
    place = to_place(lines, position, encoding)
    assert to_place(lines, to_position(lines, place, encoding), encoding) == place
    assert sum(map(len, lines[: place[0]])) + place[1] == reference_offset(text, position, encoding)


PLACES = [
    # line, units, encoding, column
    ("a😀b\n", 1, "utf-16", 1),
    ("a😀b\n", 2, "utf-16", 1),  # between the two halves
    ("a😀b\n", 3, "utf-16", 2),
    ("a😀b\n", 99, "utf-16", 3),
    ("a😀b\r\n", 99, "utf-8", 3),
    ("a😀b\n", 3, "utf-8", 1),  # inside the four bytes
    ("é→\n", 2, "utf-8", 1),
    ("é→\n", 3, "utf-8", 1),
    ("é→\n", 5, "utf-8", 2),
    ("a\u2028b\x0cc\n", 4, "utf-16", 4),
    ("a😀b", 2, "utf-32", 2),
    ("", 7, "utf-16", 0),
]


@pytest.mark.parametrize(("line", "units", "encoding", "column"), PLACES)
def test_columns(line: str, units: int, encoding: str, column: int) -> None:
    assert to_place([line, ""], types.Position(0, units), encoding) == (0, column)


def test_half_a_surrogate_pair_keeps_the_columns() -> None:
    snapshot = opened("x = '\ud83d' + y\n").get(URI)
    assert text_of(snapshot) == "x = '\ufffd' + y\n"


def check_kinds(text: str, steps: list[tuple[str, EditKind]]) -> None:
    """Each step is the whole next text; the change is what differs."""
    documents = opened(text)
    for after, kind in steps:
        snapshot = documents.change(URI, change_to(documents.get(URI), after)).after
        assert (after, snapshot.last_edit) == (after, kind)


INS, DEL, UNDO = EditKind.INSERTION, EditKind.DELETION, EditKind.UNDO
KINDS = [
    ("typing", "", [("a", INS), ("ab", INS), ("ab\n", INS)]),
    ("backspace", "ab\ncd", [("ab\nc", DELETION := DEL), ("ab\n", DELETION)]),
    ("paste, undo, redo", "x", [("x long()", INS), ("x", UNDO), ("x long()", UNDO), ("x", UNDO)]),
    ("delete a word, undo", "alpha beta", [("alpha ", DEL), ("alpha beta", UNDO)]),
    ("typed again after backspace", "a", [("ab", INS), ("a", UNDO), ("ab", INS)]),
    ("newline typed again", "a:", [("a:\n    ", INS), ("a:", UNDO), ("a:\n    ", INS)]),
    ("replacement", "foo", [("bar", INS)]),
    ("selection deleted by typing over it", "foo(bar)", [("foo(x)", INS)]),
    ("nothing changed", "foo", [("foob", INS), ("foob", INS)]),
]


@pytest.mark.parametrize(("text", "steps"), [case[1:] for case in KINDS], ids=[case[0] for case in KINDS])
def test_kind_of_edit(text: str, steps: list[tuple[str, EditKind]]) -> None:
    check_kinds(text, steps)


RETYPED = change_to(opened("def f():\n    retur\n").get(URI), "def f():\n    return\n")
CURSORS = [
    ("one typed character", "ab\ncd\n", TextChange("x", (1, 1), (1, 1)), (1, 2)),
    ("a line break", "def f():\n", TextChange("\n    ", (0, 8), (0, 8)), (1, 4)),
    ("a bracket the editor closed", "print\n", TextChange("()", (0, 5), (0, 5)), (0, 6)),
    ("a deletion", "abc\n", TextChange("", (0, 1), (0, 2)), (0, 1)),
    (
        "the whole text",
        "def f():\n    retur\n",
        change_to(opened("def f():\n    retur\n").get(URI), "def f():\n    return\n"),
        (1, 10),
    ),
    ("past the end", "ab", TextChange("c", (0, 2), (0, 2)), (0, 3)),
    ("after an emoji", "'😀'\n", TextChange("😀x", (0, 2), (0, 2)), (0, 4)),
]


@pytest.mark.parametrize(("text", "change", "place"), [case[1:] for case in CURSORS], ids=[case[0] for case in CURSORS])
def test_cursor_after_a_change(text: str, change: TextChange, place: tuple[int, int]) -> None:
    assert opened(text).change(URI, change).after.cursor == place


def test_changes_of_one_notification_refer_to_each_other() -> None:
    documents = opened("a\n")
    for column, text in enumerate("bc", 1):
        documents.apply(URI, TextChange(text, (0, column), (0, column)))
    snapshot = documents.settle(URI).after
    assert text_of(snapshot) == "abc\n"
    assert snapshot.last_edit is EditKind.INSERTION


def test_a_line_break_whose_indentation_is_removed_is_no_deletion() -> None:
    documents = opened("    return 1\n")
    documents.apply(URI, TextChange("\n    ", (0, 12), (0, 12)))
    documents.apply(URI, TextChange("", (1, 0), (1, 4)))
    assert documents.settle(URI).after.last_edit is EditKind.INSERTION


def test_a_snapshot_never_changes() -> None:
    documents = opened("a\n")
    before = documents.get(URI)
    after = documents.change(URI, TextChange("b", (0, 1), (0, 1))).after
    assert (text_of(before), text_of(after)) == ("a\n", "ab\n")
    assert after.version > before.version


def test_opened_twice_stays_open_until_closed_twice() -> None:
    documents = opened("one")
    documents.open(URI, "python", "two")
    assert not documents.close(URI)
    assert text_of(documents.get(URI)) == "two"
    assert documents.close(URI)
    assert documents.get(URI) is None
    assert documents.close(URI)


def numbered_functions(count: int) -> str:
    return "".join(f"def f{n}(a, é):\n    return a + {n}\n\n" for n in range(count))


def excerpt_around(snapshot: Snapshot, place: Place) -> tuple[str, int]:
    """The text of the tree at `place`, and the number of its first line; the tree must be that of this text."""
    tree, offset = snapshot.syntax.at(snapshot.lines, place)
    text = "".join(snapshot.lines).encode()
    at = len("".join(snapshot.lines[: place[0]]).encode()) + len(snapshot.lines[place[0]][: place[1]].encode())
    excerpt = text[at - offset : at - offset + tree.root_node.end_byte]
    assert str(tree.root_node) == str(parser_for("python").parse(excerpt).root_node)
    return excerpt.decode(), text[: at - offset].count(b"\n")


def test_a_long_file_has_a_tree_of_what_is_around_the_cursor() -> None:
    documents = opened(numbered_functions(7000))
    for number in range(60):
        at = (10_000, 4 + number)
        snapshot = documents.change(URI, TextChange("x", at, at)).after
    excerpt, first = excerpt_around(snapshot, snapshot.cursor)
    assert "    xxxx" in excerpt
    assert 9_000 < first < 10_000
    assert excerpt.count("\n") < 1_000
    assert excerpt.startswith("def ")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_an_excerpt_follows_edits_before_in_and_behind_it(data: st.DataObject) -> None:
    documents = opened(numbered_functions(1500))
    text = st.text("ab(\n)é \U0001f600", max_size=30)
    for _ in range(6):
        lines = documents.get(URI).lines
        row = data.draw(st.integers(600, 1500))
        start = (row, min(data.draw(st.integers(0, 5)), len(lines[row]) - 1))
        end = (row + data.draw(st.integers(0, 400)), 0)
        snapshot = documents.change(URI, TextChange(data.draw(text), start, max(start, end))).after
        if data.draw(st.booleans()):
            excerpt_around(snapshot, (data.draw(st.integers(0, len(snapshot.lines) - 1)), 0))


def test_lone_carriage_returns_have_no_tree_but_lines() -> None:
    snapshot = opened("def f():\r    return 1\r").get(URI)
    assert snapshot.lines == ("def f():\r", "    return 1\r", "")
    assert snapshot.syntax.at(snapshot.lines, (0, 0)) is None
