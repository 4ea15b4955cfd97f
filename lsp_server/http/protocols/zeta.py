"""The prompts of Zeta 2, Zed's model for next edits, as Zed and cursortab send them.

Source: zeta_prompt.rs of Zed, format V0211SeedCoder. The suffix comes first. The text between the markers of a merge
conflict is to be rewritten; the response is its new text.
"""

from lsp_server.http.protocols.patches import edits_of_patch
from lsp_server.http.question import Question

SUFFIX, PREFIX, MIDDLE = "<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>"
FILE, CURSOR = "<filename>", "<|user_cursor|>"
BEGIN, END = "<<<<<<< CURRENT\n", "=======\n"
HISTORY = "edit_history"
NO_FILES = ("diagnostics", "context/")  # what clients send as files


def read(prompt: str) -> Question | None:
    """Return the question; None if the prompt has another form."""
    if not (prompt.startswith(SUFFIX) and prompt.endswith(END + MIDDLE)):
        return None
    below, found, head = prompt[len(SUFFIX) : -len(END + MIDDLE)].partition(PREFIX)
    *others, own = (file.partition("\n") for file in head.split(FILE))
    above, begun, marked = own[2].partition(BEGIN)
    before, placed, after = marked.partition(CURSOR)
    if not (found and begun and placed):
        return None
    return Question(
        above + before,
        after + below,
        own[0],
        pieces=tuple((name, text) for name, _, text in others if text and not name.startswith((HISTORY, *NO_FILES))),
        region=(len(above), len(above + before + after)),
        history=tuple(edit for name, _, text in others if name == HISTORY for edit in edits_of_patch(text)),
    )
