"""One request, answered in this process, and built as the server builds it: the answer an editor would get."""

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from infill_engine.deadline import Deadline
from infill_engine.syntax import parser_for
from infill_engine.types import Answer
from infill_engine.worker.__main__ import set_threads
from lsp_server.commands.place import Opened
from lsp_server.request import build_request
from lsp_server.settings import ServerSettings

if TYPE_CHECKING:
    from infill_engine.engine import Engine, Watch


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer and what it took. `elapsed_ms` runs from the question to the candidates, loading excepted."""

    answer: Answer
    budget_ms: int
    elapsed_ms: float
    model: str
    device: str | None = None


def load_engine(model: str, device: str) -> "Engine":
    """The engine, on as many threads as the worker would use. Raises what `Engine.load` does."""
    set_threads()  # has to come before torch
    from infill_engine.engine import Engine

    return Engine.load(model, device=device)


def ask(engine: "Engine", opened: Opened, candidates: int, budget_ms: int, watch: "Watch | None" = None) -> Asked:
    """Ask for the hole at a place. Surroundings that are new to the engine are read within the budget."""
    parser_for(opened.snapshot.language)  # a running server has loaded the grammar
    settings = ServerSettings(budget_ms=budget_ms, candidates=candidates)
    began = monotonic()
    request = build_request(opened.snapshot, opened.place, settings)
    answer = engine.answer(request, Deadline(began + budget_ms / 1000), watch)
    return Asked(answer, budget_ms, (monotonic() - began) * 1000, engine.name, engine.device)
