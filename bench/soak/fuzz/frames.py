"""Bytes for the engine's decoder, and the messages that it makes of them for the shared engine.

The decoder returns a message or None and raises nothing. Whatever message it returns, the shared engine takes it.
"""

import asyncio
import io
import random
from collections.abc import Callable
from typing import Any

import msgspec

from bench.soak.fuzz.values import changed, damaged, value
from infill_engine.edits.types import NextEditRequest, PastEdit
from infill_engine.engine.engine import Engine
from infill_engine.serving.frames import decode, encode, read_frame
from infill_engine.serving.protocol import (
    Alive,
    Alternatives,
    Answered,
    Cancel,
    Failure,
    Hello,
    IndexProject,
    Infill,
    Measure,
    Message,
    NextEdit,
    Prefetch,
    SendPreviews,
    Shutdown,
    State,
    Status,
    Welcome,
)
from infill_engine.serving.shared_engine import SharedEngine
from infill_engine.types import (
    AlternativesRequest,
    Answer,
    Candidate,
    Draft,
    Hole,
    HoleKind,
    InfillRequest,
    ProjectText,
    Surroundings,
)
from lsp_server.engine_client.link import read_frame_async

_HOLE = Hole(HoleKind.BLOCK, 6, "    ", ")]")
_REQUEST = InfillRequest("x = '😀\u2028", "')\r\n", "python", _HOLE, (Draft("foo()\n", 12),), 3, project_name="a name")
MESSAGES: tuple[Message, ...] = (
    Infill(7, "file:///a.py", _REQUEST, 12345.5),
    Infill(8, "d", InfillRequest("", ""), 0.0),
    Alternatives(9, "d", AlternativesRequest("", ""), 0.0),
    NextEdit(10, "d", NextEditRequest("a\n", (0, 1), "python", "a.py", (PastEdit("a.py", "b\n", "a\n"),)), 0.0),
    Prefetch("untitled:1", Surroundings("x", "y")),
    IndexProject(ProjectText("text = 1\r\n", "a name")),
    Cancel(7),
    SendPreviews(7),
    Shutdown(),
    Hello(1, "0.1.0"),
    Welcome(1),
    Measure(),
    Alive(),
    Status(State.READY, "", 1.0, "default", "cpu"),
    Answered(7, Answer((Candidate("y)", 0.5),))),
    Failure(9, "The engine met an unexpected KeyError."),
)
_FRAMES = tuple(encode(message) for message in MESSAGES)
_VALUES = tuple(msgspec.msgpack.decode(frame[4:]) for frame in _FRAMES)
RENEWED = 500  # messages, then the shared engine is replaced


class Frames:
    """Feeds frames to a decoder and a shared engine without a model. `taken` counts the messages that were decoded."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.taken = 0
        self._renew()

    def once(self) -> None:
        """Decode one odd input. Raises whatever should not be raised."""
        how = self._rng.randrange(4)
        if how == 0:
            self._decode(damaged(self._rng.choice(_FRAMES)[4:], self._rng))
        elif how == 1:
            self._decode(_packed(changed(self._rng.choice(_VALUES), self._rng)))
        elif how == 2:
            self._decode(_packed(value(self._rng)))
        else:
            self._stream()

    def _decode(self, payload: bytes) -> None:
        message = decode(payload)
        if message is None:
            return
        self.taken += 1
        encode(message)
        self._shared.receive(self._client, message)
        if self.taken % RENEWED == 0:
            self._renew()

    def _stream(self) -> None:
        """Frames in a row, some of which lie about their length."""
        stream = b"".join(self._frame() for _ in range(self._rng.randint(1, 4)))
        frames = io.BytesIO(stream)
        while (payload := read_frame(frames)) is not None:
            self._decode(payload)
        self._read_async(stream)

    def _frame(self) -> bytes:
        frame = self._rng.choice(_FRAMES)
        if self._rng.random() < 0.5:
            return frame
        length = self._rng.choice((0, 1, len(frame), len(frame) - 5, 2**16, 2**23, 2**31, 2**32 - 1))
        return length.to_bytes(4, "big") + damaged(frame[4:], self._rng)

    def _read_async(self, stream: bytes) -> None:
        async def read() -> None:
            reader = asyncio.StreamReader()
            reader.feed_data(stream)
            reader.feed_eof()
            while (payload := await read_frame_async(reader)) is not None:
                decode(payload)

        if self._rng.random() < 0.05:  # an event loop costs more than all the rest
            asyncio.run(read())

    def _renew(self) -> None:
        self._shared = SharedEngine(_no_engine)
        self._client = self._shared.join(_drop)


def _no_engine(_progress: Callable[[str, float], None]) -> Engine:
    raise AssertionError("nobody runs this engine")


def _drop(_message: Message) -> None:
    pass


def _packed(whole: Any) -> bytes:
    try:
        return msgspec.msgpack.encode(whole)
    except (OverflowError, UnicodeEncodeError):
        return b"\xc1"
