"""Files, lines and columns that exist and that do not. What stands left and right of the place is written with a │."""

import os
import sys
from pathlib import Path

import pytest

from infill_engine.errors import InputError
from infill_engine.types import Reason
from lsp_server.cli.place import NamedPlace, open_at


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/app.py:12:8", ("src/app.py", 12, 8)),
        ("app.py:1:1", ("app.py", 1, 1)),
        ("C:\\code\\app.py:3:4", ("C:\\code\\app.py", 3, 4)),
        ("C:app.py:3:4", ("C:app.py", 3, 4)),
        ("a:b.py:3:4", ("a:b.py", 3, 4)),
        ("with space.py:3:4", ("with space.py", 3, 4)),
        ("1:2:3", ("1", 2, 3)),
        ("app.py:0:0", ("app.py", 0, 0)),  # a place by its form; there is none there
    ],
)
def test_place_is_read_from_the_right(text: str, expected: tuple[str, int, int]) -> None:
    named = NamedPlace.parse(text)
    assert (named.path, named.line, named.column) == (Path(expected[0]), *expected[1:])


@pytest.mark.parametrize(
    "text",
    ["", "app.py", "app.py:3", ":3:4", "app.py:three:4", "app.py:-1:4", "app.py:1:", "app.py:1:1:", "app.py:١:١",
     "app.py:1:99999999999999999999", "C:\\app.py:3"],
)  # fmt: skip
def test_no_place(text: str) -> None:
    with pytest.raises(InputError, match="FILE:LINE:COL"):
        NamedPlace.parse(text)


@pytest.mark.parametrize(
    ("name", "data", "place", "expected"),
    [
        ("empty.py", b"", "1:1", "│"),
        ("one.py", b"x = 1", "1:1", "│x = 1"),
        ("one.py", b"x = 1", "1:6", "x = 1│"),
        ("lf.py", b"a\nbc\n", "2:2", "b│c\n"),
        ("lf.py", b"a\nbc\n", "3:1", "│"),
        ("crlf.py", b"a\r\nbc\r\nd", "2:3", "bc│\r\n"),
        ("cr.py", b"a\rbc\rd", "2:3", "bc│\r"),
        ("form_feed.py", b"a\x0cb\nc\n", "1:3", "a\x0c│b\n"),
        ("separator.py", "a\u2028b\nc\n".encode(), "1:4", "a\u2028b│\n"),
        ("next_line.py", "a\x85b\nc\n".encode(), "2:1", "│c\n"),
        ("emoji.py", "s = '😀' + \n".encode(), "1:11", "s = '😀' + │\n"),
        ("combining.py", "e\u0301x\n".encode(), "1:3", "e\u0301│x\n"),
        ("mark.py", b"\xef\xbb\xbfx = \n", "1:5", "x = │\n"),
        ("wide.py", "x = \n".encode("utf-16"), "1:5", "x = │\n"),
        ("latin.c", b"/* caf\xe9 */ \n", "1:12", "/* caf\xe9 */ │\n"),
        ("long.py", b"def f(a):\n    return a\n" * 10_000, "20000:12", "    return │a\n"),
        ("large.py", b"value = compute(1, 2)\n" * 240_000, "239999:17", "value = compute(│1, 2)\n"),
        (".env.example", b"KEY=\n", "1:5", "KEY=│\n"),
    ],
)  # fmt: skip
def test_place_in_a_file(in_folder: Path, name: str, data: bytes, place: str, expected: str) -> None:
    (in_folder / name).write_bytes(data)
    opened = open_at(NamedPlace.parse(f"{name}:{place}"))
    assert not isinstance(opened, Reason)
    row, column = opened.place
    line = opened.snapshot.lines[row]
    assert f"{line[:column]}│{line[column:]}" == expected


@pytest.mark.parametrize(
    ("name", "data", "place", "told"),
    [
        ("empty.py", b"", "2:1", "give a line from 1 to 1"),
        ("empty.py", b"", "1:2", "give a column from 1 to 1"),
        ("lf.py", b"a\nb\n", "4:1", "give a line from 1 to 3"),
        ("lf.py", b"a\nb\n", "0:1", "give a line from 1 to 3"),
        ("lf.py", b"abc\n", "1:0", "give a column from 1 to 4"),
        ("lf.py", b"abc\n", "1:5", "give a column from 1 to 4"),
        ("crlf.py", b"abc\r\n", "1:5", "give a column from 1 to 4"),
        ("emoji.py", "😀\n".encode(), "1:3", "give a column from 1 to 2"),
    ],
)
def test_no_such_line_or_column(in_folder: Path, name: str, data: bytes, place: str, told: str) -> None:
    (in_folder / name).write_bytes(data)
    with pytest.raises(InputError, match=told):
        open_at(NamedPlace.parse(f"{name}:{place}"))


def test_no_such_file(in_folder: Path) -> None:
    (in_folder / "folder.py").mkdir()
    for name, told in [
        ("missing.py", "does not exist"),
        ("folder.py", "not a regular file"),
        ("folder.py/missing/app.py", "does not exist"),
        ("n" * 300 + ".py", "cannot be read"),
        ("\0.py", "cannot be read|does not exist"),
    ]:
        with pytest.raises(InputError, match=told):
            open_at(NamedPlace.parse(f"{name}:1:1"))


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in the file system")
def test_a_pipe_is_not_waited_for(in_folder: Path) -> None:
    os.mkfifo(in_folder / "pipe.py")
    with pytest.raises(InputError, match="not a regular file"):
        open_at(NamedPlace.parse("pipe.py:1:1"))


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("program.py", b"\x7fELF\0\0", Reason.UNSUPPORTED),
        ("late.py", b"x = 1\n" * 20_000 + b"\0", Reason.UNSUPPORTED),
        ("noise.py", b"\xff\xfb\x01\x02", Reason.UNSUPPORTED),
        ("huge.py", b"x" * 20_000_001, Reason.UNSUPPORTED),
        (".env", b"KEY=\n", Reason.EXCLUDED),
        (".env.local", b"KEY=\n", Reason.EXCLUDED),
        ("server.pem", b"KEY=\n", Reason.EXCLUDED),
        (".ssh/config", b"Host \n", Reason.EXCLUDED),
    ],
)
def test_files_that_are_not_completed(in_folder: Path, name: str, data: bytes, expected: Reason) -> None:
    path = in_folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    assert open_at(NamedPlace.parse(f"{name}:1:1")) is expected


def test_an_excluded_file_is_not_read(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (".env", "app.py"):
        (in_folder / name).write_bytes(b"KEY=\n")
    read: list[str] = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path.name) or b"x\n")
    open_at(NamedPlace.parse(".env:1:1"))
    open_at(NamedPlace.parse("app.py:1:1"))
    assert read == ["app.py"]


def test_language_is_that_of_the_suffix(in_folder: Path) -> None:
    for name, language in [
        ("a.py", "python"),
        ("a.TS", "typescript"),
        ("Makefile", "plaintext"),
        ("a.odd", "plaintext"),
    ]:
        (in_folder / name).write_bytes(b"x\n")
        opened = open_at(NamedPlace.parse(f"{name}:1:1"))
        assert not isinstance(opened, Reason)
        assert opened.snapshot.language == language
