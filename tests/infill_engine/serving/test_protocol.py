"""Frames survive the pipe; damaged, strange and oversized ones are survived."""

import asyncio
import io
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import msgpack, structs

from infill_engine.context.project_text import joined
from infill_engine.edits.types import Diagnostic, Edit, Kind, NextEditRequest, NextEdits, PastEdit, Proposal, Span
from infill_engine.errors import EngineError
from infill_engine.serving import frames
from infill_engine.serving.frames import decode, encode, read_frame
from infill_engine.serving.protocol import (
    Alive,
    Alternatives,
    Answered,
    Cancel,
    CanvasPreview,
    Failure,
    IndexProject,
    Infill,
    Message,
    NextEdit,
    Prefetch,
    PreviewRow,
    Proposed,
    SendPreviews,
    Shutdown,
    State,
    Status,
)
from infill_engine.settings import WindowSettings
from infill_engine.types import (
    AlternativesRequest,
    Answer,
    Candidate,
    Draft,
    Gap,
    Hole,
    HoleKind,
    Holes,
    InfillRequest,
    ProjectText,
    Reason,
    Source,
    Surroundings,
)
from lsp_server.engine_client.link import read_frame_async

HOLE = Hole(HoleKind.BLOCK, 6, "    ", ")]")
DRAFTS = (Draft("foo()\n", 12), Draft("", 0))
FULL = InfillRequest("x = '😀\u2028", "')\r\n", "python", HOLE, DRAFTS, 3, path="a.py", project_name="a name")
SEVERAL = AlternativesRequest("x", "y", "python", HOLE, Holes(("a", "b", "a"), (Gap(" = ", HOLE), Gap(" ", None, 0))))
PAST = PastEdit("a.py", "one\n", "two\n", "above\n")
NEXT = NextEditRequest("two\n😀\n", (0, 1), "python", "a.py", (PAST,), 3, (Diagnostic(1, "no such name"),), "a name")
PROPOSAL = Proposal((Edit(Span(4, 5, "😀"), "x"),), "change 1 line", 0.75, Kind.MODEL)
MESSAGES: list[Message] = [
    Infill(7, "file:///a.py", FULL, 12345.678901),
    Infill(0, "", InfillRequest("", ""), 0.0, late=True),
    Alternatives(3, "d", SEVERAL, 1.0),
    NextEdit(4, "d", NEXT, 1.0),
    Proposed(4, NextEdits((PROPOSAL,))),
    Proposed(5, NextEdits(reason=Reason.UNSUPPORTED)),
    Answered(3, Answer((Candidate("a = b a", 0.5, fills=("a", "b", "a"), gain=0.25),))),
    Prefetch("untitled:1", Surroundings("a", "b", path="a.py")),
    IndexProject(ProjectText("text = 1\r\n", "a name")),
    IndexProject(joined([("a.py", "one = 1\n"), ("b/c.py", "two = 2\n")])),
    Cancel(7),
    SendPreviews(7),
    Shutdown(),
    Alive(),
    CanvasPreview(
        7,
        0,
        (PreviewRow(("😀", ""), ("draft", "open"), (0.5, 0.0), Source.RETRIEVAL), PreviewRow((), (), (), Source.MODEL)),
    ),
    Status(State.LOADING, "reading weights", 0.5),
    Status(State.READY, "", 1.0, "default", "cpu", WindowSettings(70, 30, wants_project=True)),
    Answered(
        7, Answer((Candidate("y)", 0.5, True, 3, Source.RETRIEVAL), Candidate("", 0.0)), None, 1.5, 2.5, 4.0, True)
    ),
    Answered(8, Answer(reason=Reason.SUPERSEDED)),
    Failure(9, "The engine met an unexpected KeyError."),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_every_message_survives(message: Message) -> None:
    frame = encode(message)
    payload = read_frame(io.BytesIO(frame))
    assert payload is not None
    assert decode(payload) == message


def test_what_lies_beyond_the_windows_survives_too() -> None:
    """It is no part of what makes two requests equal."""
    request = replace(FULL, wider_context=("before\r\n", "😀 after"))
    payload = read_frame(io.BytesIO(encode(Infill(7, "d", request, 1.0))))
    message = decode(payload)
    assert isinstance(message, Infill)
    assert message.request.wider_context == request.wider_context


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    payload = read_frame(io.BytesIO(encode(Infill(1, "d", InfillRequest("half \ud83d of a pair", ""), 1.0))))
    assert decode(payload) == Infill(1, "d", InfillRequest("half \ufffd of a pair", ""), 1.0)


@pytest.mark.parametrize("fields", [{"expires_at": float("nan")}, {"id": -1}, {"document": "d" * 20_000}], ids=str)
def test_what_is_out_of_bounds_is_no_message(fields: dict[str, object]) -> None:
    assert decode(encode(structs.replace(MESSAGES[0], **fields))[4:]) is None


@pytest.mark.parametrize("candidates", [0, -1, 10**9])
def test_a_number_of_candidates_out_of_bounds_is_no_message(candidates: int) -> None:
    assert decode(encode(Infill(1, "d", replace(FULL, candidates=candidates), 1.0))[4:]) is None
    assert decode(encode(Alternatives(1, "d", replace(SEVERAL, candidates=candidates), 1.0))[4:]) is None


def test_too_many_edits_and_holes_are_no_message() -> None:
    assert decode(encode(NextEdit(1, "d", replace(NEXT, history=(PAST,) * 65), 1.0))[4:]) is None
    assert decode(encode(Alternatives(1, "d", replace(SEVERAL, holes=Holes(("a",) * 1025)), 1.0))[4:]) is None


@given(st.data())
@settings(max_examples=400)
def test_a_frame_that_was_cut_or_changed_is_no_reason_to_fail(data: st.DataObject) -> None:
    payload = bytearray(encode(data.draw(st.sampled_from(MESSAGES)))[4:])
    del payload[data.draw(st.integers(0, len(payload))) :]
    for _ in range(data.draw(st.integers(0, 4)) if payload else 0):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    decode(bytes(payload))


STRANGE = [
    b"",
    b"\xc1",
    b"not msgpack at all",
    msgpack.encode([1, 2]),
    msgpack.encode({"id": 3}),
    msgpack.encode({"type": "from the future", "id": 3}),
    msgpack.encode({"type": "cancel", "id": 3, "unheard of": True}),
    msgpack.encode({"type": "infill", "id": 1, "document": "d", "request": 5, "expires_at": 0.0}),
    msgpack.encode({"type": "answer", "id": 1, "answer": {"reason": "no such reason", "candidates": []}}),
    msgpack.encode({"type": ["unhashable"]}),
]


@pytest.mark.parametrize("payload", STRANGE)
def test_strange_payloads_are_no_messages(payload: bytes) -> None:
    assert decode(payload) is None


def test_frames_in_a_row_and_a_truncated_one() -> None:
    stream = io.BytesIO(encode(Cancel(1)) + encode(Shutdown()) + encode(Cancel(2))[:-1])
    assert [decode(read_frame(stream)), decode(read_frame(stream))] == [Cancel(1), Shutdown()]
    assert read_frame(stream) is None


def test_an_oversized_frame_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    large = encode(Failure(1, "x" * 5000))
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 1000)
    stream = io.BytesIO(large + encode(Cancel(2)))
    assert decode(read_frame(stream)) is None
    assert decode(read_frame(stream)) == Cancel(2)
    with pytest.raises(EngineError, match="limit"):
        encode(Failure(1, "x" * 5000))


async def test_the_asyncio_reader_agrees() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b"".join(map(encode, MESSAGES)) + b"\0\0")
    reader.feed_eof()
    for message in MESSAGES:
        assert decode(await read_frame_async(reader)) == message
    assert await read_frame_async(reader) is None
