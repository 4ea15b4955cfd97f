"""Passes that several texts share: a pass reads what all of them want next, because a few more rows cost little."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.models.trunk.continuations import Prediction
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.prompt_cache import PromptCache

T = TypeVar("T")


class NoRoom(Exception):  # noqa: N818  (not an error: another text may fit)
    """The text needs more passes or slots of the buffer than there are, or it is not a line of text."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Tokens to read after those in the slots `after`."""

    after: Sequence[int]
    tokens: Sequence[int]


Writing = Generator[Wanted, list[Prediction], T]  # receives the predictions after the tokens


def run_together(model: TrunkModel, cache: PromptCache, writings: Sequence[Writing[T]], most_rows: int) -> Job[list[T]]:
    """Run all writings to their ends, and return what they return.

    When rows are scarce, earlier writings take precedence. A pass has at most `most_rows` rows, unless a single writing
    wants more. A writing whose tokens find no slots waits for those that others give back. If all of them wait, NoRoom
    is raised in the last one.
    """
    ended: dict[int, T] = {}
    wanted: dict[int, Wanted] = {}

    def go_on(number: int, found: list[Prediction] | NoRoom | None) -> None:
        wanted.pop(number, None)
        writing = writings[number]
        try:
            wanted[number] = writing.throw(found) if isinstance(found, NoRoom) else writing.send(found)  # type: ignore[arg-type]
        except StopIteration as end:
            ended[number] = end.value

    for number in range(len(writings)):
        go_on(number, None)
    while wanted:
        chosen = _fitting(wanted, cache.free_slots, most_rows - len(cache.waiting))
        if not chosen:
            go_on(max(wanted), NoRoom())
            continue
        rows = len(cache.waiting) + sum(len(wanted[number].tokens) for number in chosen)
        yield Work(Phase.PASS, model.cost_rows(rows))
        for number, found in _one_pass(cache, {number: wanted[number] for number in chosen}):
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


def _one_pass(cache: PromptCache, wanted: dict[int, Wanted]) -> Iterator[tuple[int, list[Prediction]]]:
    tokens: list[int] = []
    depths: list[int] = []
    parents: list[list[int]] = []
    for each in wanted.values():
        rows = range(len(tokens), len(tokens) + len(each.tokens))
        parents += [[*each.after, *(~before for before in range(rows.start, row))] for row in rows]
        depths += range(len(each.after), len(each.after) + len(rows))
        tokens += each.tokens
    after, _ = cache.run_pass(tokens, depths, parents)
    found = iter(after)
    for number, each in wanted.items():
        yield number, [*islice(found, len(each.tokens))]
