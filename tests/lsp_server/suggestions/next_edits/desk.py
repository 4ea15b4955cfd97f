"""A document whose edits are logged, typed into as an editor would."""

import asyncio

from lsp_server.documents.snapshots import Documents, Snapshot, TextChange
from lsp_server.suggestions.next_edits.bursts import place_at
from lsp_server.suggestions.next_edits.log import EditLog
from lsp_server.suggestions.next_edits.search import Found, NextEditSearch
from lsp_server.suggestions.next_edits.shown import ShownProposal

URI = "file:///project/a.py"


PROGRAM = """def area(width, height):
    return width * height


class Box:
    def __init__(self, size, colour):
        self.size = size
        self.colour = colour

    def grow(self, by):
        self.size = self.size + by
        return area(self.size, by)


box = Box(1, "light grey")
other = Box(2, "light grey")
"""


class Desk:
    """A document being edited. Seconds pass only when told to."""

    def __init__(self, text: str = PROGRAM, language: str = "python") -> None:
        self.documents = Documents()
        self.log = EditLog()
        self.edits = NextEditSearch(self.log, lambda uri: uri.rpartition("/")[2], pause_seconds=0)
        self.documents.open(URI, language, text)
        self.seconds = 1000.0

    @property
    def snapshot(self) -> Snapshot:
        found = self.documents.get(URI)
        assert found is not None
        return found

    @property
    def text(self) -> str:
        return "".join(self.snapshot.lines)

    def change(self, *changes: tuple[int, int, str]) -> None:
        """The changes of one notification, each in the text that the one before leads to."""
        self.edit(URI, *changes)

    def edit(self, uri: str, *changes: tuple[int, int, str]) -> None:
        """The same in any document."""
        self.seconds += 2
        for start, end, new in changes:
            before = self.documents.get(uri)
            assert before is not None
            change = TextChange(new, place_at(before.lines, start), place_at(before.lines, end))
            self.documents.apply(uri, change)
        self.log.changed(self.documents.settle(uri, arrived=self.seconds))

    def replace(self, old: str, new: str, count: int = 1) -> None:
        """Replace the first `old`, at most `count` characters at a time."""
        start = self.text.index(old)
        self.change((start, start + len(old), ""))
        for at in range(0, len(new), count):
            self.change((start + at, start + at, new[at : at + count]))

    def ask(self) -> Found:
        return asyncio.run(self.edits.ask(self.snapshot, None))

    def accept(self, shown: ShownProposal) -> None:
        edits = sorted(shown.proposal.edits, reverse=True)
        self.change(*((edit.span.start, edit.span.end, edit.new) for edit in edits))


def labels(found: Found) -> list[str]:
    return [shown.proposal.label for shown in found.proposals]
