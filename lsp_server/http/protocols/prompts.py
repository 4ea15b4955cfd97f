"""Prompts of models. Those for next edits contain the last edits; the others only both sides of the cursor."""

from lsp_server.http.protocols import sweep, zeta
from lsp_server.http.protocols.sentinels import split_prompt
from lsp_server.http.question import Question


def read_prompt(prompt: str) -> Question:
    """Return what a prompt asks. One without the tokens of any known model ends at the cursor."""
    found = zeta.read(prompt) or sweep.read(prompt)
    if found is not None:
        return found
    before, after, pieces, path = split_prompt(prompt)
    return Question(before, after, path, pieces=pieces)
