"""Edits as clients send them, in any encoding and with any line ends, beside a text kept in the simplest way."""

import random
import re
from dataclasses import dataclass
from typing import Any

from bench.soak.fuzz.conversation import Conversation

ENCODINGS = ("utf-8", "utf-16", "utf-32")
CHARACTERS = "ab(:\"' \t\x0b\x0c\x1c\x85\u2028é→\u0301日😀𝒳"
ENDS = ("\n", "\r\n", "\r")
LARGEST = 2_000  # characters; a larger text is replaced
LANGUAGES = ("python", "javascript", "markdown", "plaintext")
_ENDED = re.compile(r"\r\n|\r|\n")


@dataclass
class Naive:
    """A text, and where the positions of a client are in it. Slow and obvious."""

    encoding: str
    text: str

    def lines(self) -> list[str]:
        """Return the lines without their ends."""
        return _ENDED.split(self.text)

    def offset(self, line: int, units: int) -> int:
        """Return the offset of a position, clamped to the text and the line; one in a character is before it."""
        starts = [0, *(found.end() for found in _ENDED.finditer(self.text))]
        if line >= len(starts):
            return len(self.text)
        at, left = starts[line], units
        for character in self.lines()[line]:
            left -= _width(character, self.encoding)
            if left < 0:
                break
            at += 1
        return at

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace the text between two offsets."""
        self.text = self.text[:start] + new + self.text[end:]


def _width(character: str, encoding: str) -> int:
    if encoding == "utf-32":
        return 1
    return len(character.encode()) if encoding == "utf-8" else 1 + (character > "\uffff")


class DocumentFuzz:
    """Edits one document in one server, and compares its text with the naive one after each change."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.encoding = ENCODINGS[seed % len(ENCODINGS)]
        self._server = Conversation(self.encoding)
        self._number = self._version = 0
        self._before: list[str] = []  # texts to go back to
        self._open()

    def once(self) -> None:
        """Change the document. Raises AssertionError if the texts differ."""
        how = self._rng.random()
        if how < 0.02 or len(self._naive.text) > LARGEST:
            self._close()
            self._open()
            return
        if how < 0.1:
            events = [{"text": self._rng.choice(self._before) if self._before else ""}]
            self._naive.text = str(events[0]["text"])
        else:
            events = [self._event() for _ in range(self._rng.choice((1, 1, 1, 2, 3)))]
        self._version += self._rng.randint(1, 3)
        told = {"uri": self._uri, "version": self._version}
        self._server.say(
            {"method": "textDocument/didChange", "params": {"textDocument": told, "contentChanges": events}}
        )
        self._compare()
        if self._rng.random() < 0.2:
            self._before = [*self._before[-4:], self._naive.text]

    def close(self) -> None:
        """End the server."""
        self._server.__exit__(None, None, None)

    @property
    def _uri(self) -> str:
        return f"file:///project/fuzz_{self._number}"

    def _open(self) -> None:
        self._number += 1
        self._version = 0
        self._naive = Naive(self.encoding, self._text(80))
        item = {
            "uri": self._uri,
            "languageId": self._rng.choice(LANGUAGES),
            "version": 0,
            "text": self._naive.text,
        }
        self._server.say({"method": "textDocument/didOpen", "params": {"textDocument": item}})
        self._compare()

    def _close(self) -> None:
        self._server.say({"method": "textDocument/didClose", "params": {"textDocument": {"uri": self._uri}}})
        assert self._server.text(self._uri) is None, "a closed document is held"

    def _event(self) -> dict[str, Any]:
        first, second = self._position(), self._position()
        if self._rng.random() < 0.7:  # a short range
            second = {**first, "character": first["character"] + self._rng.choice((0, 0, 1, 4))}
        start, end = sorted(self._naive.offset(place["line"], place["character"]) for place in (first, second))
        new = self._text(self._rng.choice((0, 1, 1, 3, 20)))
        self._naive.replace(start, end, new)
        return {"range": {"start": first, "end": second}, "text": new}

    def _position(self) -> dict[str, int]:
        lines = self._naive.lines()
        line = self._rng.randint(0, len(lines)) + (self._rng.random() < 0.02) * 1000
        longest = 2 * len(lines[line]) + 2 if line < len(lines) else 3
        return {"line": line, "character": self._rng.randint(0, longest)}

    def _text(self, longest: int) -> str:
        parts = (*CHARACTERS, *ENDS, *ENDS)
        return "".join(self._rng.choice(parts) for _ in range(self._rng.randint(0, longest)))

    def _compare(self) -> None:
        snapshot = self._server.session.workspace.documents.get(self._uri)
        assert snapshot is not None, "an open document is not held"
        assert "".join(snapshot.lines) == self._naive.text, "another text than the client's"
        assert len(snapshot.lines) == len(self._naive.lines()), "other lines than the client's"
        assert snapshot.size == len(self._naive.text), "another size than the client's"
