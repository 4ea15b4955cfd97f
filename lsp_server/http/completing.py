"""Asks the engine a question from an HTTP client, always by the deadline."""

import asyncio
import gc
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from cachetools import LRUCache, TTLCache

from infill_engine.budget.deadline import now
from infill_engine.context.drafts.renamed_match import outline_of_other
from infill_engine.context.project_text import joined
from infill_engine.process import say
from infill_engine.serving.protocol import State, Status
from infill_engine.settings import WindowSettings
from infill_engine.text.languages import language_of, related
from infill_engine.types import Answer, InfillRequest, ProjectText, Reason
from lsp_server.documents.snapshots import Documents, Snapshot, split_lines
from lsp_server.engine_client import model_choice
from lsp_server.engine_client.client import EngineClient, reply_by
from lsp_server.http.document_language import DocumentLanguages
from lsp_server.http.question import Question, Reply, estimated_tokens
from lsp_server.http.rewriting import retold, with_candidate
from lsp_server.project.excludes import is_excluded
from lsp_server.protocol.positions import Place
from lsp_server.protocol.uris import path_of
from lsp_server.settings.schema import MOST_BUDGET_MS, MOST_CANDIDATES, ServerSettings
from lsp_server.suggestions.completions import answer_by
from lsp_server.suggestions.next_edits.model_search import ModelSearch
from lsp_server.suggestions.request_content import build_request
from lsp_server.suggestions.unasked import worth_showing
from lsp_server.suggestions.workspace import refusal

MODEL_MS = 2000.0  # for a next edit of the model
MOST_AT_ONCE = 48  # questions that the engine has; it refuses more than 64 of one client
KEPT_PROJECT_TEXTS = 6  # as many as an engine keeps
AGAIN_SECONDS, REMEMBERED = 2.0, 256  # within which, and of how many, an equal sampled question gets the next candidate

Texts = tuple[str, ...]


@dataclass(eq=False)
class Completer:
    """Answers the questions of all HTTP clients with one engine. Must be used on one event loop."""

    engine: EngineClient
    settings: ServerSettings
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))
    _waiting: Counter[str] = field(default_factory=Counter)  # by document
    _sent: LRUCache[str, None] = field(default_factory=lambda: LRUCache(KEPT_PROJECT_TEXTS))  # project texts, by name
    _languages: DocumentLanguages = field(default_factory=DocumentLanguages)
    _turns: TTLCache[str, int] = field(default_factory=lambda: TTLCache(REMEMBERED, AGAIN_SECONDS))

    @classmethod
    def local(cls, settings: ServerSettings, *, shared: bool) -> "Completer":
        """Return a completer with an engine on this machine: the user's shared one, or one of its own."""
        engine = EngineClient(
            lambda status: completer._changed(status), lambda news: say(f"infill-ls: {news}"), shared=shared
        )
        completer = cls(engine, settings)
        return completer

    async def start(self) -> None:
        """Start the engine that the settings name, unless they turn it off."""
        choice, sentence = model_choice.settled(self.settings.engine, ())
        if sentence:
            say(sentence)
        if self.settings.enable:
            await self.engine.start(choice)

    async def complete(self, question: Question, arrived: float) -> Reply:
        """Return candidates, or the reason why there are none, by the deadline, which counts from `arrived`.

        A question for no candidates has the engine read its pieces ahead of those that follow.
        """
        due = due_of(question, self.settings, arrived)
        language, text = self._languages.of(question), question.before + question.after
        snapshot = Documents().open(_uri(question.path), language, text)
        reason = refusal(snapshot, self.settings)
        if reason:
            texts, answer = Texts(), Answer(reason=reason)
        elif question.region is not None:
            texts, answer = await self._rewrite(question, snapshot, arrived, due)
        else:
            texts, answer = await self._candidates(question, snapshot, due)
        window = self.engine.status.window
        most = window.prefix_chars + window.suffix_chars
        return Reply(
            texts,
            answer,
            (now() - arrived) * 1000,
            self.model,
            estimated_tokens(min(snapshot.size, most)),
            estimated_tokens(most),
        )

    @property
    def status(self) -> Status:
        """What the engine does."""
        return self.engine.status

    @property
    def model(self) -> str:
        """The name of the model that answers, or is being loaded."""
        return self.engine.status.model or self.engine.choice.model

    def _changed(self, status: Status) -> None:
        self._sent.clear()  # another process of the engine has not read it
        if status.state is State.READY:
            gc.freeze()  # a full collection of what has been loaded takes 20 to 80 ms, for which an answer would wait

    async def _candidates(self, question: Question, snapshot: Snapshot, due: float) -> tuple[Texts, Answer]:
        answer = await self._answer(question, snapshot, due)
        texts = filter(None, (_cut(each.text, question.stops) for each in answer.candidates))
        return tuple(dict.fromkeys(texts))[: question.candidates], answer

    async def _rewrite(
        self, question: Question, snapshot: Snapshot, arrived: float, due: float
    ) -> tuple[Texts, Answer]:
        """Return the region after a next edit, or with a candidate at the cursor, or after a next edit of the model."""
        told, answer, new = retold(question, snapshot.uri, snapshot.language), Answer(), None
        try:
            async with reply_by(due):
                if self.settings.next_edits:
                    new = await told.next_region()
                if new is None and question.candidates:
                    soon = min(due, arrived + self.settings.budget_for(explicit=True) / 1000)
                    texts, answer = await self._candidates(question, snapshot, soon)
                    new = with_candidate(question, texts[0]) if texts else None
                if new is None and self.settings.next_edits and self.settings.next_edit_model:
                    new = await told.next_region(self._model_search(question, due))
        except TimeoutError:
            return (), Answer(reason=Reason.DEADLINE)
        finally:
            told.next_edits.end()
        return ((), answer) if new is None else ((new,), replace(answer, reason=None))

    def _model_search(self, question: Question, due: float) -> ModelSearch:
        left = max(0.0, due - now())
        return ModelSearch(engine=self.engine, document=f"http:{hash(question)}", seconds=left, wait_seconds=left)

    async def _answer(self, question: Question, snapshot: Snapshot, due: float) -> Answer:
        try:
            async with reply_by(due):
                project = await self._project_text(question, snapshot)
                if not question.candidates:
                    return Answer()
                await self._slots.acquire()
        except TimeoutError:
            return Answer(reason=Reason.DEADLINE)
        try:
            request = _request(question, snapshot, self.settings, project, self.engine.status.window)
            answer = await self._ask(f"http:{hash((request, request.explicit))}", request, due)
        finally:
            self._slots.release()
        return self._next_turn(request, answer) if question.sampled else answer

    async def _ask(self, document: str, request: InfillRequest, due: float) -> Answer:
        """Ask as a document of its own: equal requests share an answer, and no client's replaces another's."""
        self._waiting[document] += 1
        try:
            return worth_showing(await answer_by(self.engine, document, request, due, explicit=False), explicit=False)
        finally:
            self._waiting[document] -= 1
            if not self._waiting[document]:
                del self._waiting[document]
                self.engine.forget(document)

    async def _project_text(self, question: Question, snapshot: Snapshot) -> ProjectText:
        """Return the pieces that may be used, as the text around the document. The engine is sent it once."""
        text = question.before + question.after
        alike = related(snapshot.language)
        used = (
            (path, piece)
            for path, piece in question.pieces
            if piece not in text
            and (language_of(path) or snapshot.language) in alike
            and not is_excluded(_uri(path), self.settings.excludes, ())
        )
        found = joined(used) if self.settings.search_project else ProjectText()
        if found.text and found.name not in self._sent:
            self._sent[found.name] = None
            self.engine.index_project(found)
            await asyncio.to_thread(outline_of_other, found.text, snapshot.language)  # caches what the search needs
        return found

    def _next_turn(self, request: InfillRequest, answer: Answer) -> Answer:
        """Return the candidates in another order each time, for clients that take only the first and ask repeatedly."""
        key = str(hash(request))
        turn = self._turns.get(key, 0)
        self._turns[key] = turn + 1
        first = turn % max(1, len(answer.candidates))
        return replace(answer, candidates=answer.candidates[first:] + answer.candidates[:first])


def due_of(question: Question, settings: ServerSettings, arrived: float) -> float:
    """Return when the reply is due (`deadline.now`): after the client's own time limit, or the explicit budget.

    Next edits of the model may take longer than that budget.
    """
    budget_ms = settings.budget_for(explicit=True) if question.budget_ms is None else question.budget_ms
    if question.budget_ms is None and question.region is not None and settings.next_edit_model:
        budget_ms = max(budget_ms, MODEL_MS)
    return arrived + min(max(0.0, budget_ms), MOST_BUDGET_MS) / 1000


def _request(
    question: Question, snapshot: Snapshot, settings: ServerSettings, project: ProjectText, window: WindowSettings
) -> InfillRequest:
    wanted = min(max(question.candidates, settings.candidates), MOST_CANDIDATES)
    path = "" if question.path.startswith(("/", "file:")) else question.path
    request = build_request(
        snapshot,
        _place_after(question.before, snapshot.lines),
        replace(settings, candidates=wanted),
        project=project,
        window=window,
        path=path,
    )
    return replace(request, explicit=question.budget_ms is None or question.budget_ms > settings.budget_ms)


def _place_after(before: str, lines: Sequence[str]) -> Place:
    """Return the place at which `before` ends. Between the two characters of a line end, it is before both."""
    above = split_lines(before)
    row, column = len(above) - 1, len(above[-1])
    if before.endswith("\r") and lines[row - 1].endswith("\r\n"):
        return row - 1, len(lines[row - 1]) - 2
    return row, column


def _uri(path: str) -> str:
    """Return a URI for a path of the client's machine. It must not be looked up on this one."""
    inner = path_of(path) if "://" in path else path.replace("\\", "/")
    return f"untitled:/{quote(inner.lstrip('/'))}"


def _cut(text: str, stops: Sequence[str]) -> str:
    """Return the text up to the first of `stops` in it."""
    ends = [at for stop in stops if stop and (at := text.find(stop)) >= 0]
    return text[: min(ends)] if ends else text
