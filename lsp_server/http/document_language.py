"""The language of a document. Most protocols have no field for it, so it is inferred from what clients do send."""

import re
from collections import Counter
from collections.abc import Set as AbstractSet

from cachetools import LRUCache

from infill_engine.text.languages import language_of, recognise
from lsp_server.http.question import Pieces, Question

UNKNOWN = "plaintext"
REMEMBERED = 128  # pieces of files
LEAST_LINE_CHARS = 4  # of a line that tells one file from another
_COMMENT = re.compile(r"\W{1,8}language: ([\w+#-]+)")  # minuet puts it first


class DocumentLanguages:
    """Remembers the pieces of files that clients have sent.

    llama.vim names no path, but announces pieces of its files beforehand. A piece whose lines are in the document was
    cut from it.
    """

    def __init__(self) -> None:
        self._pieces: LRUCache[frozenset[str], str] = LRUCache(REMEMBERED)  # paths, by the lines of the piece

    def of(self, question: Question) -> str:
        """Return an LSP identifier, `plaintext` if nothing tells the language."""
        text = question.before + question.after
        for path, piece in question.pieces:
            if (lines := _lines(piece)) and language_of(path) is not None:
                self._pieces[lines] = path
        comment = _COMMENT.match(question.before)
        named = question.language or (comment[1] if comment else UNKNOWN)
        found = recognise(named, question.path or self._path_in(_lines(text)), text).language
        return _usual(question.pieces) if found == UNKNOWN else found

    def _path_in(self, lines: AbstractSet[str]) -> str:
        """Return the path of the newest piece of which at least half the lines are among these, "" without one."""
        newest_first = reversed(list(self._pieces.items()))
        return next((path for piece, path in newest_first if 2 * len(piece & lines) >= len(piece)), "")


def _lines(text: str) -> frozenset[str]:
    stripped = (line.strip() for line in text.splitlines())
    return frozenset(line for line in stripped if len(line) >= LEAST_LINE_CHARS)


def _usual(pieces: Pieces) -> str:
    languages = Counter(language for path, _ in pieces if (language := language_of(path)) is not None)
    return languages.most_common(1)[0][0] if languages else UNKNOWN
