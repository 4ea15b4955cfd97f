"""Edits that prompts tell: read from patches, and taken back from the text that they led to."""

from collections.abc import Callable

import pytest

from infill_engine.edits.types import Consequences, EditedText, NoEditReason, PastEdit
from lsp_server.http.protocols.patches import edit_of_lines, edits_of_patch
from lsp_server.http.protocols.sentinels import read_prompt
from lsp_server.http.question import Question
from lsp_server.http.rewriting import retold


@pytest.mark.parametrize(
    ("patch", "edits"),
    [
        ("", []),
        ("no patch\n", []),
        ("--- a/x.py\n+++ b/x.py\n@@ -1,1 +1,1 @@\n-a\n+b\n", [PastEdit("x.py", "a\n", "b\n")]),
        ("--- x.py\n+++ x.py\n@@ -1,0 +1,2 @@\n+a\n+b\n\n", [PastEdit("x.py", "", "a\nb\n")]),
        ("--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-\n+b\n", [PastEdit("x", "", "b\n")]),  # cursortab's insertion
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n a\n-\n", [PastEdit("x", "\n", "", "a\n")]),
        (
            "// User accepted prediction:\n--- a/x\n+++ b/y z\n@@ -1,9 +1,9 @@\n 1\n 2\n 3\n 4\n-a\n+b\n 5\n-c\n 6\n",
            [PastEdit("y z", "a\n", "b\n", "2\n3\n4\n", "5\n"), PastEdit("y z", "c\n", "", "5\n", "6\n")],
        ),
        (
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- b\n+-- c\n@@ -9 +9 @@\n-d\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n+e\n",
            [PastEdit("x", "-- b\n", "-- c\n"), PastEdit("x", "d\n", ""), PastEdit("y", "", "e\n")],
        ),
    ],
)
def test_patches(patch: str, edits: list[PastEdit]) -> None:
    assert list(edits_of_patch(patch)) == edits


@pytest.mark.parametrize(
    "prompt",
    [
        "<[fim-suffix]>\n<[fim-prefix]><[fim-middle]>",
        "<[fim-suffix]>\n<[fim-prefix]><filename>a\n=======\n<[fim-middle]>",
        "<[fim-suffix]>\n<filename>a\n<<<<<<< CURRENT\n<|user_cursor|>\n=======\n<[fim-middle]>",
        "<|file_sep|>updated/a\n",
        "<|file_sep|>current/a\n<|cursor|>\n<|file_sep|>other/a\n",
    ],
)
def test_prompts_that_only_resemble_those_for_edits(prompt: str) -> None:
    assert read_prompt(prompt).region is None


@pytest.mark.parametrize(
    ("old", "new", "edit"),
    [
        ("a", "b", PastEdit("", "a\n", "b\n")),
        ("", "a\n", PastEdit("", "", "a\n")),
        ("a\nb\nc\n", "a\nB\nc", PastEdit("", "b\n", "B\n", "a\n", "c\n")),
        ("a\na", "a", PastEdit("", "a\n", "", "a\n")),
        ("a", "a", PastEdit("", "", "", "a\n")),
    ],
)
def test_lines_before_and_after(old: str, new: str, edit: PastEdit) -> None:
    assert edit_of_lines("", old, new) == edit


async def searched(text: str, *history: PastEdit) -> tuple[str, list[tuple[str, str]]]:
    """What consequences are searched for: the text before the edits, and the lines that they changed."""
    seen: list[EditedText] = []

    def find(edited: EditedText, _stop: Callable[[], bool]) -> Consequences:
        seen.append(edited)
        return Consequences(reason=NoEditReason.NO_CONSEQUENCE)

    told = retold(Question(text, "", "a.py", region=(0, len(text)), history=history), "untitled:/a.py", "python")
    told.next_edits.find = find
    assert await told.next_region() is None
    told.next_edits.end()
    assert all(edited.after == text for edited in seen)
    return (seen[-1].before, list(seen[-1].history)) if seen else (text, [])


@pytest.mark.parametrize(
    ("text", "history", "before", "changed"),
    [
        ("x\nb\ny\n", [PastEdit("a.py", "a\n", "b\n")], "x\na\ny\n", [("a", "b")]),
        ("x\nb\ny\n", [PastEdit("/a.py", "a\n", "b\n")], "x\na\ny\n", [("a", "b")]),
        ("x\nb\ny\n", [PastEdit("c.py", "a\n", "b\n")], "x\nb\ny\n", []),
        ("x\nb\ny\n", [PastEdit("a.py", "a\n", "c\n")], "x\nb\ny\n", []),  # it is not there any more
        ("x\ny\n", [PastEdit("a.py", "a\n", "", "x\n", "y\n")], "x\na\ny\n", [("a\ny", "y")]),
        ("x\ny\n", [PastEdit("a.py", "a\n", "", "w\n", "y\n")], "x\na\ny\n", [("a\ny", "y")]),  # w is outside
        ("x\ny\n", [PastEdit("a.py", "a\n", "")], "x\ny\n", []),  # nobody knows where it was
        # cursortab joins edits with lines between them
        ("b\nx\nd\n", [PastEdit("a.py", "a\nc\n", "b\nd\n")], "a\nx\nc\n", [("a", "b"), ("c", "d")]),
        ("x\nc\n", [PastEdit("a.py", "a\n", "b\n"), PastEdit("a.py", "b\n", "c\n")], "x\na\n", [("a", "c")]),
        # an edit that is not there any more is still an example
        (
            "x\nc\n",
            [PastEdit("a.py", "a\n", "z\n"), PastEdit("a.py", "b\n", "c\n")],
            "x\nb\n",
            [("a", "z"), ("b", "c")],
        ),
        ("y\n" * 51, [PastEdit("a.py", "a\n", "y\n" * 51)], "y\n" * 51, []),  # too long
        ("b\n1\n2\nb\n", [PastEdit("a.py", "a\n", "b\n")], "b\n1\n2\na\n", [("a", "b")]),  # the nearest one
    ],
)
async def test_edits_are_made_again(
    text: str, history: list[PastEdit], before: str, changed: list[tuple[str, str]]
) -> None:
    assert await searched(text, *history) == (before, changed)


async def test_a_fault_of_the_search_is_no_error_and_its_text_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    def find(edited: EditedText, _stop: Callable[[], bool]) -> Consequences:
        raise ValueError(edited.after)

    history = (PastEdit("a.py", "a\n", "secret\n"),)
    told = retold(Question("secret\n", "", "a.py", region=(0, 7), history=history), "untitled:/a.py", "python")
    told.next_edits.find = find
    assert await told.next_region() is None
    told.next_edits.end()
    assert "a search for next edits failed: ValueError" in caplog.text
    assert "secret" not in caplog.text
