"""Which late answers the client is told of: what continues what is shown, and nothing that replaces it."""

from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types

from infill_engine.types import Answer, Candidate, Reason
from lsp_server.client_state import ClientFeatures, ClientState
from lsp_server.suggestions.late_answers import LateAnswers
from lsp_server.suggestions.outcomes import SuggestionTracker
from lsp_server.suggestions.request_builder import Insertion
from lsp_server.suggestions.unwanted import offered
from lsp_server.suggestions.workspace import Workspace

SURE, UNSURE = 0.9, 0.1


def answer(text: str, confidence: float = SURE) -> Answer:
    return Answer((Candidate(text, confidence),), show_from=0.5)


class Case:
    """A client that has asked at the end of `x = `."""

    def __init__(self, invoked: bool = False) -> None:
        self.told: list[Any] = []
        self.requests: Any = SimpleNamespace(
            workspace=Workspace(),
            engine=SimpleNamespace(takes_late=True),
            suggestions=SuggestionTracker(lambda _name, _number: None),
        )
        protocol: Any = SimpleNamespace(notify=lambda method, params: self.told.append((method, params)))
        self.late = LateAnswers(self.requests, protocol, ClientState(ClientFeatures("utf-16")))
        self.snapshot = self.requests.workspace.documents.open("file:///a.py", "python", "\U0001f600 = ", 7)
        self.insertion = Insertion(self.snapshot, (0, 4), (0, 4))
        self.answer = self.late.at(self.insertion, invoked=invoked)

    def shows(self, text: str) -> None:
        found = answer(text) if text else Answer(reason=Reason.DEADLINE)
        self.answer.replied(found)


@pytest.mark.parametrize(
    ("shown", "late", "confidence", "invoked", "is_told"),
    [
        ("", "alpha(1)", SURE, False, True),
        ("", "alpha(1)", UNSURE, False, False),
        ("", "alpha(1)", UNSURE, True, True),
        ("", "a", SURE, False, False),  # a single key
        ("alpha(", "alpha(1)", SURE, False, True),
        ("alpha(1)", "alpha(1)", SURE, False, False),
        ("alpha(1)", "beta(2)", SURE, False, False),
        ("alpha(1)", "alpha(", SURE, False, False),
        ("alpha(", "alpha(1)", UNSURE, False, False),
        ("alpha(", "alpha(1)", UNSURE, True, True),
    ],
)
def test_what_is_told(shown: str, late: str, confidence: float, invoked: bool, is_told: bool) -> None:
    case = Case(invoked)
    case.shows(shown)
    assert case.answer.found(answer(late, confidence)) is is_told
    told = [("infill/lateAnswer", {"uri": "file:///a.py", "version": 7, "position": types.Position(0, 5)})]
    assert case.told == (told if is_told else [])
    assert case.answer.shown == (late if is_told else shown)
    again = case.late.at(case.insertion, invoked=False)
    assert (again.again, again.explicit) == (is_told, is_told and invoked)


def test_what_was_told_of_counts_as_shown() -> None:
    case = Case()
    case.shows("")
    assert [case.answer.found(answer(text)) for text in ("alpha", "beta", "alpha(1)")] == [True, False, True]


def test_nothing_is_told_before_the_reply_or_after_a_change() -> None:
    case = Case()
    assert (case.answer.found(answer("alpha(1)")), case.answer.shown) == (False, None)
    case.shows("")
    case.requests.workspace.documents.open("file:///a.py", "python", "x = 1", 8)
    assert not case.answer.found(answer("alpha(1)"))


def test_lists_of_the_editor_are_left_alone() -> None:
    case = Case()
    for insertion in (Insertion(case.snapshot, (0, 3), (0, 4)), Insertion(case.snapshot, (0, 4), (0, 4), "lead")):
        assert case.late.at(insertion, invoked=False).on_late is None
    case.requests.engine.takes_late = False
    assert case.late.at(case.insertion, invoked=False).on_late is None


@pytest.mark.parametrize("invoked", [False, True])
def test_what_was_typed_past_is_told_only_to_those_who_asked(invoked: bool) -> None:
    case = Case(invoked)
    case.requests.suggestions.dismissals.typed_past("file:///a.py", offered(case.snapshot, (0, 4), (0, 4), "alpha(1)"))
    case.shows("")
    assert case.answer.found(answer("alpha(1)")) is invoked
