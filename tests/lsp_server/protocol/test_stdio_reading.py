"""Reading messages while the event loop is busy."""

import asyncio
import os
import time
from io import BytesIO

import pytest

from infill_engine.budget.deadline import now
from lsp_server.protocol import stdio
from lsp_server.protocol.stdio import MessageReader

BODY = b"x" * 100_000


async def message(reader: MessageReader) -> bytes:
    length = int((await reader.readline()).split(b":")[1])
    assert await reader.readline() == b"\r\n"
    return await reader.readexactly(length)


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def test_when_messages_came_that_the_loop_was_too_busy_for() -> None:
    into, out = os.pipe()
    with os.fdopen(into, "rb") as stdin, os.fdopen(out, "wb", buffering=0) as client:
        times: list[float] = []
        reader = MessageReader(stdin, times.append)
        client.write(framed(b"edit"))
        assert await message(reader) == b"edit"
        client.write(framed(b"request"))
        time.sleep(0.2)  # the edit is being handled
        handled = now()
        assert await message(reader) == b"request"
        assert times[0] <= times[1] < handled
        client.close()
        assert await reader.readline() == b""


async def test_messages_of_many_chunks_and_several_in_one() -> None:
    times: list[float] = []
    clock = iter(range(1000)).__next__
    reader = MessageReader(BytesIO(framed(BODY) + framed(b"one") + framed(b"two") + framed(BODY)), times.append, clock)
    assert [await message(reader) for _ in range(4)] == [BODY, b"one", b"two", BODY]
    assert times == [1, 1, 1, 3]
    assert await reader.readline() == b""


async def test_what_a_message_has_started_runs_before_the_next_is_returned() -> None:
    reader, order = MessageReader(BytesIO(framed(b"one") + framed(b"two")), lambda _moment: None), []

    async def start(body: bytes) -> None:
        order.append(body)

    started = []
    for _ in range(2):
        order.append(body := await message(reader))
        started.append(asyncio.create_task(start(body)))
    await asyncio.gather(*started)
    assert order == [b"one", b"one", b"two", b"two"]


async def test_a_client_that_sends_more_than_is_handled_has_to_wait() -> None:
    sent = 0

    class Endless:
        def read(self, size: int) -> bytes:
            nonlocal sent
            sent += size
            return framed(b"again") * (size // len(framed(b"again")))

    reader = MessageReader(Endless(), lambda _moment: None)  # type: ignore[arg-type]
    most = stdio.LARGEST_HEADER * 2 + stdio.CHUNK * (stdio.CHUNKS + 2)
    for _ in range(200):
        assert await message(reader) == b"again"
        await asyncio.to_thread(time.sleep, 0.001)
        assert sent <= most


@pytest.mark.parametrize("cut", [b"Content-Length: 9", framed(b"message")[:-3], framed(b"message")[:-7]])
async def test_the_end_within_a_message(cut: bytes) -> None:
    reader = MessageReader(BytesIO(cut), lambda _moment: None)
    line = await reader.readline()
    assert cut.startswith(line)
    if line.endswith(b"\n"):
        assert await reader.readline() == b"\r\n"
        assert len(await reader.readexactly(7)) < 7
    assert await reader.readline() == b""


async def test_a_message_that_cannot_be_held() -> None:
    reader = MessageReader(BytesIO(b""), lambda _moment: None)
    with pytest.raises(ValueError, match="bytes"):
        await reader.readexactly(stdio.LARGEST_MESSAGE + 1)
