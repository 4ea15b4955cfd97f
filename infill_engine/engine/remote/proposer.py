"""A model that a server runs, as the engine uses it: the server makes the proposals, the rest is as for every model."""

from infill_engine.budget.work import AskLimit, Costs, Job
from infill_engine.engine.remote.dialects import FimRequest
from infill_engine.engine.remote.server import Server, Text
from infill_engine.sampling.proposals import Proposals, unscored
from infill_engine.sampling.proposer import Capabilities, Proposer
from infill_engine.settings import TEMPERATURE
from infill_engine.types import ONE_HOLE, Draft, Hole, Holes, ProposedText, TextRequest

MAX_TOKENS, MAX_TOKENS_OF_LINES = 48, 160
DEFAULT_LOGPROB = -0.5  # of a token, if the server does not report it; set by hand
CHARACTERS_PER_TOKEN = 4  # in a token, approximately


class RemoteProposer(Proposer):
    """Asks a server. It prefetches nothing: no text leaves this machine before an answer is needed.

    docs/models.md says how much is sent.
    """

    def __init__(self, server: Server) -> None:
        self.costs = Costs()
        self._server = server

    @property
    def can(self) -> Capabilities:
        """See `Proposer`."""
        return Capabilities(self._server.address.place)

    def propose(
        self,
        request: TextRequest,
        hole: Hole,
        drafts: tuple[Draft, ...],
        holes: Holes = ONE_HOLE,  # noqa: ARG002
    ) -> Job[Proposals]:
        """Return the server's texts and the retrieved ones. There are no steps to watch."""
        limit = yield AskLimit()
        began = limit.deadline.clock()
        one_line = hole.max_lines == 1
        most = MAX_TOKENS if one_line else MAX_TOKENS_OF_LINES
        fim_requests = [
            FimRequest(
                request.prefix.replace("\r\n", "\n"),
                request.suffix.replace("\r\n", "\n"),
                one_line,
                most,
                TEMPERATURE if number else 0.0,
                number,
            )
            for number in range(request.candidates)
        ]
        reply = self._server.ask(fim_requests, limit.deadline, limit.finish_ms)
        proposals = [*map(_proposal_of, reply.texts), *map(unscored, drafts)]
        complete = [text for text in reply.texts if text.complete]
        return Proposals(
            proposals if proposals or reply.user_message else None,
            compute_ms=(limit.deadline.clock() - began) * 1000,
            user_message=reply.user_message,
            final=len(complete) == len(fim_requests),
        )


def _proposal_of(text: Text) -> ProposedText:
    logprobs = text.logprobs or (DEFAULT_LOGPROB,)
    tokens = len(text.logprobs) or -(-len(text.text) // CHARACTERS_PER_TOKEN)
    return ProposedText(
        text.text,
        sum(logprobs) / len(logprobs),
        min(logprobs),
        tokens=tokens,
        partial=not text.complete,
        passes=tokens,
    )
