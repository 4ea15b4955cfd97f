"""A text as an editor knows it: offsets in characters, positions in the units agreed on, and edits that can be undone.

Lines end with \\n or \\r\\n here, so a line starts after each \\n.
"""

from dataclasses import dataclass, field
from typing import Any

REMEMBERED = 400  # edits that can be undone

_UNITS = {
    "utf-8": lambda text: len(text.encode()),
    "utf-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "utf-32": len,
}
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@dataclass(frozen=True, slots=True)
class Edit:
    """`new` takes the place of `old`, which begins at the offset `start`."""

    start: int
    old: str
    new: str

    @property
    def reversed(self) -> "Edit":
        return Edit(self.start, self.new, self.old)


@dataclass(slots=True)
class Document:
    """An open document. `cursor` is an offset."""

    uri: str
    language: str
    text: str
    newline: str = "\n"
    version: int = 0
    cursor: int = 0
    done: list[Edit] = field(default_factory=list)

    def apply(self, edit: Edit, *, remember: bool = True) -> None:
        """Apply an edit and put the cursor after it."""
        end = edit.start + len(edit.old)
        assert self.text[edit.start : end] == edit.old
        self.text = self.text[: edit.start] + edit.new + self.text[end:]
        self.cursor = edit.start + len(edit.new)
        if remember:
            self.done.append(edit)
            del self.done[:-REMEMBERED]


def position(text: str, offset: int, encoding: str) -> dict[str, int]:
    """Return the position of an offset, as the protocol writes it."""
    start = text.rfind("\n", 0, offset) + 1
    return {"line": text.count("\n", 0, offset), "character": _UNITS[encoding](text[start:offset])}


def offset(text: str, place: dict[str, Any], encoding: str) -> int:
    """Return the offset of a position that lies in the text."""
    start = 0
    for _ in range(place["line"]):
        start = text.index("\n", start) + 1
    end = text.find("\n", start)
    codec, width = _CODECS[encoding]
    line = text[start : len(text) if end < 0 else end].encode(codec)
    return start + len(line[: width * place["character"]].decode(codec))


def between_characters(text: str, at: int) -> int:
    """Return the offset, or the one before it if it lies inside \\r\\n."""
    return at - 1 if text[at - 1 : at + 1] == "\r\n" else at
