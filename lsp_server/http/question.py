"""What every protocol asks for and what it gets, in our own terms."""

from dataclasses import dataclass

from infill_engine.edits.types import PastEdit
from infill_engine.settings import CHARACTERS
from infill_engine.types import Answer

Pieces = tuple[tuple[str, str], ...]  # of other files: path and text


@dataclass(frozen=True, slots=True)
class Question:
    """A request for the text between `before` and `after`.

    `path` is the document's own, as the client names it, and `language` an LSP identifier; "" if the client does not
    say. `pieces` are texts of other files, most relevant first. A candidate ends where one of `stops` begins.
    `budget_ms` is the client's time limit; None if it has none. If `sampled`, equal questions may get different
    answers. Questions about one document of one sender have the same `document`.

    With a `region`, the question is what the text between two offsets in `before + after` becomes, in characters, after
    the edits in `history`, oldest first. If no edit follows from them, it is the region with a candidate at the cursor.
    """

    before: str
    after: str
    path: str = ""
    language: str = ""
    pieces: Pieces = ()
    candidates: int = 1
    budget_ms: float | None = None
    stops: tuple[str, ...] = ()
    sampled: bool = False
    document: str = ""
    region: tuple[int, int] | None = None
    history: tuple[PastEdit, ...] = ()

    @property
    def announces(self) -> bool:
        """Whether it asks for nothing, and only announces what later questions will come with."""
        return not self.candidates and self.region is None


@dataclass(frozen=True, slots=True)
class Reply:
    """Candidates, best first, at most as many as were asked for. `answer` has the reason if there are none.

    For a question with a region, the only candidate is the region's new text.

    `tokens_read` estimates the length of the text around the cursor, and `tokens_most` what the engine reads of it.
    """

    texts: tuple[str, ...]
    answer: Answer
    elapsed_ms: float
    model: str
    tokens_read: int
    tokens_most: int


def estimated_tokens(characters: int) -> int:
    """Return how many tokens code of this length usually has. The server has no tokenizer."""
    return -(-characters * 4 // CHARACTERS)
