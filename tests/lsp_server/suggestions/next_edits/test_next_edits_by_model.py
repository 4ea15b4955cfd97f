"""When the model is asked for next edits, and what becomes of its answers: in time, late, outdated, dismissed."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from desk import URI, Desk

from infill_engine.budget.deadline import now
from infill_engine.edits.by_model.proposals import proposals_of
from infill_engine.edits.by_model.regions import regions
from infill_engine.edits.types import Kind, NextEditRequest, NextEdits, NoEditReason, ScoredChange, applied
from infill_engine.types import Answer, Candidate, Eagerness, Reason
from lsp_server.documents.snapshots import Snapshot
from lsp_server.suggestions.next_edits.bursts import FORGOTTEN_SECONDS
from lsp_server.suggestions.next_edits.model_search import ModelSearch
from lsp_server.suggestions.next_edits.search import Found

PROGRAM = """import os


def first(path):
    return os.stat(path).st_size


def second(path):
    return os.lstat(path).st_mode


LIMIT = 10
SEPARATOR = os.sep
"""
OLD, NEW = "return os.lstat(path).st_mode", "return check(path).st_mode"
EDIT = ("os.stat(path).st_size", "check(path) or 0")


class Asked:
    """A model that changes one text, and what it was asked. It waits for `may_answer`."""

    def __init__(self, old: str = OLD, new: str = NEW, confidence: float = 0.9, wait: float = 60) -> None:
        self.old, self.new, self.confidence, self.wait = old, new, confidence, wait
        self.requests: list[NextEditRequest] = []
        self.late = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.fault: Exception | None = None
        self.reason = Reason.BLANK

    async def next_edits(self, document: str, request: NextEditRequest, due: float) -> NextEdits:
        self.requests.append(request)
        await self.may_answer.wait()
        if self.fault is not None:
            raise self.fault
        for region in regions(request):
            row = next((row for row, line in enumerate(region.lines) if self.old in line), None)
            if row is not None:
                line = region.lines[row]
                change = ScoredChange(0.0, 0.0, 0.0, 1, 0.0, 0.0, row, (line,), (line.replace(self.old, self.new),))
                return NextEdits(proposals_of(request, region, [(change, self.confidence)], 0.3))
        return NextEdits(reason=self.reason)

    def tell(self) -> None:
        self.late += 1

    @property
    def search(self) -> ModelSearch:
        return ModelSearch(engine=self, document=URI, seconds=60, wait_seconds=self.wait, on_late=self.tell)


def edited(text: str = PROGRAM, *edits: tuple[str, str]) -> Desk:
    desk = Desk(text)
    for old, new in edits or (EDIT,):
        desk.replace(old, new, count=len(new))
    return desk


async def ask(desk: Desk, model: Asked) -> Found:
    return await desk.edits.ask(desk.snapshot, None, model=model.search)


def result(desk: Desk, found: Found) -> str | None:
    return applied(desk.text, found.proposals[0].proposal.edits)


async def test_the_model_is_asked_where_nothing_is_necessary() -> None:
    desk, model = edited(), Asked()
    found = await ask(desk, model)
    assert [shown.proposal.kind for shown in found.proposals] == [Kind.MODEL]
    assert result(desk, found) == desk.text.replace(OLD, NEW)
    (edit,) = model.requests[0].history
    assert (edit.path, edit.old, edit.new) == (
        "a.py",
        "    return os.stat(path).st_size\n",
        "    return check(path) or 0\n",
    )


async def test_the_model_is_told_how_eager_the_user_wants_it() -> None:
    desk, model = edited(), Asked()
    await desk.edits.ask(desk.snapshot, None, model=replace(model.search, show_from=Eagerness.QUIET))
    assert [request.show_from for request in model.requests] == [Eagerness.QUIET]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (Reason.BLANK, NoEditReason.NO_CONSEQUENCE),
        (Reason.LOADING, NoEditReason.LOADING),
        (Reason.DEADLINE, NoEditReason.DEADLINE),
        (Reason.WORKER_FAILED, NoEditReason.WORKER_FAILED),
    ],
)
async def test_the_answer_says_why_the_model_proposed_nothing(reason: Reason, told: NoEditReason) -> None:
    model = Asked(old="nowhere")
    model.reason = reason
    assert (await ask(edited(), model)).reason is told


async def test_what_is_necessary_comes_without_the_model() -> None:
    desk, model = edited(PROGRAM, ("first(path)", "first(name)")), Asked()
    found = await ask(desk, model)
    assert found.proposals[0].proposal.kind is Kind.RENAME
    assert model.requests == []


def comment(desk: Desk) -> None:
    at = desk.text.index("LIMIT")
    desk.change((at, at, "# the most\n"))


def formatting(desk: Desk) -> None:
    desk.replace("LIMIT = 10", "LIMIT  =  10")


def half_a_line(desk: Desk) -> None:
    desk.replace("LIMIT = 10", "LIMIT = (10 +")


def paste(desk: Desk) -> None:
    at = desk.text.index("LIMIT")
    desk.change((at, at, "x = 1\n" * 60))


def undo(desk: Desk) -> None:
    at = desk.text.index("10")
    desk.change((at, at + 2, "20"))
    desk.change((at, at + 2, "10"))


@pytest.mark.parametrize("edit", [comment, formatting, half_a_line, paste, undo])
async def test_silence_does_not_ask(edit: Callable[[Desk], None]) -> None:
    desk, model = Desk(PROGRAM), Asked()
    edit(desk)
    found = await ask(desk, model)
    assert not found.proposals
    assert model.requests == []


HALF = "LIMIT = (10 +"
COMPLETED = Answer((Candidate(" 20)", 0.8), Candidate(" OTHER)", 0.1)), show_from=0.25)


async def ask_at_cursor(desk: Desk, answer: Answer = COMPLETED, cursor: int | None = None) -> Found:
    """Ask with the cursor after the half-written line, as a client that does not show completions itself."""

    async def complete(snapshot: Snapshot, cursor: int) -> Answer:
        return answer

    cursor = desk.text.index(HALF) + len(HALF) if cursor is None else cursor
    return await desk.edits.ask(desk.snapshot, cursor, complete=complete, model=Asked().search)


async def test_a_half_written_line_is_completed_at_the_cursor() -> None:
    desk = Desk(PROGRAM)
    half_a_line(desk)
    found = await ask_at_cursor(desk)
    assert [(shown.proposal.kind, shown.proposal.confidence) for shown in found.proposals] == [(Kind.MODEL, 0.8)]
    assert result(desk, found) == desk.text.replace(HALF, f"{HALF} 20)")
    desk.log.dismiss(URI, None)
    assert not (await ask_at_cursor(desk)).proposals


async def test_a_line_that_could_end_here_is_completed_too() -> None:
    desk = edited(PROGRAM, ("st_size", "st_si"))
    cursor = desk.text.index("st_si") + len("st_si")
    found = await ask_at_cursor(desk, Answer((Candidate("ze", 0.8),), show_from=0.25), cursor=cursor)
    assert result(desk, found) == PROGRAM


async def test_a_half_written_line_is_completed_only_where_the_user_types_and_if_it_is_sure() -> None:
    desk = Desk(PROGRAM)
    half_a_line(desk)
    assert not (await ask_at_cursor(desk, cursor=0)).proposals
    assert not (await ask_at_cursor(desk, replace(COMPLETED, show_from=0.9))).proposals
    assert not (await ask_at_cursor(desk, Answer(reason=Reason.DEADLINE))).proposals


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(lambda: Asked(confidence=0.01), id="unsure"),
        pytest.param(lambda: Asked(new="return check(path"), id="broken"),
        pytest.param(lambda: Asked(old="something else"), id="nothing"),
    ],
)
async def test_what_is_not_worth_showing_is_not_shown(model: Callable[[], Asked]) -> None:
    found = await ask(edited(), model())
    assert (found.proposals, found.reason) == ((), NoEditReason.NO_CONSEQUENCE)


async def test_a_late_proposal_is_told_once_and_found_by_asking_again() -> None:
    desk, model = edited(), Asked(wait=0)
    model.may_answer.clear()
    found = await ask(desk, model)
    assert (found.proposals, found.reason, model.late) == ((), NoEditReason.DEADLINE, 0)
    model.may_answer.set()
    await until(lambda: model.late)
    again = await ask(desk, model)
    assert result(desk, again) == desk.text.replace(OLD, NEW)
    assert (len(model.requests), model.late) == (1, 1)


async def test_asking_again_while_the_model_works_does_not_begin_anew() -> None:
    desk, model = edited(), Asked(wait=0)
    model.may_answer.clear()
    await ask(desk, model)
    model.wait = 60
    second = asyncio.ensure_future(ask(desk, model))
    await asyncio.sleep(0)
    model.may_answer.set()
    assert (await second).proposals
    assert len(model.requests) == 1


async def test_a_newer_question_answers_the_older_one() -> None:
    desk, model = edited(), Asked()
    model.may_answer.clear()
    first = asyncio.ensure_future(ask(desk, model))
    await until(lambda: model.requests)
    second = asyncio.ensure_future(ask(desk, model))
    assert (await first).reason is NoEditReason.SUPERSEDED
    model.may_answer.set()
    assert (await second).proposals
    assert len(model.requests) == 1


async def test_an_edit_ends_the_question() -> None:
    desk, model = edited(), Asked()
    model.may_answer.clear()
    asking = asyncio.ensure_future(ask(desk, model))
    await until(lambda: model.requests)
    desk.replace("LIMIT = 10", "LIMIT = 11")
    assert (await asking).reason is NoEditReason.SUPERSEDED
    model.may_answer.set()
    await asyncio.sleep(0)
    assert model.late == 0


async def test_what_was_dismissed_does_not_return() -> None:
    desk, model = edited(), Asked()
    found = await ask(desk, model)
    desk.log.dismiss(URI, [found.proposals[0].id])
    assert not (await ask(desk, model)).proposals
    desk.change((0, 0, "import sys\n"))
    assert not (await ask(desk, model)).proposals


async def test_after_one_was_taken_the_model_is_told_of_it() -> None:
    desk, model = edited(), Asked()
    desk.accept((await ask(desk, model)).proposals[0])
    model.old = "something else"
    assert not (await ask(desk, model)).proposals
    assert model.requests[-1].history[-1].new == f"    {NEW}\n"


async def test_edits_of_other_files_are_told_oldest_first() -> None:
    desk, model = edited(), Asked()
    other = "file:///project/b.py"
    desk.documents.open(other, "python", "x = 1\n")
    desk.edit(other, (4, 5, "3"))
    desk.replace("LIMIT = 10", "LIMIT = limit()")
    await ask(desk, model)
    assert [edit.path for edit in model.requests[0].history] == ["a.py", "b.py", "a.py"]


async def test_after_an_edit_of_another_file_the_model_is_asked_at_the_cursor() -> None:
    desk, model = Desk(PROGRAM), Asked()
    other = "file:///project/b.py"
    desk.documents.open(other, "python", "x = os.stat(name)\n")
    assert (await ask(desk, model)).reason is NoEditReason.NOTHING_EDITED
    desk.seconds = now()
    desk.edit(other, (4, 11, "check"))
    cursor = desk.text.index(OLD)
    found = await desk.edits.ask(desk.snapshot, cursor, model=model.search)
    assert result(desk, found) == desk.text.replace(OLD, NEW)
    assert [edit.path for edit in model.requests[0].history] == ["b.py"]
    desk.log.dismiss(URI, None)
    assert (await ask(desk, model)).proposals == ()


async def test_nothing_is_told_about_files_in_unrelated_languages() -> None:
    desk, model = Desk(PROGRAM), Asked()
    other = "file:///project/b.go"
    desk.documents.open(other, "go", "var x = os.stat(name)\n")
    desk.seconds = now()
    desk.edit(other, (8, 15, "check"))
    found = await desk.edits.ask(desk.snapshot, desk.text.index(OLD), model=model.search)
    assert (found.proposals, model.requests) == ((), [])
    desk.replace(*EDIT)
    await ask(desk, model)
    assert [edit.path for edit in model.requests[0].history] == ["a.py"]


async def test_edits_of_long_ago_say_nothing_about_another_file() -> None:
    desk, model = Desk(PROGRAM), Asked()
    other = "file:///project/b.py"
    desk.documents.open(other, "python", "x = os.stat(name)\n")
    desk.seconds = now() - 2 * FORGOTTEN_SECONDS
    desk.edit(other, (4, 11, "check"))
    found = await desk.edits.ask(desk.snapshot, desk.text.index(OLD), model=model.search)
    assert (found.reason, model.requests) == (NoEditReason.NOTHING_EDITED, [])


async def test_a_fault_of_the_engine_ends_one_question_only() -> None:
    desk, model = edited(), Asked()
    model.fault = RuntimeError()
    with pytest.raises(RuntimeError):
        await ask(desk, model)
    model.fault = None
    desk.replace("LIMIT = 10", "LIMIT = limit()")
    assert (await ask(desk, model)).proposals


async def until(done: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not done():
            await asyncio.sleep(0.01)
