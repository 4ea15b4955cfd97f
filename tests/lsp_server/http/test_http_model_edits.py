"""When the model is asked for the next edit in a region: where nothing is necessary and nothing fits at the cursor."""

from dataclasses import replace

import pytest

from infill_engine.budget.deadline import now
from infill_engine.edits.types import Edit, Kind, NextEditRequest, NextEdits, PastEdit, Proposal, Span
from infill_engine.types import Answer, Candidate, Reason
from lsp_server.engine_client.client import EngineClient
from lsp_server.http.completing import Completer, due_of
from lsp_server.http.question import Question
from lsp_server.settings.schema import ServerSettings

BEFORE = "import os\n\n\ndef first(path):\n    return check(path) or 0\n\n\n"
REGION = "def second(path):\n    return os.stat(path).st_mode\n"
OLD, NEW = "return os.stat(path).st_mode", "return check(path).st_mode"
MADE = PastEdit("a.py", "    return os.stat(path).st_size\n", "    return check(path) or 0\n")
ELSEWHERE = PastEdit("b.py", "    os.stat(0)\n", "    check(0)\n")
FROM_MODEL, WITHOUT_MODEL = ServerSettings(), ServerSettings(next_edit_model=False)


def question(*history: PastEdit) -> Question:
    text = BEFORE + REGION
    return Question(text, "", "a.py", region=(len(BEFORE), len(text)), history=history)


class Engine(EngineClient):
    """An engine that changes one line, and may have a text for the cursor."""

    def __init__(self, at_cursor: str = "") -> None:
        super().__init__(lambda _status: None, lambda _news: None, shared=False)
        self.at_cursor, self.asked = at_cursor, list[NextEditRequest]()

    async def ask(self, *_arguments: object) -> Answer:
        return Answer((Candidate(self.at_cursor, 0.9),)) if self.at_cursor else Answer(reason=Reason.BLANK)

    async def next_edits(self, document: str, request: NextEditRequest, due: float) -> NextEdits:
        self.asked.append(request)
        at = request.text.find(OLD)
        if at < 0:
            return NextEdits(reason=Reason.BLANK)
        edit = Edit(Span(at, at + len(OLD), OLD), NEW)
        return NextEdits((Proposal((edit,), "change 1 line", 0.9, Kind.MODEL),))


@pytest.mark.parametrize(
    ("settings", "at_cursor", "history", "region"),
    [
        (FROM_MODEL, "", (ELSEWHERE, MADE), REGION.replace(OLD, NEW)),
        (WITHOUT_MODEL, "", (ELSEWHERE, MADE), None),
        (ServerSettings(next_edits=False), "", (ELSEWHERE, MADE), None),
        (FROM_MODEL, "x = 1", (ELSEWHERE, MADE), f"{REGION}x = 1"),
        (FROM_MODEL, "", (ELSEWHERE,), None),  # nobody knows where the user edits this file
        (FROM_MODEL, "", (), None),
    ],
)
async def test_the_model(
    settings: ServerSettings, at_cursor: str, history: tuple[PastEdit, ...], region: str | None
) -> None:
    engine = Engine(at_cursor)
    reply = await Completer(engine, settings).complete(question(*history), now() + 60)
    assert reply.texts == (() if region is None else (region,))
    assert reply.answer.reason is (Reason.BLANK if region is None else None)
    if region == REGION.replace(OLD, NEW):
        assert [edit.path for edit in engine.asked[0].history] == ["b.py", "a.py"]
    else:
        assert not engine.asked


def test_a_question_without_a_limit_has_the_explicit_budget_and_the_model_more() -> None:
    plain = Question("", "")
    assert due_of(plain, FROM_MODEL, 0) == 0.6  # as for an explicit request
    assert due_of(replace(plain, budget_ms=90), FROM_MODEL, 0) == pytest.approx(0.09)
    assert due_of(question(), FROM_MODEL, 0) > due_of(plain, FROM_MODEL, 0) == due_of(question(), WITHOUT_MODEL, 0)
