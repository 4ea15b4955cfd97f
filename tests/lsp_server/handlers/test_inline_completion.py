"""What the handler does with an answer, whatever happened while it waited."""

import asyncio

import pytest
from lsprotocol import types

from infill_engine.budget.deadline import now
from infill_engine.types import Answer, Candidate, InfillRequest, Reason, Source
from lsp_server.documents.snapshots import TextChange
from lsp_server.handlers.inline_completion import inline_completion
from lsp_server.server import create_server
from lsp_server.session import Session

URI = "file:///w/a.py"
GOOD = Answer((Candidate("one", 0.9), Candidate("2", 0.01)), show_from=0.5)
WEAK = Answer((Candidate("one", 0.4), Candidate("2", 0.01)), show_from=0.5)
ONE_KEY = Answer((Candidate(" 1", 0.9), Candidate("two", 0.8)), show_from=0.5)
LAST = Answer((Candidate("1", 0.9, source=Source.TYPED_THROUGH),), show_from=0.5)
AUTOMATIC, INVOKED = types.InlineCompletionTriggerKind.Automatic, types.InlineCompletionTriggerKind.Invoked


def session_that_answers(answer: object, meanwhile: object = None) -> Session:
    _, session = create_server()
    session.workspace.documents.open(URI, "python", "x = \n")
    session.reporter.answered = lambda _ticket, _reason, _elapsed_ms: None

    async def ask(_document: str, _request: InfillRequest, _due: float, *_listeners: object) -> Answer:
        if meanwhile is not None:
            meanwhile(session)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    session.engine.ask = ask
    return session


async def texts(session: Session, kind: types.InlineCompletionTriggerKind = AUTOMATIC) -> list[str] | None:
    params = types.InlineCompletionParams(
        types.InlineCompletionContext(kind), types.TextDocumentIdentifier(URI), types.Position(0, 4)
    )
    result = await inline_completion(session, params)
    return None if result is None else [item.insert_text for item in result.items]


ANSWERS = [
    (GOOD, AUTOMATIC, ["one", "2"]),  # all or none: asking again must begin with the same ones
    (GOOD, INVOKED, ["one", "2"]),
    (WEAK, AUTOMATIC, []),
    (WEAK, INVOKED, ["one", "2"]),
    (ONE_KEY, AUTOMATIC, []),
    (ONE_KEY, INVOKED, [" 1", "two"]),
    (LAST, AUTOMATIC, ["1"]),  # of what is being typed
    (Answer(reason=Reason.BLANK), AUTOMATIC, []),
    (Answer(reason=Reason.DEADLINE), AUTOMATIC, []),
    (Answer(reason=Reason.LOADING), AUTOMATIC, []),
    (Answer(), AUTOMATIC, []),
    (Answer(reason=Reason.SUPERSEDED), AUTOMATIC, None),
    (Answer(reason=Reason.CANCELLED), INVOKED, None),
    (Answer(reason=Reason.WORKER_FAILED), AUTOMATIC, []),
    (asyncio.CancelledError(), AUTOMATIC, None),
    (RuntimeError("a fault of ours"), AUTOMATIC, []),
]


@pytest.mark.parametrize(("answer", "kind", "expected"), ANSWERS)
async def test_replies(answer: object, kind: types.InlineCompletionTriggerKind, expected: list[str] | None) -> None:
    assert await texts(session_that_answers(answer), kind) == expected


MEANWHILE = {
    "typed": lambda session: session.workspace.documents.change(URI, TextChange("y", (0, 4), (0, 4))),
    "closed": lambda session: session.workspace.documents.close(URI),
    "opened anew": lambda session: session.workspace.documents.open(URI, "python", "x = \n"),
}


@pytest.mark.parametrize("meanwhile", MEANWHILE.values(), ids=MEANWHILE)
async def test_an_answer_for_an_older_text_is_never_shown(meanwhile: object) -> None:
    assert await texts(session_that_answers(GOOD, meanwhile)) is None


async def test_a_request_is_built_again_only_if_something_has_changed() -> None:
    _, session = create_server()
    snapshot = session.workspace.documents.open(URI, "python", "x = \n")
    speculated = session.requests.completion(snapshot, (0, 4))
    assert session.requests.completion(snapshot, (0, 4)) is speculated
    assert session.requests.completion(snapshot, (0, 3)).prefix == "x ="
    assert session.requests.completion(snapshot, (0, 4), least=9).candidates == 9
    changed = session.workspace.documents.change(URI, TextChange("y", (0, 0), (0, 1)), 2).after
    assert session.requests.completion(changed, (0, 4)).prefix == "y = "
    session.workspace.documents.open("file:///w/b.py", "python", "y = helper(1)\n")
    assert [draft.text for draft in session.requests.completion(changed, (0, 4)).drafts] == ["helper(1)"]


@pytest.mark.parametrize(("kind", "budget_ms"), [(AUTOMATIC, 150), (INVOKED, 600)])
async def test_what_the_user_asked_for_has_more_time(kind: types.InlineCompletionTriggerKind, budget_ms: float) -> None:
    session, seen = session_that_answers(GOOD), []

    async def ask(_document: str, request: InfillRequest, due: float, *_listeners: object) -> Answer:
        seen.append((request.explicit, 1000 * (due - began)))
        return GOOD

    session.engine.ask = ask
    began = now()
    await texts(session, kind)
    assert seen == [(kind is INVOKED, pytest.approx(budget_ms, abs=100))]
