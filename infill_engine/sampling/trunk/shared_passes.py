"""Passes that several texts share: a pass reads what all of them want next, because a few more rows cost little."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.models.trunk.denoiser import Floats
from infill_engine.models.trunk.model import ReadPrompt, TrunkModel

T = TypeVar("T")


class NoRoom(Exception):  # noqa: N818  (not an error: another text may fit)
    """The text needs more passes or slots of the buffer than there are, or it is not a line of text."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Tokens to read after those in the slots `after`."""

    after: Sequence[int]
    tokens: Sequence[int]


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predictions after some tokens [T, V], whose keys are in `slots`."""

    slots: list[int]
    logprobs: Floats


Writing = Generator[Wanted, Predicted, T]


def run_together(model: TrunkModel, read: ReadPrompt, writings: Sequence[Writing[T]], most_rows: int) -> Job[list[T]]:
    """Run all writings to their ends, and return what they return.

    When rows are scarce, earlier writings take precedence. A pass has at most `most_rows` rows, unless a single writing
    wants more. A writing whose tokens find no slots waits for those that others give back. If all of them wait, NoRoom
    is raised in the last one.
    """
    ended: dict[int, T] = {}
    wanted: dict[int, Wanted] = {}

    def go_on(number: int, found: Predicted | NoRoom | None) -> None:
        wanted.pop(number, None)
        writing = writings[number]
        try:
            wanted[number] = writing.throw(found) if isinstance(found, NoRoom) else writing.send(found)  # type: ignore[arg-type]
        except StopIteration as end:
            ended[number] = end.value

    for number in range(len(writings)):
        go_on(number, None)
    while wanted:
        chosen = _fitting(wanted, read.free_slots, most_rows - len(read.waiting))
        if not chosen:
            go_on(max(wanted), NoRoom())
            continue
        yield Work(Phase.PASS, len(read.waiting) + sum(len(wanted[number].tokens) for number in chosen))
        for number, found in _one_pass(model, read, {number: wanted[number] for number in chosen}):
            go_on(number, found)
    return [ended[number] for number in range(len(writings))]


def _fitting(wanted: dict[int, Wanted], free: int, most_rows: int) -> list[int]:
    """Return the writings whose tokens the next pass reads."""
    chosen: list[int] = []
    for number in sorted(wanted):
        count = len(wanted[number].tokens)
        if count <= free and (count <= most_rows or not chosen):
            chosen.append(number)
            free, most_rows = free - count, most_rows - count
    return chosen


def _one_pass(model: TrunkModel, read: ReadPrompt, wanted: dict[int, Wanted]) -> list[tuple[int, Predicted]]:
    tokens: list[int] = []
    depths: list[int] = []
    parents: list[list[int]] = []
    for each in wanted.values():
        rows = range(len(tokens), len(tokens) + len(each.tokens))
        parents += [[*each.after, *(~before for before in range(rows.start, row))] for row in rows]
        depths += range(len(each.after), len(each.after) + len(rows))
        tokens += each.tokens
    found = model.logprobs(read, tokens, depths, parents)
    at, split = 0, list[tuple[int, Predicted]]()
    for number, each in wanted.items():
        part = slice(at, at := at + len(each.tokens))
        split.append((number, Predicted(found.slots[part], found.behind[part])))
    return split
