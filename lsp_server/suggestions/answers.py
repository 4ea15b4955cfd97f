"""The engine's answer to a request by its deadline, and whether it is worth showing."""

import asyncio
from dataclasses import replace

from infill_engine.text.lines import is_one_key
from infill_engine.types import Answer, InfillRequest, Reason, Source
from lsp_server.engine_client.client import EngineClient, reply_by
from lsp_server.engine_client.pending import OnLate, OnPreview

WITHOUT_ENGINE = (Reason.LOADING, Reason.WORKER_FAILED)


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


def worth_showing(answer: Answer, *, explicit: bool) -> Answer:
    """Return all candidates or none, so that an explicit repeat of the request starts with the same candidates."""
    if not answer.candidates:
        return answer if answer.reason is not None else replace(answer, reason=Reason.BLANK)
    if explicit:
        return answer
    if max(candidate.confidence for candidate in answer.candidates) < answer.show_from:
        return Answer(reason=Reason.LOW_CONFIDENCE)
    best = answer.candidates[0]
    # Keep showing the last character of a candidate that the user is typing.
    if is_one_key(best.text) and best.source is not Source.TYPED_THROUGH:
        return Answer(reason=Reason.ONE_KEY)
    return answer


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
