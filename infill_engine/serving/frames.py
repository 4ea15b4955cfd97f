"""Messages as msgpack frames on a socket or a pipe.

A frame is its length as four big-endian bytes, then a msgpack map whose "type" names the message. The reader skips a
frame that is damaged, too large, out of bounds or of an unknown type.
"""

import math
import struct
from typing import Any, BinaryIO

import msgspec

from infill_engine.errors import EngineError
from infill_engine.serving.protocol import Alternatives, Infill, Message, NextEdit

MAX_FRAME_BYTES = 8 * 1024 * 1024
MOST_CANDIDATES, MOST_HOLES, MOST_DRAFTS, MOST_EDITS = 64, 1024, 1024, 64  # of one request
_LENGTH = struct.Struct(">I")
_encoder = msgspec.msgpack.Encoder()
_decoder: "msgspec.msgpack.Decoder[Message]" = msgspec.msgpack.Decoder(Message)


def encode(message: Message) -> bytes:
    """Return the frame of a message, length included. Raises `EngineError` for one over `MAX_FRAME_BYTES`."""
    try:
        payload = _encoder.encode(message)
    except UnicodeEncodeError:  # half of a surrogate pair is invalid text, but no reason to leave a request unanswered
        payload = _encoder.encode(_without_surrogates(msgspec.to_builtins(message)))
    if len(payload) > MAX_FRAME_BYTES:
        raise EngineError(f"A message of {len(payload)} bytes is too large; the limit is {MAX_FRAME_BYTES}.")
    return _LENGTH.pack(len(payload)) + payload


def decode(payload: bytes | None) -> Message | None:
    """Return the message of a frame's payload; None if it is damaged, out of bounds or of an unknown type."""
    try:
        message = _decoder.decode(payload or b"")
    except (ValueError, RecursionError):  # of msgspec's errors, too
        return None
    return message if _in_bounds(message) else None


def read_frame(stream: BinaryIO) -> bytes | None:
    """Return the next payload of a blocking stream; b"" for a frame that is too large, None at the end."""
    if len(header := stream.read(_LENGTH.size)) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(header)
    if length > MAX_FRAME_BYTES:
        return b"" if _skip(stream, length) else None
    payload = stream.read(length)
    return payload if len(payload) == length else None


def _skip(stream: BinaryIO, length: int) -> bool:
    while length > 0 and (block := stream.read(min(length, 65536))):
        length -= len(block)
    return length == 0


def _in_bounds(message: Message) -> bool:
    """Return whether what a message asks for is limited. Its length alone does not limit a number."""
    match message:
        case Infill(request=request):
            few = 1 <= request.candidates <= MOST_CANDIDATES and len(request.drafts or ()) <= MOST_DRAFTS
        case Alternatives(request=request):
            holes = request.holes
            few = 1 <= request.candidates <= MOST_CANDIDATES
            few = few and max(len(holes.gaps), len(holes.replaced)) <= MOST_HOLES
        case NextEdit(request=request):
            few = len(request.history) <= MOST_EDITS and len(request.diagnostics) <= MOST_EDITS
        case _:
            return True
    return few and math.isfinite(message.expires_at)


def _without_surrogates(value: Any) -> Any:
    """Return the value with U+FFFD for each half of a surrogate pair. Lengths do not change."""
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in value)
    if isinstance(value, dict):
        return {key: _without_surrogates(each) for key, each in value.items()}
    return [_without_surrogates(each) for each in value] if isinstance(value, list | tuple) else value
