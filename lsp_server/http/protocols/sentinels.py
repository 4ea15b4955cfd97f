"""Prompts that contain the tokens of a fill-in-the-middle model instead of naming both sides of the cursor."""

import re

from infill_engine.models.published.fim_tokens import KNOWN, PREFIX, SUFFIX
from lsp_server.http.protocols import sweep, zeta
from lsp_server.http.question import Pieces, Question

_FURTHER = (
    ("<PRE> ", PREFIX, " <SUF>", SUFFIX, " <MID>"),  # Code Llama
    ("[SUFFIX]", SUFFIX, "[PREFIX]", PREFIX),  # Codestral
    ("<|code_prefix|>", PREFIX, "<|code_suffix|>", SUFFIX, "<|code_middle|>"),  # GLM
)
FORMATS = (*dict.fromkeys(tokens.prompt for tokens in KNOWN), *_FURTHER)
_FILE = re.compile(r"<\|file_sep\|>|<file_sep>|<filename>|<\|file_separator\|>")
_BEGINNINGS = tuple(tokens.begin for tokens in KNOWN if tokens.begin)
_REPOSITORY = re.compile(r"<\|repo_name\|>|<repo_name>|<reponame>")


def split_prompt(prompt: str) -> tuple[str, str, Pieces, str]:
    """Return the text before and after the cursor, the pieces of other files, and the document's path.

    A prompt without the tokens of any known model ends at the cursor.
    """
    for order in FORMATS:
        if order[0] in prompt and (found := _sides(prompt, order)) is not None:
            head, before, after = found
            pieces, path = _pieces(head)
            return before, after, pieces, path
    return prompt, "", (), ""


def _sides(prompt: str, order: tuple[str, ...]) -> tuple[str, str, str] | None:
    """Return what precedes the first token, and the two sides; None if a token is missing."""
    head, _, rest = prompt.partition(order[0])
    first, found, rest = rest.partition(order[2])
    if not found:
        return None
    second, last = rest, order[4] if len(order) > 4 else ""
    if last:
        second, found, _ = rest.rpartition(last)
        if not found:
            return None
    return (head, first, second) if order[1] == PREFIX else (head, second, first)


def _pieces(head: str) -> tuple[Pieces, str]:
    """Return the files before the first token, last first, and the path of one without text: the document's own."""
    for token in _BEGINNINGS:
        head = head.removeprefix(token)
    named, *files = _FILE.split(head)
    pieces = [(path.strip(), text) for path, _, text in (file.partition("\n") for file in files)]
    path = pieces.pop()[0] if pieces and not pieces[-1][1].strip() else ""
    if named.strip() and not _REPOSITORY.match(named):
        pieces.insert(0, ("", named))
    return tuple((path, text) for path, text in reversed(pieces) if text.strip()), path


def read_prompt(prompt: str) -> Question:
    """Return what a prompt asks. One without the tokens of any known model ends at the cursor."""
    found = zeta.read(prompt) or sweep.read(prompt)
    if found is not None:
        return found
    before, after, pieces, path = split_prompt(prompt)
    return Question(before, after, path, pieces=pieces)
