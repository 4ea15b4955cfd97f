"""What was deleted does not come back unasked. ⟦…⟧ is deleted key by key, then keys are typed and a text is offered."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

from infill_engine.types import Answer, Candidate, Reason
from lsp_server.documents.snapshots import TextChange
from lsp_server.protocol.positions import Place
from lsp_server.suggestions.outcomes import SuggestionTracker
from lsp_server.suggestions.request_builder import Insertion
from lsp_server.suggestions.unasked import unasked
from lsp_server.suggestions.workspace import Workspace

URI = "file:///a"
PYTHON = "def area(w, h):\n    size = w * h\n⟦    return size⟧\n\nprint(area(1, 2))\n"
GO = "func load(p string) ([]byte, error) {\n\tif err != nil {\n⟦\t\treturn nil, err⟧\n\t}\n\treturn b, nil\n}\n"
RUST = "fn area(w: u32) -> u32 {\n    let size = w;⟦\n    size⟧\n}\n"
CASES = [
    # the text, what is typed then, and what is offered; None if it stays away
    (PYTHON, "    ", "return size", None),
    (PYTHON, "", "    return size", None),
    (PYTHON, "    ", "return size * 2", None),
    (PYTHON, "    ret", "urn size", None),
    (PYTHON, "    ", "return w", "return w"),
    (PYTHON, "    raise ", "return size", "return size"),
    (PYTHON, "    x = 1\n    ", "return size", "return size"),
    (GO, "\t\t", "return nil, err", None),
    (GO, "\t\t", "panic(err)", "panic(err)"),
    (RUST, "\n    ", "size", None),
    (RUST, "\n    ", "size()", None),
    ("def f():\n⟦    a = 1\n    return a⟧\n", "    ", "a = 1\n    b = 2", None),
    ("x = ⟦ab⟧\n", " ", "ab", "ab"),  # a typing error
    ("print(⟦first⟧, second)\n", "", "first", None),
    ("⟦whole file⟧", "", "whole file", None),
]


def place_of(text: str) -> Place:
    return text.count("\n"), len(text) - text.rfind("\n") - 1


class Document:
    """A document in which keys are pressed."""

    def __init__(self, text: str) -> None:
        workspace, self.suggestions = Workspace(), SuggestionTracker(lambda _name, _number: None)
        self.requests: Any = SimpleNamespace(workspace=workspace, suggestions=self.suggestions)
        self.documents, self.text = workspace.documents, text
        self.documents.open(URI, "python", text)

    def edit(self, start: int, end: int, new: str) -> None:
        change = TextChange(new, place_of(self.text[:start]), place_of(self.text[:end]))
        self.suggestions.changed(self.documents.change(URI, change))
        self.text = self.text[:start] + new + self.text[end:]

    def erase(self, start: int, end: int, *, forwards: bool = False) -> None:
        for at in reversed(range(start, end)):
            self.edit(start if forwards else at, (start if forwards else at) + 1, "")

    def shown(self, at: int, text: str) -> Answer:
        snapshot, place = self.documents.get(URI), place_of(self.text[:at])
        assert snapshot is not None
        return unasked(self.requests, Insertion(snapshot, place, place), Answer((Candidate(text, 0.9),)))


def opened(marked: str) -> tuple[Document, int, int]:
    found = re.search("⟦(.*)⟧", marked, re.DOTALL)
    assert found is not None
    return Document(re.sub("[⟦⟧]", "", marked)), found.start(), found.start() + len(found[1])


@pytest.mark.parametrize("forwards", [False, True])
@pytest.mark.parametrize(("marked", "typed", "text", "expected"), CASES)
def test_what_comes_back(marked: str, typed: str, text: str, expected: str | None, forwards: bool) -> None:
    document, start, end = opened(marked)
    document.erase(start, end, forwards=forwards)
    for key in typed:
        document.edit(start, start, key)
        start += 1
    answer = document.shown(start, text)
    assert [each.text for each in answer.candidates] == ([] if expected is None else [expected])
    assert answer.reason is (Reason.DELETION if expected is None else None)


@pytest.mark.parametrize("marked", [PYTHON, GO])
def test_edits_on_other_lines_change_nothing(marked: str) -> None:
    document, start, end = opened(marked)
    deleted = document.text[start:end]
    document.edit(start, end, "")
    document.edit(0, 0, "x\n")
    document.edit(len(document.text), len(document.text), "y\n")
    document.edit(len(document.text) - 2, len(document.text) - 1, "")
    assert document.shown(start + 2, deleted.strip()).reason is Reason.DELETION


def test_a_closed_document_is_forgotten() -> None:
    document, start, end = opened(PYTHON)
    document.erase(start, end)
    document.suggestions.left(URI)
    assert document.shown(start, "return size").reason is None
