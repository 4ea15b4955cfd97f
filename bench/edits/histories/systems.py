"""What proposes next edits for an example: the product, from the same edits that its server would have seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.edits.histories.examples import earlier_texts, is_edited
from infill_engine.budget.deadline import Deadline
from infill_engine.edits.changes import between, followed_by, trimmed
from infill_engine.edits.types import Change, Consequences, EditedText, MayAsk, NextEditRequest, PastEdit, Proposal
from infill_engine.engine.engine import Engine
from lsp_server.suggestions.next_edits.bursts import COMPOSED
from lsp_server.suggestions.next_edits.exact import exact
from lsp_server.suggestions.next_edits.shown import Shown


def propose(example: dict[str, Any]) -> Sequence[Proposal]:
    """Return what syntax and names propose after the newest edits of the example's file, best first."""
    return _exact(example).proposals


@dataclass(frozen=True, slots=True)
class WithModel:
    """Asks the model where nothing else is proposed, with `budget_ms` for all regions."""

    engine: Engine
    budget_ms: float

    def __call__(self, example: dict[str, Any]) -> Sequence[Proposal]:
        """Return what the product proposes, best first."""
        found = _exact(example)
        if not found.asks_model:
            return found.proposals
        return self.engine.next_edits(question(example), Deadline.after_ms(self.budget_ms)).proposals


def question(example: dict[str, Any]) -> NextEditRequest:
    """Return what the model is asked after the newest edit of the example's file."""
    history = past_edits_of(example)
    row = next((edit["row"] for edit in reversed(example["history"]) if edit["path"] == example["path"]), 0)
    rows = row, row + history[-1].new.count("\n")
    return NextEditRequest(example["text"], rows, example["language"], example["path"], history)


def past_edits_of(example: dict[str, Any]) -> tuple[PastEdit, ...]:
    """Return the history of an example."""
    names = ("path", "old", "new", "above", "below")
    return tuple(PastEdit(*(edit[name] for name in names)) for edit in example["history"])


def is_settled(example: dict[str, Any]) -> bool:
    """Return whether the model is not asked, because something is necessary or nothing can follow."""
    return not _exact(example).asks_model


def _exact(example: dict[str, Any]) -> Consequences:
    """Return what syntax and names propose, and whether the model is asked."""
    if example["text"] in set(earlier_texts(example)):
        return Consequences(may_ask=MayAsk.NOBODY)  # taken back
    texts, shown = edited_texts(example), Shown()
    shown.record_replaced(texts)
    return exact(texts, shown.refusals())


def edited_texts(example: dict[str, Any]) -> list[EditedText]:
    """Return the newest edit of the file, then the two newest as one, and so on, as the server composes them."""
    found: list[EditedText] = []
    after, language = example["text"], example["language"]
    history = tuple((edit["old"], edit["new"]) for edit in example["history"])
    following, changes, cursor = after, tuple[Change, ...](), 0
    for before in earlier_texts(example):
        newest = between(before, following)
        changes = trimmed(before, followed_by(newest, changes))
        following = before
        if not found and newest:
            cursor = newest[0].start + len(newest[0].new)
        if changes:
            found.append(EditedText(before, after, changes, language, cursor, history))
        if len(found) == COMPOSED:
            break
    return found if is_edited(example) else [EditedText(after, after, (), language, None, history)]
