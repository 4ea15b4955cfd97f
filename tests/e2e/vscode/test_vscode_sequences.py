"""Random typing, cycling, accepting and undoing: the text is always what the person saw and did.

INFILL_E2E_SEQUENCES is how many sequences there are, INFILL_E2E_SEED the first one's number.
"""

import os
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from driver.scripts_said import scripted
from driver.workbench import CURSOR, Workbench

SEQUENCES = int(os.environ.get("INFILL_E2E_SEQUENCES", "6"))
SEED = int(os.environ.get("INFILL_E2E_SEED", "0"))
OPERATIONS = 12
PAUSES = 4  # looks at the screen in a pause, unless there is ghost text
RULES = [
    {"before": "x = ", "candidates": ["alpha(1)", "beta(2, 3)", "gamma"]},
    {"before": "y = ", "candidates": ["other"]},
    {"before": "z = ", "candidates": ["table(1)", "tail(2)"]},
    {"before": "mid(", "candidates": ["first", "second"]},
    {"before": "'😀é' + ", "candidates": ["'ünï' + tail"]},
    {"before": "():\n    ", "candidates": ["one = 1\n    return one", "pass"]},
]
LINES = ("x = ", "y = ", "z = ", "f(mid(|), 2)", "'😀é' + ", "def f():\n    ")
LETTERS = "abeghlmot(1é ,"
KEYS = {
    "accept": "Tab",
    "word": "Control+ArrowRight",
    "line": "Control+Alt+ArrowRight",
    "next": "Alt+]",
    "previous": "Alt+[",
    "dismiss": "Escape",
}
# A word as VS Code has it by default, or what stands before the next one; with white space up to its end only.
WORD = re.compile(r"(-?\d*\.\d\w*)|([^`~!@#$%^&*()\-=+\[{\]}\\|;:'\",.<>/?\s]+)")
# How often something is done while ghost text is shown, and while there is none.
SHOWN = {
    "accept": 3,
    "word": 4,
    "line": 2,
    "next": 3,
    "previous": 1,
    "dismiss": 1,
    "letter": 1,
    "through": 5,
    "ahead": 3,
    "backspace": 1,
    "undo": 1,
}
NOT_SHOWN = {"open line": 8, "pause": 2, "letter": 2, "backspace": 2, "next": 1, "undo": 2}


@dataclass
class Person:
    """What should be in the editor. `past` has the text before each change, and whether undo takes that one alone."""

    left: str = ""
    right: str = ""
    past: list[tuple[str, bool]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.left + self.right

    @property
    def cursor(self) -> str:
        return f"Ln {self.left.count(chr(10)) + 1}, Col {len(self.left.rpartition(chr(10))[2]) + 1}"

    def types(self, text: str) -> None:
        for letter in text:
            self._changes(self.left + letter, alone=False)

    def deletes(self) -> None:
        self._changes(self.left[:-1], alone=False)

    def takes(self, text: str) -> None:
        self._changes(self.left + text, alone=True)

    def earlier(self) -> list[str]:
        """The texts that undo may go back to. Typing it takes by words of its own; what was taken, at once."""
        found: list[str] = []
        for text, alone in reversed(self.past):
            if alone and found:
                break
            found.append(text)
            if alone:
                break
        return found

    def goes_back_to(self, text: str) -> None:
        while self.past.pop()[0] != text:
            pass
        self.left, self.right = text, ""

    def _changes(self, left: str, *, alone: bool) -> None:
        self.past.append((self.text, alone))
        self.left = left


@pytest.fixture(scope="module")
def own(scratch: Path) -> tuple[str, dict[str, Any]]:
    """A model for these sequences."""
    return "sequences.json", {"model": scripted(scratch, "sequences", rules=RULES)}


@pytest.fixture
def typed(code: Workbench) -> Workbench:
    code.note_keys()
    return code


@pytest.mark.parametrize("seed", range(SEED, SEED + SEQUENCES))
def test_sequence(typed: Workbench, seed: int) -> None:
    rng = random.Random(seed)
    path = typed.open(f"sequence_{seed}.py", CURSOR)
    person = Person()
    try:
        for _ in range(OPERATIONS):
            weights = SHOWN if typed.steady().ghost else NOT_SHOWN
            operation = rng.choices(list(weights), list(weights.values()))[0]
            person.done.append(operation)
            _do(typed, person, operation, rng)
            _expect(typed, person)
        assert typed.saved(path).decode() == person.text
        while person.past:
            _undo(typed, person)
        assert person.text == ""
    except AssertionError as fault:
        raise AssertionError(f"expected {person.left + CURSOR + person.right!r} after {person.done}") from fault


def _do(code: Workbench, person: Person, operation: str, rng: random.Random) -> None:
    match operation:
        case "pause":
            _pause(code)
        case "open line":
            before, _, after = rng.choice(LINES).partition("|")
            code.press("End")
            code.type_text("\n" + before + after)
            code.press(*["ArrowLeft"] * len(after))
            person.left, person.right = person.text, ""
            person.types("\n" + before + after)
            person.left, person.right = person.left.removesuffix(after), after
            _expect(code, person)
            _pause(code)
        case "letter" | "through" | "ahead":
            shown = code.seen().ghost
            text = rng.choice(LETTERS)
            if operation != "letter" and shown:
                text = shown.split("\n")[0][: 1 if operation == "through" else 3]
            code.type_text(text)
            person.types(text)
        case "backspace":
            if person.left and not person.left.endswith("\n"):
                code.press("Backspace")
                person.deletes()
        case "undo":
            if person.past:
                _undo(code, person)
        case _:
            _press(code, person, operation)


def _pause(code: Workbench) -> None:
    for _ in range(PAUSES):
        if code.steady().ghost:
            break


def _press(code: Workbench, person: Person, operation: str) -> None:
    code.press(KEYS[operation])
    seen = code.seen_at_key()
    assert seen.at_cursor or not seen.ghost, "ghost text elsewhere than at the cursor"
    if operation in PARTS and seen.ghost:
        person.takes(PARTS[operation](seen.ghost))
    if operation == "dismiss":
        code.until(lambda: not code.seen().ghost, "no ghost text")


def _word(ghost: str) -> str:
    found = WORD.search(ghost)
    end = len(ghost) if not found else found.start() or found.end()
    space = re.search(r"\s+", ghost)
    return ghost[: min(end, space.end()) if space else end]


PARTS = {"accept": str, "word": _word, "line": lambda ghost: re.match(r"[^\n]*\n?", ghost)[0]}


def _undo(code: Workbench, person: Person) -> None:
    """Take one step back, and go on at the end."""
    code.press("Control+z")
    code.until(lambda: code.seen().text != person.text, "something undone")
    text = code.steady().text
    assert text in person.earlier(), f"{text!r} is none of {person.earlier()}"
    code.press("Control+End")
    person.goes_back_to(text)
    _expect(code, person)


def _expect(code: Workbench, person: Person) -> None:
    expected = (person.text, person.cursor)
    code.until(
        lambda: (code.seen().text, code.cursor()) == expected, repr(expected), lambda: (code.seen(), code.cursor())
    )
