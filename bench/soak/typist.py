"""What somebody does in a window all day. Each change of a document is one keystroke.

Nothing is paced: the next key is pressed when the answers that a user would wait for are there, and at times sooner.
"""

import random
import re
import threading
from dataclasses import dataclass, field
from typing import Any

from bench.soak.corpus import File, pick
from bench.soak.editor_window import INLINE, Asked, EditorWindow
from bench.soak.texts import Document, Edit, between_characters
from lsp_server.protocol.messages import CANDIDATES, NEXT_EDIT

MOST_OPEN = 4
LARGEST = 120_000  # characters; a longer document is closed
WARMED = 6  # files of each language
CHECK_EVERY = 250  # keystrokes, then the texts are compared
HURRY = 0.12  # share of the keys that do not wait for the answer to the one before
TYPO = 0.03
CANCELS = (True, False)  # VS Code cancels what it no longer waits for, Neovim does not
MARKS = ("😀", "é", "→", "𝒳", "日本", "e\u0301", "👩‍💻", "\u200b", "ﬁ")
_WORD = re.compile(r"[A-Za-z_]\w{2,20}")


@dataclass
class Typist:
    """Works in one window until enough keys were pressed, or until told to stop."""

    window: EditorWindow
    corpus: dict[str, list[File]]
    seed: int
    stop: threading.Event = field(default_factory=threading.Event)
    _rng: random.Random = field(init=False)
    _checked: int = 0

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed * 1000 + self.window.number)

    def warm_up(self) -> None:
        """Open files of every language, ask and rename once in each: what is needed for that is loaded at first use."""
        for files in self.corpus.values():
            for file in files[:WARMED]:
                document = self.window.open(file, "\n")
                document.cursor = self._place(document)
                self.window.ask(document, invoked=True)
                self.rename(document)
                self.window.close_document(document)
        self.window.keystrokes = 0  # those of the day are counted

    def work(self, keystrokes: int) -> None:
        """Press so many keys."""
        while self.window.keystrokes < keystrokes and not self.stop.is_set():
            document = self._document()
            (act,) = self._rng.choices([one for one, _ in _ACTS], [share for _, share in _ACTS])
            act(self, document)
            if len(document.text) > LARGEST:
                self.window.close_document(document)
            if self.window.keystrokes - self._checked >= CHECK_EVERY:
                self._checked = self.window.keystrokes
                for each in self.window.documents.values():
                    self.window.check_text(each)
            self.window.settle()

    def _document(self) -> Document:
        """Return an open document, usually the last one."""
        documents = list(self.window.documents.values())
        if not documents:
            return self._open()
        return documents[-1] if self._rng.random() < 0.8 else self._rng.choice(documents)

    def _open(self) -> Document:
        document = self.window.open(pick(self.corpus, self._rng), self._rng.choice(("\n", "\n", "\r\n")))
        document.cursor = self._place(document)
        return document

    def retype(self, document: Document) -> None:
        """Delete one to three lines and type them again, with the help of what is suggested."""
        start, end = self._lines(document, self._rng.randint(1, 3))
        wanted = document.text[start:end]
        if not wanted or len(wanted) > 300:
            return
        self.window.edit(document, Edit(start, wanted, ""))
        self._ask(document, waits=True)
        self._type(document, wanted)

    def note(self, document: Document) -> None:
        """Type a line with characters that some encodings count differently, and take part of it back."""
        at = self._line_end(document)
        document.cursor = at
        text = "".join(self._rng.choice((*MARKS, "note ", "x = 1", "'", "#")) for _ in range(self._rng.randint(2, 8)))
        self._type(document, document.newline + text)
        self._backspace(document, self._rng.randint(1, len(text)))

    def rename(self, document: Document) -> None:
        """Change one word, and take or refuse the edits that follow from it."""
        words = list(_WORD.finditer(document.text))
        if not words:
            return
        found = self._rng.choice(words)
        document.cursor = found.end()
        self._backspace(document, min(len(found[0]), self._rng.randint(1, 4)))
        self._type(document, self._rng.choice(("_one", "ed", "X", "2", "_old_é")))
        for _ in range(self._rng.randint(1, 3)):
            asked = self.window.ask(document, NEXT_EDIT)
            if asked.pending.done.is_set() and not asked.pending.error and (edits := self.window.proposal_edits(asked)):
                if self._rng.random() < 0.3:
                    self.window.dismiss(document)
                    return
                self.window.edit(document, *edits)

    def paste(self, document: Document) -> None:
        """Paste some lines of another file."""
        lines = pick(self.corpus, self._rng).text.split("\n")
        first = self._rng.randrange(len(lines))
        text = document.newline.join(lines[first : first + self._rng.randint(1, 30)])
        document.cursor = self._place(document)
        self.window.edit(document, Edit(document.cursor, "", text))
        self._ask(document, waits=True)
        if self._rng.random() < 0.5:
            self.window.edit(document, document.done[-1].reversed)

    def undo(self, document: Document) -> None:
        """Take back everything that is remembered, key by key or at once."""
        edits = [edit.reversed for edit in reversed(document.done)]
        if self._rng.random() < 0.7:
            edits = edits[: self._rng.randint(1, 12)]
        del document.done[len(document.done) - len(edits) :]
        if edits and self._rng.random() < 0.5:
            self.window.edit(document, *edits, remember=False)
        else:
            for edit in edits:
                self.window.edit(document, edit, remember=False)
        self._ask(document, waits=True)
        if edits and self._rng.random() < 0.3:  # redo
            self.window.edit(document, edits[-1].reversed)

    def delete(self, document: Document) -> None:
        """Delete some lines, or some characters one by one."""
        start, end = self._lines(document, self._rng.randint(1, 8))
        if self._rng.random() < 0.5:
            self.window.edit(document, Edit(start, document.text[start:end], ""))
        else:
            document.cursor = end
            self._backspace(document, min(end - start, self._rng.randint(1, 15)))
        self._ask(document, waits=True)
        self.window.rest(document)

    def change_files(self, document: Document) -> None:
        """Close a file or open another."""
        if len(self.window.documents) >= MOST_OPEN or self._rng.random() < 0.3:
            self.window.close_document(document)
        else:
            self._open()

    def _type(self, document: Document, wanted: str) -> None:
        """Type at the cursor. A suggestion that is right is accepted at times, a wrong one seldom."""
        typed = 0
        while typed < len(wanted) and not self.stop.is_set():
            key = document.newline if wanted.startswith(document.newline, typed) else wanted[typed]
            if self._rng.random() < TYPO:
                self.window.edit(document, Edit(document.cursor, "", self._rng.choice("qwe;)")))
                self._ask(document)
                self._backspace(document, 1)
            self.window.edit(document, Edit(document.cursor, "", key))
            typed += len(key)
            asked = self._ask(document)
            item = self._accepted(asked, wanted[typed:]) if asked is not None else None
            if item is not None:
                text = item["insertText"]
                self.window.edit(document, Edit(document.cursor, "", text))
                self.window.accepted(item)
                if wanted.startswith(text, typed):
                    typed += len(text)
                else:
                    self.window.edit(document, document.done[-1].reversed)

    def _accepted(self, asked: Asked, wanted: str) -> dict[str, Any] | None:
        items = (asked.pending.result or {}).get("items" if asked.method == INLINE else "candidates") or ()
        right = [item for item in items if item["insertText"] and wanted.startswith(item["insertText"])]
        if right and self._rng.random() < 0.4:
            return dict(right[0])
        if items and self._rng.random() < 0.02 and "\n" not in items[0]["insertText"]:
            return dict(items[0])
        return None

    def _ask(self, document: Document, *, waits: bool | None = None) -> Asked | None:
        """Ask as the editors do after each key. Return what was asked, if its answer is there."""
        waits = self._rng.random() >= HURRY if waits is None else waits
        method = CANDIDATES if self._rng.random() < 0.05 else INLINE
        asked = self.window.ask(document, method, invoked=self._rng.random() < 0.1, waits=waits)
        if not waits and self._rng.choice(CANCELS):
            self.window.cancel(asked)
        return asked if waits and asked.pending.done.is_set() else None

    def _backspace(self, document: Document, count: int) -> None:
        for _ in range(count):
            if document.cursor == 0:
                return
            start = between_characters(document.text, document.cursor - 1)
            self.window.edit(document, Edit(start, document.text[start : document.cursor], ""))
            if self._rng.random() < 0.3:
                self._ask(document)

    def _place(self, document: Document) -> int:
        return between_characters(document.text, self._rng.randint(0, len(document.text)))

    def _line_end(self, document: Document) -> int:
        found = document.text.find(document.newline, self._place(document))
        return len(document.text) if found < 0 else found

    def _lines(self, document: Document, count: int) -> tuple[int, int]:
        """Return the offsets of some lines, without the last one's end."""
        start = document.text.rfind("\n", 0, self._place(document)) + 1
        end = start
        for _ in range(count):
            found = document.text.find(document.newline, end)
            if found < 0:
                return start, len(document.text)
            end = found + len(document.newline)
        return start, max(start, end - len(document.newline))


_ACTS = [
    (Typist.retype, 50),
    (Typist.note, 6),
    (Typist.rename, 12),
    (Typist.paste, 8),
    (Typist.undo, 8),
    (Typist.delete, 8),
    (Typist.change_files, 8),
]
