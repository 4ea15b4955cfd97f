"""Shared by all completion methods: from a place in a document to the candidates to show, always by the deadline."""

import asyncio
import logging
from dataclasses import dataclass, replace

from infill_engine.budget.deadline import now
from infill_engine.process import without_text
from infill_engine.types import OVERTAKEN, Answer, Candidate, InfillRequest, Reason, Source
from lsp_server.engine_client.client import EngineClient, reply_by
from lsp_server.engine_client.pending import OnLate, OnPreview
from lsp_server.status import StatusReporter
from lsp_server.suggestions.prefetch import Prefetcher
from lsp_server.suggestions.request_builder import Insertion, RequestBuilder
from lsp_server.suggestions.unasked import quiet_at, unasked, worth_showing
from lsp_server.usage.counters import UsageCounters

WITHOUT_ENGINE = (Reason.LOADING, Reason.WORKER_FAILED)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CompletionQuery:
    """What a client asks for.

    `insertion` is in the current document; None if the document is not open. `arrived` is when the message arrived, in
    seconds of `deadline.now`. `invoked`: the user may have asked explicitly, so a slow request is shown in the status.
    `explicit`: they did, so the answer has more time, and low-confidence candidates are shown. `late`: the client was
    told to ask again. `least` is the number of candidates.
    """

    insertion: Insertion | None
    arrived: float
    invoked: bool
    explicit: bool
    late: bool = False
    least: int = 0
    on_preview: OnPreview | None = None
    on_late: OnLate | None = None


@dataclass(eq=False, slots=True)
class Completions:
    """Answers completion requests, and reports every answer to the status and the counters."""

    requests: RequestBuilder
    prefetch: Prefetcher
    status: StatusReporter
    counters: UsageCounters

    async def answer(self, asked: CompletionQuery) -> Answer:
        """Return by the deadline. That and `elapsed_ms` count from the request's arrival. Never raises."""
        insertion = asked.insertion
        thinking = self.status.asked(waited_for=asked.invoked)
        try:
            answer = await self._answer(asked, insertion)
        except asyncio.CancelledError:
            answer = Answer(reason=Reason.CANCELLED)
        except Exception as fault:
            log.error("a request failed: %s", without_text(fault))
            answer = Answer(reason=Reason.FAILED)
        elapsed_ms = (now() - asked.arrived) * 1000
        self.status.answered(thinking, answer.reason, elapsed_ms)
        self.counters.answered(answer.reason, elapsed_ms)
        if insertion is not None and answer.candidates:
            texts = [insertion.lead + candidate.text for candidate in answer.candidates]
            self.requests.suggestions.shown(*insertion.where, texts, unsure=asked.explicit, late=asked.late)
        return replace(answer, elapsed_ms=elapsed_ms)

    async def _answer(self, asked: CompletionQuery, insertion: Insertion | None) -> Answer:
        """Return the engine's answer if it is worth showing, or else the reason why not."""
        requests, workspace = self.requests, self.requests.workspace
        if insertion is None:
            return Answer(reason=workspace.refusal(None))
        snapshot = insertion.snapshot
        reason = workspace.refusal(snapshot)
        if reason is None and not asked.invoked:
            reason = quiet_at(requests, snapshot, insertion.end)
        if reason is not None:
            return Answer(reason=reason)
        self.prefetch.requested(snapshot)
        edited, place = insertion.applied()
        request = replace(requests.completion(edited, place, asked.least), explicit=asked.explicit)
        due = asked.arrived + workspace.settings.budget_for(explicit=asked.explicit) / 1000
        listeners = (asked.on_preview, asked.on_late)
        answer = await answer_by(requests.engine, snapshot.uri, request, due, *listeners, explicit=asked.explicit)
        if not workspace.documents.is_newest(snapshot):
            return Answer(reason=Reason.SUPERSEDED)
        if not asked.invoked:
            answer = unasked(requests, insertion, answer)
        answer = worth_showing(answer, explicit=asked.explicit)
        shown_on = insertion.is_plain and answer.reason not in OVERTAKEN
        rest = requests.suggestions.rest(snapshot, place) if shown_on else ""
        return kept_first(answer, rest) if rest else answer


async def answer_by(
    engine: EngineClient,
    document: str,
    request: InfillRequest,
    due: float,
    on_preview: OnPreview | None = None,
    on_late: OnLate | None = None,
    *,
    explicit: bool,
) -> Answer:
    """Return the engine's answer in time for a reply by `due` (seconds of `deadline.now`); see `EngineClient.ask`.

    Retrieved texts take its place while it loads or does not run, and also if it does not answer in time and is overdue
    or the text around the cursor leaves no choice.
    """
    in_place = engine.process.overdue or any(draft.sure for draft in request.drafts or ())
    drafts = asyncio.ensure_future(_from_drafts(request, due)) if in_place else None
    try:
        answer = await engine.ask(document, request, due, on_preview, on_late)
        if answer.reason in WITHOUT_ENGINE or (in_place and answer.reason is Reason.DEADLINE):
            found = await (drafts or _from_drafts(request, due))
            if worth_showing(found, explicit=explicit).candidates:
                return found
    finally:
        if drafts is not None:
            drafts.cancel()
    return answer


def kept_first(answer: Answer, rest: str) -> Answer:
    """Return an answer that begins with `rest`, so that what is shown stays while the user types along it."""
    if answer.candidates and answer.candidates[0].text.startswith(rest):
        return answer
    others = tuple(each for each in answer.candidates if each.text != rest)
    known = next((each for each in answer.candidates if each.text == rest), None)
    first = known or Candidate(rest, answer.show_from, source=Source.TYPED_THROUGH)
    return replace(answer, candidates=(first, *others), reason=None)


async def _from_drafts(request: InfillRequest, due: float) -> Answer:
    """Return retrieved texts in time for a reply by `due`, if there are any and there is time to find them."""
    # The module is imported here, because a server rarely needs it, and in a thread, because that takes a while.
    try:
        async with reply_by(due):
            return await asyncio.to_thread(_drafts_alone, request)
    except TimeoutError:
        return Answer()


def _drafts_alone(request: InfillRequest) -> Answer:
    from infill_engine.engine.draft_answers import answer_from_drafts

    return answer_from_drafts(request)
