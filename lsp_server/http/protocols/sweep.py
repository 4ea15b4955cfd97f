"""The prompts of Sweep's models for next edits, as cursortab sends them.

Source: sweep.go of cursortab. Each section begins with a name:

    PATH                 the file around the cursor
    OTHER                other files
    PATH.diff            an edit: the lines before and after
    current/PATH:A:B     the window around the cursor, which may change
    updated/PATH:A:B     its first lines, which stay; the response continues them

Zed's similar prompts say neither where the cursor is nor whether the window ends with a line break. The response to
them is empty.
"""

import re

from infill_engine.edits.types import PastEdit
from lsp_server.http.protocols.patches import edit_of_lines
from lsp_server.http.question import Question

SECTION, CURSOR = "<|file_sep|>", "<|cursor|>"
CURRENT, UPDATED, DIFF = "current/", "updated/", ".diff"
NO_FILES = ("original/", "context/")
_ROWS = re.compile(r":\d+:\d+$")
_EDIT = re.compile(r"original:\n(.*?)\n?updated:\n(.*)", re.DOTALL)


def read(prompt: str) -> Question | None:
    """Return the question; None if the prompt has another form."""
    _, *sections = ((name, text) for name, _, text in (part.partition("\n") for part in prompt.split(SECTION)))
    if len(sections) < 2 or not sections[-1][0].startswith(UPDATED) or not sections[-2][0].startswith(CURRENT):
        return None
    *others, (name, marked), (_, kept) = sections
    path = _ROWS.sub("", name.removeprefix(CURRENT))
    before, placed, after = marked.removesuffix("\n").partition(CURSOR)
    if not placed:
        return Question("", "", path, candidates=0, region=(0, 0))
    window = before + after
    whole = next((text.removesuffix("\n") for other, text in others if other == path), window)
    start = whole.find(window)
    if start < 0 or not window.startswith(kept):
        whole, start, kept = window, 0, kept if window.startswith(kept) else ""
    cursor = start + len(before)
    return Question(
        whole[:cursor],
        whole[cursor:],
        path,
        pieces=tuple(other for other in others if other[0] != path and _is_file(*other)),
        region=(start + len(kept), start + len(window)),
        history=tuple(edit for other in others if (edit := _edit(*other)) is not None),
    )


def _is_file(name: str, text: str) -> bool:
    return bool(text) and not name.startswith(NO_FILES) and _edit(name, text) is None


def _edit(name: str, text: str) -> PastEdit | None:
    found = _EDIT.match(text) if name.endswith(DIFF) else None
    return None if found is None else edit_of_lines(name.removesuffix(DIFF), found[1], found[2])
