"""Next edits for clients of Zeta's, Sweep's and Mercury's models."""

from collections.abc import Callable
from typing import Any

import pytest
from clients import CURSOR, ZED
from http_server import Answer, Server, serving
from next_edit_clients import (
    CLOSE,
    CURSORTAB,
    OPEN,
    Edit,
    cursortab_mercury,
    cursortab_sweep,
    cursortab_zeta2,
    parts,
    zed_sweep,
    zed_zeta2,
)

PATH = "src/shapes.py"
EDIT = Edit(PATH, "def area(width, height):\n", "def area(w, height):\n", "", '    """The area."""\n')
SHAPES = '''def area(w, height):│
    """The area."""
    return width * height


def print_area():
    print("width")
'''
RENAMED = SHAPES.replace("return width", "return w")
PLACE = "\n\ny = 1\nx = │\nz = 2\n"


def between(text: str, first: str, last: str) -> str:
    """The text with its region marked: from a first line to before a last one."""
    start, end = text.index(first), text.index(last)
    return text[:start] + OPEN + text[start:end] + CLOSE + text[end:]


def streamed(answer: Answer) -> str:
    return "".join(event["choices"][0]["text"] for event in answer.events)


def whole(answer: Answer) -> str:
    found = answer.json
    assert {"id", "object", "created", "model", "usage"} <= set(found)  # Zed fails without any of them
    return str(found["choices"][0]["text"])


def chatted(answer: Answer) -> str:
    """The lines that cursortab puts in the place of the old ones."""
    content = answer.json["choices"][0]["message"]["content"]
    if content == "None":
        return ""
    assert content.startswith("```\n")
    assert content.endswith("\n```")
    return str(content[4:-4]) + "\n"


COMPLETIONS = "/v1/completions"
CLIENTS: dict[str, tuple[str, Callable[..., bytes], dict[str, str], Callable[[Answer], str]]] = {
    "Zed, Zeta 2": (COMPLETIONS, zed_zeta2, ZED, whole),
    "cursortab, Zeta 2": (COMPLETIONS, cursortab_zeta2, CURSORTAB, streamed),
    "cursortab, Mercury": ("/v1/edit/completions", cursortab_mercury, ZED, chatted),
}
every_client = pytest.mark.parametrize("client", CLIENTS)


def region_after(server: Server, client: str, marked: str, *edits: Edit) -> str:
    path, request, headers, read = CLIENTS[client]
    answer = server.send("POST", path, request(PATH, marked, *edits), headers)
    assert answer.status == 200, answer.body
    return read(answer)


@every_client
def test_an_exact_next_edit(server: Server, client: str) -> None:
    marked = between(SHAPES, "def area", "\n\ndef print_area")
    assert region_after(server, client, marked, EDIT) == parts(between(RENAMED, "def area", "\n\ndef print"))[
        1
    ].replace(CURSOR, "")


@every_client
def test_what_is_outside_the_region_follows_when_the_client_asks_there(server: Server, client: str) -> None:
    text = SHAPES.replace(CURSOR, "").replace('("width', '(│"width') + "z = 2\n"
    assert region_after(server, client, between(text, "\n\ndef print", "z = 2"), EDIT) == ""
    there = text.replace(CURSOR, "").replace("    return", "│    return")
    assert (
        region_after(server, client, between(there, "│    return", "\n\ndef print"), EDIT) == "    return w * height\n"
    )


@every_client
def test_a_completion_where_no_edit_follows(server: Server, client: str) -> None:
    text = SHAPES.replace(CURSOR, "") + PLACE
    assert region_after(server, client, between(text, "y = 1", "z = 2")) == "y = 1\nx = alpha(1)\n"


@every_client
def test_nothing(server: Server, client: str) -> None:
    text = SHAPES.replace(CURSOR, "") + PLACE.replace("x =", "nothing =")
    assert region_after(server, client, between(text, "y = 1", "z = 2")) == ""


@every_client
def test_several_edits_and_other_files(server: Server, client: str) -> None:
    text = SHAPES.replace("height)", "h)").replace("width *", "w *")
    edits = (
        Edit("src/other.py", "X = 1\n", "X = 2\n"),
        EDIT,
        Edit(PATH, "    return width * height\n", "    return w * height\n", '    """The area."""\n'),
        Edit(PATH, "def area(w, height):\n", "def area(w, h):\n", "", '    """The area."""\n'),
    )
    assert "return w * h\n" in region_after(server, client, between(text, "def area", "\n\ndef print"), *edits)


@every_client
def test_an_undone_edit_has_no_consequences(server: Server, client: str) -> None:
    text = SHAPES.replace("(w,", "(width,")
    back = Edit(PATH, EDIT.new, EDIT.old, EDIT.above, EDIT.below)
    assert region_after(server, client, between(text, "def area", "\n\ndef print"), EDIT, back) == ""


def test_sweep_from_cursortab(server: Server) -> None:
    """It writes the lines before the cursor's itself, so the answer begins at the cursor's line."""
    asked = cursortab_sweep(PATH, between(SHAPES.removesuffix("\n"), "def area", "\n\ndef print"), EDIT)
    answer = streamed(server.send("POST", COMPLETIONS, asked, CURSORTAB))
    assert answer == parts(between(RENAMED, "def area", "\n\ndef print"))[1].replace(CURSOR, "")
    text = SHAPES.replace(CURSOR, "") + PLACE.removesuffix("\n")
    asked = cursortab_sweep(PATH, between(text, "def area", "z = 2"))
    assert streamed(server.send("POST", COMPLETIONS, asked, CURSORTAB)) == "x = alpha(1)\n"


def test_sweep_from_zed(server: Server) -> None:
    """It tells neither the cursor nor whether the window ends with a line break, so nothing is offered."""
    now = SHAPES.replace(CURSOR, "")
    asked = zed_sweep(PATH, now.replace(EDIT.new, EDIT.old), now, EDIT)
    assert whole(server.send("POST", COMPLETIONS, asked, ZED)) == ""


def test_the_setting_for_next_edits(folder: Any) -> None:
    with serving(folder, settings={"nextEdits": False}) as server:
        server.ready()
        marked = between(SHAPES, "def area", "\n\ndef print_area")
        assert region_after(server, "Zed, Zeta 2", marked, EDIT) == ""


def test_feedback_and_other_messages_of_mercury_s_clients(server: Server) -> None:
    told = {"request_id": "r", "provider_name": "cursortab-nvim", "user_action": "accept", "provider_version": "1"}
    assert server.post("/feedback", told).status == 200
    assert 'infill_http_events_total{type="accept"} 1.0' in server.get("/metrics").body.decode()
    for messages in ([], [{"role": "user", "content": "Hello"}]):
        assert server.post("/v1/edit/completions", {"model": "m", "messages": messages}).status == 400
