"""Late answers: what the engine finds after an answer that showed nothing, or that continues what is shown.

A client that can ask again is told where to ask. It then gets the late answer. What is shown is never replaced by
another text.
"""

from dataclasses import dataclass

from lsprotocol import types

from infill_engine.types import Answer
from lsp_server.documents.snapshots import Snapshot
from lsp_server.protocol.messages import LATE_ANSWER
from lsp_server.protocol.positions import Place
from lsp_server.protocol.wire import WireProtocol
from lsp_server.suggestions.answers import worth_showing
from lsp_server.suggestions.completions import Insertion, Reply
from lsp_server.suggestions.request_builder import RequestBuilder
from lsp_server.suggestions.unasked import unasked


@dataclass(eq=False, slots=True)
class LateAnswers:
    """Tells the client where a late answer waits, and remembers where it was told so last."""

    requests: RequestBuilder
    protocol: WireProtocol
    _told: tuple[Snapshot, Place, bool] | None = None  # where, and whether the user had asked

    def listener(self, insertion: Insertion, position: types.Position, *, invoked: bool) -> "LateListener | None":
        """Return what waits for late answers; None if the client wants none, or shows a list of its own here."""
        if not self.requests.engine.takes_late or not insertion.is_plain:
            return None
        return LateListener(self, insertion, position, invoked)

    def was_told(self, insertion: Insertion) -> bool | None:
        """Return whether the user had asked for the late answer of which the client was told here.

        The result is None if it was told of none.
        """
        snapshot, start, invoked = self._told or (None, None, False)
        return invoked if (snapshot, start) == (insertion.snapshot, insertion.start) else None

    def tell(self, insertion: Insertion, position: types.Position, *, invoked: bool) -> None:
        """Tell the client to ask again."""
        snapshot = insertion.snapshot
        self._told = (snapshot, insertion.start, invoked)
        place = {"uri": snapshot.uri, "version": snapshot.client_version, "position": position}
        self.protocol.notify(LATE_ANSWER, place)

    def forget(self) -> None:
        """Forget the last place: it keeps a document's text in memory."""
        self._told = None


@dataclass(slots=True, eq=False)
class LateListener:
    """Waits for what is found after one reply. `position` is where the client asked, `invoked` whether the user did."""

    answers: LateAnswers
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
        requests, snapshot = self.answers.requests, self.insertion.snapshot
        if not self.invoked:
            answer = unasked(requests, *self.insertion.where, self.insertion.lead, answer)
        candidates = worth_showing(answer, unsure=self.invoked).candidates
        if self._shown is None or not candidates or not requests.workspace.documents.is_newest(snapshot):
            return False
        text = candidates[0].text
        if text == self._shown or not text.startswith(self._shown):
            return False
        self._shown = text
        self.answers.tell(self.insertion, self.position, invoked=self.invoked)
        return True
