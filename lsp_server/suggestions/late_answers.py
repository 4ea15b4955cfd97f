"""Late answers: what the engine finds after an answer that showed nothing, or that continues what is shown.

A client that can ask again is told where; it asks, and gets the late answer. What is shown is never replaced by another
text.
"""

from dataclasses import dataclass

from lsprotocol import types

from infill_engine.types import Answer
from lsp_server.protocol.messages import LATE_ANSWER
from lsp_server.session import Session
from lsp_server.suggestions.answers import worth_showing
from lsp_server.suggestions.completions import Insertion, Reply, without_typed_past


@dataclass(slots=True, eq=False)
class LateWatch:
    """Waits for what is found after one reply. `position` is where the client asked, `invoked` whether the user did."""

    session: Session
    insertion: Insertion
    position: types.Position
    invoked: bool
    _shown: str | None = None  # the first candidate, "" if there was none; None until the client keeps what it got

    def replied(self, reply: Reply) -> None:
        """The client gets this reply."""
        candidates = reply.answer.candidates
        self._shown = candidates[0].text if candidates else ""

    def __call__(self, answer: Answer) -> bool:
        """Tell the client, and return True, if an answer is worth showing in the place of what is shown."""
        session, snapshot = self.session, self.insertion.snapshot
        wanted = answer if self.invoked else without_typed_past(session, self.insertion, answer)
        candidates = worth_showing(wanted, unsure=self.invoked).candidates
        if self._shown is None or not candidates or session.documents.get(snapshot.uri) is not snapshot:
            return False
        text = candidates[0].text
        if text == self._shown or not text.startswith(self._shown):
            return False
        self._shown = text
        session.told_late = (snapshot, self.insertion.start, self.invoked)
        place = {"uri": snapshot.uri, "version": snapshot.client_version, "position": self.position}
        session.protocol.notify(LATE_ANSWER, place)
        return True


def late_watch(session: Session, insertion: Insertion, position: types.Position, *, invoked: bool) -> LateWatch | None:
    """Return what waits for late answers; None if the client does not want any, or shows a list of its own here."""
    if not session.engine.takes_late or insertion.start != insertion.end or insertion.lead:
        return None
    return LateWatch(session, insertion, position, invoked)


def was_told(session: Session, insertion: Insertion) -> bool | None:
    """Return None if the client was not told of a late answer here, and else whether the user had asked for it."""
    snapshot, start, invoked = session.told_late or (None, None, False)
    return invoked if (snapshot, start) == (insertion.snapshot, insertion.start) else None
