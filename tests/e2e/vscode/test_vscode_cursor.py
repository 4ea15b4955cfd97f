"""Where the cursor comes to rest, as the server is told. A server stands in for infill-ls."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from driver.stand_in import log_of, program
from driver.workbench import Workbench

STEPS = 20
BETWEEN = 0.03  # seconds between two steps, so that the editor sees each of them
PAUSE = 0.5  # seconds after which a cursor that does not move has come to rest

Told = Callable[..., list[tuple[str, int, int]]]


@pytest.fixture
def told(code: Workbench, scratch: Path) -> Told:
    """What was told since this was last asked, once the cursor rests: told(least) waits for so many places."""
    return listening(code, scratch, "resting")


def listening(code: Workbench, scratch: Path, name: str) -> Told:
    server = program(scratch / name, says=name)
    code.configure(serverPath=server)
    code.wait_for_model(name)
    seen = 0

    def told(least: int = 0) -> list[tuple[str, int, int]]:
        nonlocal seen
        code.until(lambda: len(places(server)) >= seen + least, f"{least} more places", lambda: places(server))
        time.sleep(PAUSE)
        all_of_them = places(server)
        new, seen = all_of_them[seen:], len(all_of_them)
        return new

    return told


def places(server: str) -> list[tuple[str, int, int]]:
    """All that a server was told: file, line, character. Each is of the newest version that it knew."""
    found, versions = [], {}
    for message in log_of(server):
        params = message.get("params") or {}
        document = params.get("textDocument")
        if message.get("method") in ("textDocument/didOpen", "textDocument/didChange"):
            versions[document["uri"]] = document["version"]
        elif message.get("method") == "infill/cursor":
            assert document["version"] == versions[document["uri"]]
            position = params["position"]
            found.append((document["uri"].rpartition("/")[2], position["line"], position["character"]))
    return found


def test_a_moving_cursor_is_told_where_it_comes_to_rest(code: Workbench, told: Told) -> None:
    code.open("moving.py", "│x" + "\n" * (STEPS + 1))
    assert told(1)[-1] == ("moving.py", 0, 0)
    for _ in range(STEPS):
        code.press("ArrowDown")
        time.sleep(BETWEEN)
    code.until(lambda: code.cursor() == f"Ln {STEPS + 1}, Col 1", "the last line", code.cursor)
    *steps, last = told(1)
    assert len(steps) < STEPS / 2  # none but for a machine that stalls
    assert last == ("moving.py", STEPS, 0)
    assert last not in steps
    assert told() == []


def test_typing_is_not_told_and_moving_between_is(code: Workbench, told: Told) -> None:
    code.open("typing.py", "x = '😀é'; │\ny\n")
    told(1)
    code.type_text("a")
    assert told() == []
    code.type_text("b")
    code.press("Backspace")
    assert told() == []
    code.press("ArrowLeft")
    assert told(1) == [("typing.py", 0, 11)]  # in UTF-16 units
    code.press("ArrowRight")  # where the last change was
    assert told(1) == [("typing.py", 0, 12)]
    code.press("Delete")
    told()
    code.press("ArrowDown")
    code.press("Shift+ArrowLeft")
    assert told() == []
    code.press("ArrowLeft")
    assert len(told(1)) == 1


def test_a_server_that_is_started_later_is_told(code: Workbench, scratch: Path) -> None:
    code.open("later.py", "x\n│y\n")
    assert listening(code, scratch, "later")(1) == [("later.py", 1, 0)]


def test_another_file_is_told_and_one_that_is_switched_off_is_not(code: Workbench, told: Told) -> None:
    one = code.open("one.py", "│x\n")
    two = code.folder / "two.py"
    two.write_text("x\n")
    told(1)
    code.show(two)
    assert told(1) == [("two.py", 0, 0)]
    code.show(one)
    assert told(1) == [("one.py", 0, 0)]
    code.configure(languages={"python": False})
    code.press("ArrowRight")
    assert told() == []
