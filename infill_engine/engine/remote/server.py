"""A remote server, sent several requests at once with one deadline, and not asked for a while after a fault."""

import http.client
import json
import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from infill_engine.budget.deadline import Clock, Deadline, now
from infill_engine.engine.remote.address import KEY_VARIABLE, Address
from infill_engine.engine.remote.dialects import FimRequest, dialect_of
from infill_engine.engine.remote.faults import MalformedAnswerError, RefusedError, described
from infill_engine.engine.remote.streams import LARGEST_LINE, Connections, Stream
from infill_engine.errors import InputError

POLL_SECONDS = 0.005  # between two checks whether the answer is still wanted
MOST_TIMEOUTS = 3  # consecutive deadlines without any text, after which the server counts as too slow
BACKOFF_SECONDS, MOST_BACKOFF_SECONDS = 1.0, 60.0  # pause after a fault; doubled after each further one
MOST_TIMEOUT_BACKOFF_SECONDS = 8.0
LISTING_SECONDS = 5.0
LASTING_FAULTS = (400, 401, 403, 404, 405, 422, 501)  # these last until someone fixes them
_KEY = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Text:
    """A received text. `complete` is False if the deadline or the server cut it off."""

    text: str
    logprobs: tuple[float, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Received:
    """The texts received by the deadline, in the order of the requests, and a message for the user, "" if none."""

    texts: tuple[Text, ...] = ()
    user_message: str = ""


@dataclass(eq=False)
class Server:
    """The server at an address. One caller at a time. Raises InputError for an invalid key."""

    address: Address
    key_variable: str = KEY_VARIABLE
    clock: Clock = now
    _faults: int = 0  # consecutive
    _timeouts: int = 0
    _retry_at: float = 0.0
    _user_message: str = ""
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self._dialect = dialect_of(self.address)
        self._connections = Connections(self.address)
        self._headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        key = os.environ.get(self.key_variable, "").strip()
        if key and not _KEY.fullmatch(key):
            raise InputError(f"the environment variable {self.key_variable} holds no valid key: ASCII, no blanks")
        if not key and self.key_variable != KEY_VARIABLE:
            raise InputError(
                f"the environment variable {self.key_variable}, which is to hold the key for {self.address.place}, is "
                "not set where infill-ls runs; set it and start the editor from there"
            )
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    def ask(self, requests: Sequence[FimRequest], deadline: Deadline, finish_margin_ms: float) -> Received:
        """Send all requests at once. Returns when all are answered, or `finish_margin_ms` before the deadline."""
        if self.clock() < self._retry_at:
            return Received(user_message=self._user_message)
        streams = self._run(requests, deadline, finish_margin_ms)
        if deadline.cancelled():
            return Received()
        while not any(stream.text for stream in streams) and _refused_details(streams) and self._dialect.simplify():
            streams = self._run(requests, deadline, finish_margin_ms)
        texts = tuple(Text(stream.text, stream.logprobs, stream.complete) for stream in streams if stream.text)
        failed = next((stream for stream in streams if stream.fault is not None), None)
        if texts or any(stream.complete for stream in streams):
            self._faults = self._timeouts = 0
            return Received(texts)
        if failed is not None and failed.fault is not None:
            why = described(failed.fault, self.address, self.key_variable)
            return self._back_off(why, _wanted_backoff(failed), MOST_BACKOFF_SECONDS)
        self._timeouts += 1
        if self._timeouts < MOST_TIMEOUTS:
            return Received()
        return self._back_off(
            f"{self.address.place} has not answered in time {MOST_TIMEOUTS} times in a row. Raise the settings "
            "budgetMs and explicitBudgetMs, or choose a smaller model or a nearer server.",
            0.0,
            MOST_TIMEOUT_BACKOFF_SECONDS,
        )

    def models(self) -> list[str]:
        """Return the names of the models that the server lists. Raises InputError that says what is wrong."""
        connection = self._connections.new(LISTING_SECONDS)
        try:
            connection.request("GET", f"{self.address.path}/models", headers=self._headers)
            response = connection.getresponse()
            if response.status != http.client.OK:
                raise RefusedError(response.status)
            return [str(model["id"]) for model in json.loads(response.read(LARGEST_LINE))["data"]]
        except (OSError, http.client.HTTPException, RefusedError) as fault:
            raise InputError(described(fault, self.address, self.key_variable)) from fault
        except (ValueError, TypeError, LookupError) as fault:
            raise InputError(described(MalformedAnswerError(), self.address, self.key_variable)) from fault
        finally:
            connection.close()

    def _run(self, requests: Sequence[FimRequest], deadline: Deadline, finish_margin_ms: float) -> list[Stream]:
        streams = [
            Stream(self._connections, self._dialect, self._headers, request, deadline, self._stream_changed)
            for request in requests
        ]
        for stream in streams:
            stream.start()
        with self._changed:
            while deadline.allows(finish_margin_ms) and not all(
                stream.finished or stream.complete for stream in streams
            ):
                self._changed.wait(POLL_SECONDS)
        for stream in streams:
            stream.end()
        return streams

    def _stream_changed(self) -> None:
        with self._changed:
            self._changed.notify()

    def _back_off(self, why: str, seconds: float, most: float) -> Received:
        self._faults += 1
        self._retry_at = self.clock() + max(seconds, min(most, BACKOFF_SECONDS * 2 ** min(self._faults - 1, 10)))
        self._user_message = f"infill-ls: {why} Until then only copies from your files are offered."
        return Received(user_message=self._user_message)


def _refused_details(streams: Sequence[Stream]) -> bool:
    """Return whether the server may have refused a detail of the request rather than the request."""
    return any(stream.status in (400, 422) for stream in streams)


def _wanted_backoff(failed: Stream) -> float:
    """Return seconds of pause that a server requests, or that its fault is sure to last."""
    if failed.retry_after.isdecimal():
        return min(float(failed.retry_after), MOST_BACKOFF_SECONDS)
    return MOST_BACKOFF_SECONDS / 2 if failed.status in LASTING_FAULTS else 0.0
