"""Random typing, cycling, accepting and undoing: the buffer is always what the person saw and did.

INFILL_E2E_SEQUENCES is how many sequences there are, INFILL_E2E_SEED the first one's number.
"""

import os
import random
import re
import time
from dataclasses import dataclass, field

import pytest
from nvim_editor import CURSOR, Editor

SEQUENCES = int(os.environ.get("INFILL_E2E_SEQUENCES", "16"))
SEED = int(os.environ.get("INFILL_E2E_SEED", "0"))
OPERATIONS = 14
PAUSE = 0.5  # the longest that a pause waits for ghost text
FALLS_THROUGH = "~"  # what the accept key types where there is none
LINES = ("x = ", "z = ", "f(mid(|), 2)", "'😀é' + ", "y = ")
LETTERS = "abeghlmot(1é ,"
KEYS = {"accept": "<Tab>", "word": "<M-w>", "line": "<M-l>", "next": "<M-]>", "previous": "<M-[>", "dismiss": "<C-]>"}
PARTS = {"accept": r"(?s).*", "word": r"\s*(?:\w+|[^\w\s]+)|(?s:.*)", "line": r"\n*[^\n]*"}
# How often something is done while ghost text is shown, and while there is none.
SHOWN = {
    "accept": 3,
    "word": 4,
    "line": 1,
    "next": 3,
    "previous": 1,
    "dismiss": 1,
    "letter": 1,
    "through": 5,
    "ahead": 3,
    "backspace": 1,
    "undo": 1,
}
NOT_SHOWN = {"open line": 8, "pause": 2, "letter": 2, "backspace": 2, "accept": 1, "word": 1, "undo": 2}

# What is shown and the key that is pressed upon it, with nothing in between.
_LOOK_AND_PRESS = """
local keys = ...
local row, column = unpack(vim.api.nvim_win_get_cursor(0))
local namespace = vim.api.nvim_get_namespaces()['nvim.lsp.inline_completion']
local found = {}
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
  local lines = { mark[4].virt_text }
  vim.list_extend(lines, mark[4].virt_lines or {})
  table.insert(found, { mark[2] == row - 1 and mark[3] == column, lines })
end
vim.api.nvim_input(keys)
return found
"""


@dataclass
class Person:
    """What should be in the buffer. `steps` are the texts that undo goes back to."""

    left: str = ""
    right: str = ""
    steps: list[str] = field(default_factory=list)
    typing: bool = False
    done: list[str] = field(default_factory=list)

    @property
    def marked(self) -> str:
        return self.left + CURSOR + self.right

    def types(self, left: str) -> None:
        if not self.typing:
            self.steps.append(self.left + self.right)
        self.left, self.typing = left, True

    def takes(self, text: str) -> None:
        self.steps.append(self.left + self.right)
        self.left, self.typing = self.left + text, False


@pytest.mark.parametrize("seed", range(SEED, SEED + SEQUENCES))
def test_sequence(nvim: Editor, seed: int) -> None:
    rng = random.Random(seed)
    nvim.command(f"inoremap <Tab> {FALLS_THROUGH}")
    for keys in ("<M-w>", "<M-l>", "<M-]>", "<M-[>"):
        nvim.command(f"inoremap {keys} <Nop>")
    nvim.open(CURSOR, "notes.txt")
    nvim.command("setlocal noautoindent")
    person = Person()
    for _ in range(OPERATIONS):
        weights = SHOWN if nvim.ghost() else NOT_SHOWN
        operation = rng.choices(list(weights), list(weights.values()))[0]
        person.done.append(operation)
        _do(nvim, person, operation, rng)
        try:
            nvim.until_marked(person.marked)
        except AssertionError as fault:
            raise AssertionError(f"expected {person.marked!r} after {person.done}") from fault


def _do(nvim: Editor, person: Person, operation: str, rng: random.Random) -> None:
    match operation:
        case "pause":
            _pause(nvim)
        case "open line":
            before, _, after = rng.choice(LINES).partition("|")
            nvim.type("<End><CR>" + before + after + "<Left>" * len(after))
            # Keys that move the cursor end an undo step.
            person.left, person.right, person.typing = person.left + person.right, "", False
            person.types(person.left + "\n" + before)
            person.right, person.typing = after, not after
            nvim.until_marked(person.marked)
            _pause(nvim)
        case "letter" | "through" | "ahead":
            shown = nvim.ghost() or ""
            text = rng.choice(LETTERS)
            if operation != "letter" and shown:
                text = shown.split(" (")[0].split("\n")[0][: 1 if operation == "through" else 3] or text
            nvim.type(text.replace("<", "<lt>"))
            person.types(person.left + text)
        case "backspace":
            if person.left and not person.left.endswith("\n"):
                nvim.type("<BS>")
                person.types(person.left[:-1])
        case "undo":
            _undo(nvim, person)
        case _:
            _press(nvim, person, operation)


def _pause(nvim: Editor) -> None:
    end = time.monotonic() + PAUSE
    while nvim.ghost() is None and time.monotonic() < end:
        time.sleep(0.01)


def _press(nvim: Editor, person: Person, operation: str) -> None:
    marks = nvim.lua(_LOOK_AND_PRESS, KEYS[operation])
    assert len(marks) <= 1, "one ghost text at a time"
    for at_cursor, _lines in marks:
        assert at_cursor, f"ghost text elsewhere than at the cursor, after {person.done}"
    if operation not in PARTS:
        return
    if marks:
        # Neovim's hint, such as (2/3), is not a part of the text.
        lines = ["".join(text for text, *highlight in line if highlight != ["ComplHintMore"]) for line in marks[0][1]]
        person.takes(re.match(PARTS[operation], "\n".join(lines))[0])
    elif operation == "accept":
        person.types(person.left + FALLS_THROUGH)


def _undo(nvim: Editor, person: Person) -> None:
    """Leaves insert mode, takes one step back, and goes on at the end."""
    nvim.type("<Esc>u")
    before = person.steps.pop() if person.steps else person.left + person.right
    nvim.until(lambda: nvim.text == before)
    nvim.type("GA")
    person.left, person.right, person.typing = before, "", False
