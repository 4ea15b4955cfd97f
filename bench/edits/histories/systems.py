"""What proposes next edits for an example: the product, from the same edits that its server would have seen."""

from collections.abc import Sequence
from typing import Any

from bench.edits.histories.examples import earlier_texts
from infill_engine.edits.changes import between, followed_by, trimmed
from infill_engine.edits.find import find_consequences
from infill_engine.edits.types import Change, EditedText, Proposal
from lsp_server.suggestions.next_edits.bursts import COMPOSED
from lsp_server.suggestions.next_edits.shown import Shown


def propose(example: dict[str, Any]) -> Sequence[Proposal]:
    """Return what the product proposes after the newest edits of the example's file, best first."""
    if example["text"] in set(earlier_texts(example)):
        return ()  # taken back
    shown = Shown()
    alike: Sequence[Proposal] = ()
    texts = edited_texts(example)
    for edited in reversed(texts):
        shown.follows(edited)
    for edited in texts:
        allowed = shown.allowed(find_consequences(edited).proposals)
        if allowed and allowed[0].kind.follows:
            return allowed
        alike = alike or allowed
    return alike


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
    return found
