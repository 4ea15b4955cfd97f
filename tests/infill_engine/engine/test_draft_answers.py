"""Answers from retrieved drafts alone, as they are given while the model is being loaded."""

import subprocess
import sys

from infill_engine.engine.draft_answers import answer_from_drafts
from infill_engine.types import Draft, InfillRequest, Reason

PREFIX = "def load(path):\n    with open(path, encoding='utf-8') as file:\n        return json.load("
COPY = Draft("file)", copied=40)


def test_a_copy_is_offered_with_its_confidence() -> None:
    answer = answer_from_drafts(InfillRequest(PREFIX, "\n", drafts=(COPY,)))
    (candidate,) = answer.candidates
    assert candidate.text == "file)"
    assert candidate.confidence >= answer.show_from
    assert not answer.final


def test_a_short_match_is_not_shown_unasked() -> None:
    answer = answer_from_drafts(InfillRequest("x = ", "\n", drafts=(Draft("other", copied=1),)))
    assert answer.candidates[0].confidence < answer.show_from


def test_without_drafts_loading_is_the_reason() -> None:
    for drafts in ((), None):
        assert answer_from_drafts(InfillRequest(PREFIX, "\n", drafts=drafts)).reason is Reason.LOADING


def test_the_server_needs_no_torch_for_it() -> None:
    program = "import sys, infill_engine.engine.draft_answers; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
