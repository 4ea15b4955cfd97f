"""Mercury's `/v1/edit/completions`, as cursortab sends it: the next edit for a part of a file.

Source: mercuryapi.go of cursortab. The prompt is the only message:

    <|recently_viewed_code_snippets|>   other files
    <|current_file_content|>            the file, with the part that may change between two markers
    <|edit_diff_history|>               the last edits, as a patch
"""

from uuid import uuid4

import msgspec
from starlette.responses import Response

from infill_engine.errors import InputError
from lsp_server.http.protocols.exchange import Exchange, json_response
from lsp_server.http.protocols.patches import edits_of_patch
from lsp_server.http.question import Question, Reply

CURSOR = "<|cursor|>"
NOTHING = "None"
EVENTS = ("accept", "reject", "ignore")
NO_FILES = ("diagnostics", "treesitter_context", "staged_git_diff")
SNIPPET, SNIPPET_END = (
    "<|recently_viewed_code_snippet|>\ncode_snippet_file_path: ",
    "<|/recently_viewed_code_snippet|>",
)
FILE, FILE_END = "<|current_file_content|>\ncurrent_file_path: ", "<|/current_file_content|>"
PART, PART_END = "<|code_to_edit|>\n", "<|/code_to_edit|>\n"
HISTORY, HISTORY_END = "<|edit_diff_history|>\n", "<|/edit_diff_history|>"


class EditMessage(msgspec.Struct):
    """The prompt, or the response."""

    content: str
    role: str = "assistant"


class EditRequest(msgspec.Struct, kw_only=True):
    """A request. It has one message."""

    messages: list[EditMessage]
    model: str | None = None


class EditChoice(msgspec.Struct):
    """The part's new text between two lines of backticks, or `None`."""

    message: EditMessage
    index: int = 0
    finish_reason: str = "stop"


class EditResponse(msgspec.Struct, kw_only=True):
    """One choice."""

    id: str
    object: str = "chat.completion"
    model: str
    choices: list[EditChoice]


class EditEvent(msgspec.Struct, rename={"type": "user_action"}):
    """What the user did, for `/feedback`."""

    type: str


def question(asked: EditRequest) -> Question:
    """Return the question. Raises InputError for another prompt."""
    prompt = asked.messages[-1].content if asked.messages else ""
    snippets, _, rest = prompt.partition(FILE)
    file, _, rest = rest.partition(FILE_END)
    path, _, text = file.partition("\n")
    above, _, text = text.partition(PART)
    marked, _, below = text.partition(PART_END)
    before, placed, after = marked.partition(CURSOR)
    if not placed:
        raise InputError("the message must be one of Mercury's prompts for edits, with the cursor in the part to edit")
    others = (part.partition(SNIPPET)[2].partition("\n") for part in snippets.split(SNIPPET_END))
    return Question(
        above + before,
        after + below,
        path,
        pieces=tuple((name, text) for name, _, text in others if text and name not in NO_FILES),
        region=(len(above), len(above + before + after)),
        history=tuple(edits_of_patch(rest.partition(HISTORY)[2].partition(HISTORY_END)[0])),
    )


def respond(asked: EditRequest, reply: Reply) -> Response:
    """Return the part's new text, or `None` if there is none."""
    text = "```\n{}\n```".format(reply.texts[0].removesuffix("\n")) if reply.texts else NOTHING
    choices = [EditChoice(EditMessage(text))]
    return json_response(EditResponse(id=f"edit-{uuid4().hex}", model=asked.model or reply.model, choices=choices))


EXCHANGE = Exchange("Change a part of a file as the last edits require", EditRequest, EditResponse, question, respond)
