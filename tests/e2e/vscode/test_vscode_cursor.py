"""Where the cursor comes to rest, as the server is told. A server stands in for infill-ls."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from driver.stand_in import log_of, program
from driver.workbench import Workbench

STEPS = 20
BETWEEN = 0.03  # seconds between two steps, so that the editor sees each of them
PAUSE = 1.0  # seconds after which a cursor that does not move has come to rest, also on a busy machine

Told = Callable[[], list[tuple[str, int, int]]]


@pytest.fixture
def told(code: Workbench, scratch: Path) -> Told:
    """What was told since this was last asked, once the cursor rests: file, line, character."""
    return listening(code, scratch, "resting")


def listening(code: Workbench, scratch: Path, name: str) -> Told:
    server = program(scratch / name, says=name)
    code.configure(serverPath=server)
    code.wait_for_model(name)
    seen = 0

    def told() -> list[tuple[str, int, int]]:
        nonlocal seen
        time.sleep(PAUSE)
        params, versions = [], {}
        for message in log_of(server):
            document = message.get("params", {}).get("textDocument") if message.get("params") else None
            if message.get("method") in ("textDocument/didOpen", "textDocument/didChange"):
                versions[document["uri"]] = document["version"]
            elif message.get("method") == "infill/cursor":
                assert document["version"] == versions[document["uri"]]
                params.append(message["params"])
        new, seen = params[seen:], len(params)
        places = [(each["textDocument"]["uri"].rpartition("/")[2], each["position"]) for each in new]
        return [(name, position["line"], position["character"]) for name, position in places]

    return told


def test_a_moving_cursor_is_told_where_it_comes_to_rest(code: Workbench, told: Told) -> None:
    code.open("moving.py", "│x" + "\n" * (STEPS + 1))
    assert told()[-1] == ("moving.py", 0, 0)
    for _ in range(STEPS):
        code.press("ArrowDown")
        time.sleep(BETWEEN)
    code.until(lambda: code.cursor() == f"Ln {STEPS + 1}, Col 1", "the last line", code.cursor)
    *steps, last = told()
    assert len(steps) < STEPS / 2  # none but for a machine that stalls
    assert last == ("moving.py", STEPS, 0)
    assert last not in steps
    assert told() == []


def test_typing_is_not_told_and_moving_between_is(code: Workbench, told: Told) -> None:
    code.open("typing.py", "x = '😀é'; │\ny\n")
    told()
    code.type_text("a")
    assert told() == []
    code.type_text("b")
    code.press("Backspace")
    assert told() == []
    code.press("ArrowLeft")
    assert told() == [("typing.py", 0, 11)]  # in UTF-16 units
    code.press("ArrowRight")  # where the last change was
    assert told() == [("typing.py", 0, 12)]
    code.press("Delete")
    told()
    code.press("ArrowDown")
    code.press("Shift+ArrowLeft")
    assert told() == []
    code.press("ArrowLeft")
    assert len(told()) == 1


def test_a_server_that_is_started_later_is_told(code: Workbench, scratch: Path) -> None:
    code.open("later.py", "x\n│y\n")
    assert listening(code, scratch, "later")() == [("later.py", 1, 0)]


def test_another_file_is_told_and_one_that_is_switched_off_is_not(code: Workbench, told: Told) -> None:
    one = code.open("one.py", "│x\n")
    two = code.folder / "two.py"
    two.write_text("x\n")
    code.show(two)
    assert told()[-1] == ("two.py", 0, 0)
    code.show(one)
    assert told() == [("one.py", 0, 0)]
    code.configure(languages={"python": False})
    code.press("ArrowRight")
    assert told() == []
