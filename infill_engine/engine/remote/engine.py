"""The worker's engine in place of a local model: the server makes the proposals, the rest is as for every engine."""

from collections.abc import Iterator

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.engine.answering import Answering
from infill_engine.engine.remote.address import KEY_VARIABLE, read_address
from infill_engine.engine.remote.dialects import Question
from infill_engine.engine.remote.server import Server, Text
from infill_engine.ranking.calibration import BUILT_IN
from infill_engine.sampling.proposals import Proposals, unscored
from infill_engine.settings import USUAL_WINDOW, SamplerSettings
from infill_engine.types import Answer, Draft, Hole, InfillRequest, Proposal, Surroundings

MOST_TOKENS, MOST_TOKENS_OF_LINES = 48, 160
UNTOLD_LOGPROB = -0.5  # of a token, if the server does not report it; set by hand
CHARACTERS = 4  # in a token, approximately


class RemoteEngine:
    """A remote engine, with the caches of a local one. Not thread-safe: one request at a time."""

    def __init__(self, name: str, server: Server) -> None:
        self.name = name
        self.device = server.address.place
        self.window = USUAL_WINDOW  # docs/models.md says how much is sent
        self.profile = ""  # nothing is computed here
        self.default_needs_ms = 0
        self.successor_options: tuple[str, ...] = ()
        self.holds_unused = False
        settings = SamplerSettings()
        self._server = server
        self._temperature = settings.temperature
        self._finish_margin = FinishMargin(settings.finish_margin_ms)
        self._answering = Answering(BUILT_IN, self._finish_margin)

    @classmethod
    def load(cls, name: str, key_variable: str = KEY_VARIABLE) -> "RemoteEngine":
        """Return the engine with that name. Sends nothing yet: a server that is down may come up. Raises InputError."""
        return cls(name, Server(read_address(name), key_variable))

    def answer(self, request: InfillRequest, deadline: Deadline, watch: object = None) -> Answer:  # noqa: ARG002
        """Return candidates with their timings, or the reason there are none. There are no steps to watch."""
        return self._answering.answer(request, deadline, self._propose)

    def warm(self, request: InfillRequest, deadline: Deadline) -> None:
        """Do nothing: no text leaves this machine before an answer is needed."""

    def deepen(self, request: InfillRequest, deadline: Deadline) -> None:
        """Do nothing: nobody has asked for that answer."""

    def surround(self, surroundings: Surroundings) -> Iterator[None]:  # noqa: ARG002
        """Do nothing, for the same reason."""
        return iter(())

    def small_pass(self) -> None:
        """Return nothing: no pass runs on this machine."""

    def _propose(self, request: InfillRequest, hole: Hole, drafts: tuple[Draft, ...], deadline: Deadline) -> Proposals:
        began = deadline.clock()
        one_line = hole.max_lines == 1
        most = MOST_TOKENS if one_line else MOST_TOKENS_OF_LINES
        questions = [
            Question(
                request.prefix.replace("\r\n", "\n"),
                request.suffix.replace("\r\n", "\n"),
                one_line,
                most,
                self._temperature if number else 0.0,
                number,
            )
            for number in range(request.candidates)
        ]
        reply = self._server.ask(questions, deadline, self._finish_margin.predict_ms())
        proposals = [*map(_proposal_of, reply.texts), *map(unscored, drafts)]
        whole = [text for text in reply.texts if text.whole]
        return Proposals(
            proposals if proposals or reply.user_message else None,
            denoise_ms=(deadline.clock() - began) * 1000,
            user_message=reply.user_message,
            final=len(whole) == len(questions),
        )


def _proposal_of(text: Text) -> Proposal:
    logprobs = text.logprobs or (UNTOLD_LOGPROB,)
    tokens = len(text.logprobs) or -(-len(text.text) // CHARACTERS)
    return Proposal(
        text.text,
        sum(logprobs) / len(logprobs),
        min(logprobs),
        tokens=tokens,
        partial=not text.whole,
        steps=tokens,
    )
