"""Late answers: what the engine finds after an answer that showed nothing, or that continues what is shown.

A client that can ask again is told where to ask. It then gets the late answer. What is shown is never replaced by
another text.
"""

from dataclasses import dataclass

from infill_engine.types import Answer
from lsp_server.client_state import ClientState
from lsp_server.engine_client.pending import OnLate
from lsp_server.protocol.messages import LATE_ANSWER
from lsp_server.protocol.positions import to_position
from lsp_server.protocol.wire import WireProtocol
from lsp_server.suggestions.request_builder import Insertion, RequestBuilder
from lsp_server.suggestions.unasked import unasked, worth_showing


@dataclass(eq=False, slots=True)
class LateAnswers:
    """Tells the client where a late answer waits, and remembers where it was told so last."""

    requests: RequestBuilder
    protocol: WireProtocol
    client: ClientState
    _told: "LateAnswer | None" = None

    def at(self, insertion: Insertion, *, invoked: bool) -> "LateAnswer":
        """Return what may follow the reply at a place where the client asks. `invoked`: the user asks it to."""
        # The client may show a list of its own where more than a candidate is inserted.
        wanted = self.requests.engine.takes_late and insertion.is_plain
        told = self._told if self._told is not None and self._told.is_at(insertion) else None
        explicit = invoked or (told is not None and told.explicit)
        return LateAnswer(self, insertion, explicit, told is not None, wanted)

    def tell(self, late: "LateAnswer") -> None:
        """Tell the client to ask again."""
        self._told = late
        snapshot, start = late.insertion.snapshot, late.insertion.start
        position = to_position(snapshot.lines, start, self.client.can.encoding)
        place = {"uri": snapshot.uri, "version": snapshot.client_version, "position": position}
        self.protocol.notify(LATE_ANSWER, place)

    def forget(self) -> None:
        """Forget the last place, which would keep the text of a closed document in memory."""
        self._told = None


@dataclass(slots=True, eq=False)
class LateAnswer:
    """What may follow the reply to one request.

    `explicit`: the user asked, now or before the client was told to ask again. `again`: the client was told to.
    `wanted`: it wants to be told.
    """

    answers: LateAnswers
    insertion: Insertion
    explicit: bool
    again: bool
    wanted: bool
    shown: str | None = None  # the first candidate that the client shows, "" for none; None before it has a reply

    @property
    def on_late(self) -> OnLate | None:
        """What gets the late answers; None if the client wants none."""
        return self.found if self.wanted else None

    def is_at(self, insertion: Insertion) -> bool:
        """Return whether the client asks at the same place of the same text."""
        return (insertion.snapshot, insertion.start) == (self.insertion.snapshot, self.insertion.start)

    def replied(self, answer: Answer) -> None:
        """The client keeps what it gets in this answer."""
        if self.shown is None:
            self.shown = answer.candidates[0].text if answer.candidates else ""

    def found(self, answer: Answer) -> bool:
        """Tell the client, and return True, if a late answer is worth showing in the place of what is shown."""
        requests, snapshot = self.answers.requests, self.insertion.snapshot
        if not self.explicit:
            answer = unasked(requests, self.insertion, answer)
        candidates = worth_showing(answer, explicit=self.explicit).candidates
        if self.shown is None or not candidates or not requests.workspace.documents.is_newest(snapshot):
            return False
        text = candidates[0].text
        if text == self.shown or not text.startswith(self.shown):
            return False
        self.shown = text
        self.answers.tell(self)
        return True
