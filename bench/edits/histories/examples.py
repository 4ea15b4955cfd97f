"""Examples of next edits: the text in the middle of a commit, the edits that led to it, and the one that came next.

An example is one JSON object:

    repository, commit, split     where it comes from
    path, language, text          the file that is edited next, before that edit
    kind                          "edit", or why nothing follows: "finished" (the commit ends here), "reverted"
    history                       the edits so far, oldest first: {path, row, old, new, above, below}
    region                        {first, last, before, after}: rows [first, last) around the next edit, and what they
                                  become; None: nothing follows
    rest                          the edits of this file that are still to come, from top to bottom: {row, old, new}

All rows count from 0, those of a history or of `rest` in the text in which all edits before them are made. `above` and
`below` are the unchanged lines around an edit. Nobody knows in which order a commit was written: half of them are made
from top to bottom, the others in a random order.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.edits.histories.commits import Commit, Hunk, lines_of, made, reversed_hunk

MOST_EDITS = 6  # of one commit; more would make large commits count for more
MOST_HISTORY = 12
AROUND = 2  # lines in `above` and `below`
MARGIN = 4, 10  # the fewest and the most lines of a region on either side of its edit
SHUFFLED = 0.5  # of the commits
REVERTED = 0.25  # of the commits also give an example of an edit that was taken back


@dataclass(frozen=True, slots=True)
class _Step:
    """One edit of a commit and the text of its file before it."""

    path: str
    language: str
    text: str
    hunk: Hunk
    rest: tuple[Hunk, ...]  # of the file, this one among them, from top to bottom

    @property
    def after(self) -> str:
        return made(self.text, self.hunk)


def examples(commit: Commit) -> Iterator[dict[str, Any]]:
    """Yield the examples of one commit. They are the same for the same commit."""
    chance = random.Random(commit.id)
    steps = list(_steps(commit, chance))
    numbers = [number for number in range(1, len(steps)) if steps[number].hunk.says_something]
    for number in sorted(chance.sample(numbers, min(MOST_EDITS, len(numbers)))):
        step = steps[number]
        region = _region(step, chance)
        rest = [asdict(hunk) for hunk in step.rest]
        yield _example("edit", step, step.text, steps[:number]) | {"region": region, "rest": rest}
    yield _example("finished", steps[-1], steps[-1].after, steps)
    if chance.random() < REVERTED:
        number = chance.randrange(len(steps))
        step = steps[number]
        back = _Step(step.path, step.language, step.after, reversed_hunk(step.hunk), ())
        yield _example("reverted", step, step.text, [*steps[: number + 1], back])


def is_edited(example: dict[str, Any]) -> bool:
    """Return whether the example's file is among those edited so far."""
    return any(edit["path"] == example["path"] for edit in example["history"])


def earlier_texts(example: dict[str, Any]) -> Iterator[str]:
    """Yield the text before the newest edit of the example's file, then before the one before it, and so on."""
    text = example["text"]
    for edit in reversed(example["history"]):
        if edit["path"] == example["path"]:
            text = made(text, Hunk(edit["row"], edit["new"], edit["old"]))
            yield text


def _steps(commit: Commit, chance: random.Random) -> Iterator[_Step]:
    shuffled = chance.random() < SHUFFLED
    for file in chance.sample(commit.files, len(commit.files)) if shuffled else commit.files:
        text, left = file.text, list(file.hunks)
        for hunk in chance.sample(left, len(left)) if shuffled else file.hunks:
            missing = sum(one.growth for one in left if one.row < hunk.row)
            step = _Step(file.path, file.language, text, replace(hunk, row=hunk.row - missing), tuple(left))
            yield step
            text = step.after
            left.remove(hunk)


def _example(kind: str, step: _Step, text: str, history: Sequence[_Step]) -> dict[str, Any]:
    return {
        "path": step.path,
        "language": step.language,
        "text": text,
        "kind": kind,
        "history": [_shown(one) for one in history[-MOST_HISTORY:]],
        "region": None,
        "rest": [],
    }


def _shown(step: _Step) -> dict[str, Any]:
    lines, row = lines_of(step.text), step.hunk.row
    below = row + len(lines_of(step.hunk.old))
    around = {"above": lines[max(0, row - AROUND) : row], "below": lines[below : below + AROUND]}
    return {"path": step.path, **asdict(step.hunk), **{side: "".join(found) for side, found in around.items()}}


def _region(step: _Step, chance: random.Random) -> dict[str, Any]:
    """Return the lines around an edit. Its place among them is random, so that it tells nothing."""
    lines, row = lines_of(step.text), step.hunk.row
    last = row + len(lines_of(step.hunk.old))
    start, end = max(0, row - chance.randint(*MARGIN)), min(len(lines), last + chance.randint(*MARGIN))
    after = "".join((*lines[start:row], step.hunk.new, *lines[last:end]))
    return {"first": start, "last": end, "before": "".join(lines[start:end]), "after": after}
