"""The engine of a model that a server runs: the server makes the proposals, the rest is as for every engine."""

from collections.abc import Iterator

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import Watch
from infill_engine.engine.engine import Engine
from infill_engine.engine.remote.address import KEY_VARIABLE, read_address
from infill_engine.engine.remote.dialects import Question
from infill_engine.engine.remote.server import Server, Text
from infill_engine.ranking.calibration import BUILT_IN
from infill_engine.sampling.proposals import Proposals, unscored
from infill_engine.settings import USUAL_WINDOW, SamplerSettings, WindowSettings
from infill_engine.types import Draft, Hole, InfillRequest, Proposal, Surroundings

MOST_TOKENS, MOST_TOKENS_OF_LINES = 48, 160
UNTOLD_LOGPROB = -0.5  # of a token, if the server does not report it; set by hand
CHARACTERS = 4  # in a token, approximately


class RemoteEngine(Engine):
    """A model that a server runs."""

    def __init__(self, name: str, server: Server) -> None:
        settings = SamplerSettings()
        super().__init__(name, BUILT_IN, FinishMargin(settings.finish_margin_ms))
        self._server = server
        self._temperature = settings.temperature

    @classmethod
    def load(cls, name: str, key_variable: str = KEY_VARIABLE) -> "RemoteEngine":
        """Return the engine with that name. Sends nothing yet: a server that is down may come up. Raises InputError."""
        return cls(name, Server(read_address(name), key_variable))

    @property
    def device(self) -> str:
        """See `Engine`."""
        return self._server.address.place

    @property
    def window(self) -> WindowSettings:
        """See `Engine`. docs/models.md says how much is sent."""
        return USUAL_WINDOW

    def warm(self, request: InfillRequest, deadline: Deadline) -> None:
        """Do nothing: no text leaves this machine before an answer is needed."""

    def surround(self, surroundings: Surroundings) -> Iterator[None]:  # noqa: ARG002
        """Do nothing, for the same reason."""
        return iter(())

    def small_pass(self) -> None:
        """Return nothing: no pass runs on this machine."""

    def _propose(
        self,
        request: InfillRequest,
        hole: Hole,
        drafts: tuple[Draft, ...],
        deadline: Deadline,
        _watch: Watch | None = None,  # there are no steps to watch
    ) -> Proposals:
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
        reply = self._server.ask(questions, deadline, self.finish_margin.predict_ms())
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
