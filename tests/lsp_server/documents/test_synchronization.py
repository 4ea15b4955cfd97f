"""Whatever a client does to a document, over the wire and in any encoding, the server holds the client's text."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bench.soak.fuzz.conversation import Conversation
from bench.soak.fuzz.documents import ENCODINGS, Naive

TEXTS = st.lists(st.sampled_from([*'ab(:" \t\x0b\x0c\x85\u2028é→\u0301😀𝒳', "\n", "\r\n", "\r"]), max_size=16).map(
    "".join
)
POSITIONS = st.fixed_dictionaries({"line": st.integers(0, 8), "character": st.integers(0, 14)})
CHANGES = st.lists(st.tuples(POSITIONS, POSITIONS, TEXTS), min_size=1, max_size=3)


@pytest.fixture(params=ENCODINGS)
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Conversation, str]]:
    with Conversation(request.param) as made:
        yield made, request.param


def test_the_server_holds_the_clients_text(server: tuple[Conversation, str]) -> None:
    numbers = iter(range(10_000_000))

    class Client(RuleBasedStateMachine):
        """One document in one server, and the text that the client has."""

        @initialize(text=TEXTS, language=st.sampled_from(["python", "c", "plaintext"]))
        def begin(self, text: str, language: str) -> None:
            self.wire, encoding = server
            self.uri, self.language = f"file:///project/{next(numbers)}", language
            self.naive, self.version = Naive(encoding, text), 0
            self.earlier: list[str] = []
            self.is_open = False
            self.open()

        @precondition(lambda self: not self.is_open)
        @rule()
        def open(self) -> None:
            item = {"uri": self.uri, "languageId": self.language, "version": 0, "text": self.naive.text}
            self.wire.say({"method": "textDocument/didOpen", "params": {"textDocument": item}})
            self.is_open = True

        @precondition(lambda self: self.is_open)
        @rule()
        def close(self) -> None:
            self.wire.say({"method": "textDocument/didClose", "params": {"textDocument": {"uri": self.uri}}})
            self.is_open = False

        @precondition(lambda self: self.is_open)
        @rule(changes=CHANGES)
        def change(self, changes: list[tuple[dict[str, int], dict[str, int], str]]) -> None:
            self.earlier.append(self.naive.text)
            events = []
            for first, second, new in changes:
                start, end = sorted(self.naive.offset(place["line"], place["character"]) for place in (first, second))
                self.naive.replace(start, end, new)
                events.append({"range": {"start": first, "end": second}, "text": new})
            self.send(events)

        @precondition(lambda self: self.is_open and self.earlier)
        @rule()
        def undo(self) -> None:
            self.naive.text = self.earlier.pop()
            self.send([{"text": self.naive.text}])

        def send(self, events: list[dict[str, Any]]) -> None:
            self.version += 1
            document = {"uri": self.uri, "version": self.version}
            params = {"textDocument": document, "contentChanges": events}
            self.wire.say({"method": "textDocument/didChange", "params": params})

        @invariant()
        def texts_are_equal(self) -> None:
            assert self.wire.text(self.uri) == (self.naive.text if self.is_open else None)

        def teardown(self) -> None:
            if self.is_open:
                self.close()

    run_state_machine_as_test(
        Client, settings=settings(max_examples=60, stateful_step_count=20, deadline=None, derandomize=True)
    )
