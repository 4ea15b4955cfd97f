"""A dispatch whose engine computes until the test lets it finish, so that every order is certain."""

import queue
import threading
from collections.abc import Iterator, Mapping

from infill_engine.budget.deadline import Deadline
from infill_engine.edits.types import NextEditRequest, NextEdits
from infill_engine.serving.dispatch import Dispatch
from infill_engine.serving.protocol import (
    Alive,
    Alternatives,
    Answered,
    Failure,
    IndexProject,
    Infill,
    Message,
    NextEdit,
    Prefetch,
    State,
    Status,
)
from infill_engine.settings import WindowSettings
from infill_engine.types import (
    AlternativesRequest,
    Answer,
    Candidate,
    Eagerness,
    InfillRequest,
    Level,
    ProjectText,
    Reason,
    Surroundings,
)

FAR = 1000.0  # seconds on the test's clock, which stands at 0
WAIT = 10  # seconds after which a test has failed
SECRET = "some of the user's code"


class HeldEngine:
    """Every call is put on `calls` and ends when told to, or when it is cancelled."""

    name, device, window, profile = "held", "cpu", WindowSettings(70, 30), "slowly"
    levels: Mapping[Eagerness, Level] = {}
    least_ms = 23.0  # which clients are told in tens

    def __init__(self) -> None:
        self.calls: queue.Queue[tuple[str, str]] = queue.Queue()
        self.finish = threading.Semaphore(0)
        self.done: list[str] = []
        self.searches = False
        self.finds = ["found"]
        self.awaited = False  # what the search goes on for
        self.show_from = 0.0

    def answer(self, request: InfillRequest, deadline: Deadline, observer: object = None) -> Answer:
        self._hold("answer", request, deadline)
        if request.prefix == "fault":
            raise KeyError(SECRET)
        if request.prefix == "out of memory":
            self.name = "smaller"
        if deadline.cancelled():
            return Answer(reason=Reason.CANCELLED)
        if request.prefix == "nothing in time":
            return Answer(reason=Reason.DEADLINE)
        return Answer(
            (Candidate(request.prefix + "!", 0.5),),
            incomplete_context=request.prefix == "incomplete",
            show_from=self.show_from,
        )

    def alternatives(self, request: AlternativesRequest, deadline: Deadline) -> Answer:
        self._hold("answer", request, deadline)
        if deadline.cancelled():
            return Answer(reason=Reason.CANCELLED)
        return Answer((Candidate(request.prefix + "!", 0.5),))

    def next_edits(self, request: NextEditRequest, deadline: Deadline) -> NextEdits:
        self._hold("next edit", Surroundings(request.text, ""), deadline)
        return NextEdits()

    def prefetch(self, around: Surroundings, deadline: Deadline) -> None:
        self._hold("prefetch", around, deadline)
        if around.prefix == "out of memory":
            self.name = "smaller"

    def continue_search(self, request: InfillRequest, deadline: Deadline, *, awaited: bool) -> Iterator[Answer]:
        self.awaited = awaited
        for text in self.finds if self.searches else ():
            self._hold("search", request, deadline)
            yield Answer((Candidate(text, 0.9),))

    def index_project(self, project_text: ProjectText) -> Iterator[None]:
        """As many pieces as the text has characters; a fault at an exclamation mark."""
        for character in project_text.text:
            self._hold("count", InfillRequest(character, ""), Deadline.after_ms(1e9))
            if character == "!":
                raise KeyError(SECRET)
            yield

    def _hold(self, kind: str, request: Surroundings, deadline: Deadline) -> None:
        self.calls.put((kind, request.prefix))
        while not self.finish.acquire(timeout=0.005):
            if deadline.cancelled():
                self.done.append(f"{request.prefix} cancelled")
                return
        self.done.append(request.prefix)


class Bench:
    """A dispatch with its compute thread, and what it sent."""

    def __init__(self, load: object = None) -> None:
        self.engine = HeldEngine()
        self.seconds = 0.0
        self.sent: queue.Queue[Message] = queue.Queue()
        self.answers: dict[int, list[object]] = {}
        self.dispatch = Dispatch(load or (lambda progress: self.engine), self._send, lambda: self.seconds)
        self.thread = threading.Thread(target=self.dispatch.run, daemon=True)
        self.thread.start()

    def _send(self, message: Message, _task: object) -> None:
        self.sent.put(message)

    def infill(
        self,
        request_id: int,
        prefix: str,
        document: str = "d",
        expires_at: float = FAR,
        background: bool = False,
        late: bool = False,
    ) -> None:
        if background:
            request = AlternativesRequest(prefix, "")
            self.dispatch.receive(Alternatives(request_id, document, request, expires_at))
        else:
            self.dispatch.receive(Infill(request_id, document, InfillRequest(prefix, ""), expires_at, late))

    def next_edit(self, request_id: int, text: str) -> None:
        request = NextEditRequest(text, (0, 1), "python", "", ())
        self.dispatch.receive(NextEdit(request_id, "d", request, FAR))

    def prefetch(self, prefix: str, document: str = "d") -> None:
        self.dispatch.receive(Prefetch(document, Surroundings(prefix, "")))

    def index_project(self, text: str) -> None:
        self.dispatch.receive(IndexProject(ProjectText.of(text)))

    def next_answer(self) -> tuple[int, object]:
        """The id of the next answer and its reason, or its first candidate's text."""
        while isinstance(message := self.sent.get(timeout=WAIT), Alive):
            pass
        if isinstance(message, Failure):
            return message.id, message.message
        assert isinstance(message, Answered)
        answer = message.answer
        return message.id, answer.reason or answer.candidates[0].text

    def next_call(self) -> tuple[str, str]:
        return self.engine.calls.get(timeout=WAIT)

    def statuses(self) -> list[State]:
        states = []
        while not states or states[-1] is State.LOADING:
            message = self.sent.get(timeout=WAIT)
            assert isinstance(message, Status)
            states.append(message.state)
        return states
