"""Draws examples of next edits and lays out their regions: around the next edit, and where nothing changes.

Half of the regions have no change: those of finished and taken-back states, above all around lines that only look like
the edited ones, and others of a text that changes elsewhere.
"""

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.edits.histories.systems import question
from bench.json_lines import places, read_at
from infill_engine.edits.by_model.regions import region_of, regions
from infill_engine.edits.types import Region
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.sampling.trunk.diff_prompt import DiffPrompt, diff_prompt
from train.next_edits.layout import Laid, LineChange, changes_in, lay_out
from train.next_edits.packing import Pack, pack

EDITS = 0.7  # share of the examples that have a next edit
BESIDE = 0.5  # share of the examples that also show a region without a change
ALIKE = 0.7  # of the regions without a change, if there is one that is not around the newest edit
AGAIN = 0.2  # share of the examples that are drawn a second time, because they were hard
HARD = 0.6, 0.9  # the quantiles of the recent losses between which an example is hard; above, nobody could know
RECENT, LEAST_RECENT = 500, 50  # losses of either kind

_Choice = tuple[DiffPrompt, list[LineChange]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The regions of an example, where it begins in its file, and whether it has a next edit."""

    at: int
    edited: bool
    pack: Pack


class Deck:
    """The examples of a file of JSON lines in a random order. Hard ones come twice."""

    def __init__(self, path: Path, vocabulary: TrunkVocabulary, seed: int) -> None:
        self._path, self._vocabulary, self._rng = path, vocabulary, random.Random(seed)
        self._kinds: dict[bool, list[int]] = {True: [], False: []}
        with path.open("rb") as lines:
            for at, line in places(lines):
                self._kinds[b'"kind": "edit"' in line].append(at)
        self._orders = {edited: self._endless(found) for edited, found in self._kinds.items()}
        self._hard: dict[bool, list[int]] = {True: [], False: []}
        self._losses = {edited: deque[float](maxlen=RECENT) for edited in (True, False)}

    def __len__(self) -> int:
        return sum(map(len, self._kinds.values()))

    def draw(self) -> Iterator[Drawn]:
        """Yield examples without end."""
        with self._path.open("rb") as lines:
            while True:
                edited = self._rng.random() < EDITS
                hard = self._hard[edited]
                again = bool(hard) and self._rng.random() < AGAIN
                at = hard.pop(self._rng.randrange(len(hard))) if again else next(self._orders[edited])
                regions = list(self._regions(read_at(lines, at)))
                if regions:
                    yield Drawn(at, edited, pack(regions))

    def learned(self, drawn: Drawn, loss: float) -> None:
        """Take note of an example's loss: if it is hard, it is drawn again."""
        recent = self._losses[drawn.edited]
        recent.append(loss)
        if len(recent) >= LEAST_RECENT:
            ordered = sorted(recent)
            least, most = (ordered[int(bound * len(ordered))] for bound in HARD)
            if least < loss <= most:
                self._hard[drawn.edited].append(drawn.at)
                del self._hard[drawn.edited][:-RECENT]

    def _endless(self, found: Sequence[int]) -> Iterator[int]:
        while found:
            yield from self._rng.sample(found, len(found))

    def _regions(self, example: dict[str, Any]) -> Iterator[Laid]:
        """Yield one region with the next edit, if there is one, and perhaps one without a change."""
        rng, edited = self._rng, example["kind"] == "edit"
        choices = [self._choice(example, region) for region in regions(question(example))]
        if edited:
            with_edit = [choice for choice in choices if choice[1]]
            with_edit = with_edit or [self._choice(example, _own_region(example))]
            prompt, changes = rng.choice(with_edit)
            if not changes:
                return
            yield lay_out(prompt, changes, self._vocabulary)
        still = [choice for choice in choices if not choice[1] and choice[0].lines]
        wanted = (not edited) + (rng.random() < BESIDE)
        while still and wanted:
            alike = len(still) > 1 and rng.random() < ALIKE
            prompt, changes = still.pop(rng.randrange(1, len(still)) if alike else 0)
            yield lay_out(prompt, changes, self._vocabulary)
            wanted -= 1

    def _choice(self, example: dict[str, Any], region: Region) -> _Choice:
        """Return the prompt for a region, and the edits to come in its lines."""
        prompt = diff_prompt(self._vocabulary, region)
        first = example["text"].count("\n", 0, region.start) + prompt.first
        return prompt, list(changes_in(prompt, first, list(_hunks(example))))


def _own_region(example: dict[str, Any]) -> Region:
    """Return the region that the example has around its next edit."""
    lines = example["text"].splitlines(keepends=True)
    first, last = example["region"]["first"], example["region"]["last"]
    start = sum(map(len, lines[:first]))
    return region_of(question(example), start, start + sum(map(len, lines[first:last])))


def _hunks(example: dict[str, Any]) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the edits to come, with rows of the current text."""
    grown = 0
    for hunk in example["rest"]:
        old, new = hunk["old"].splitlines(), hunk["new"].splitlines()
        yield hunk["row"] - grown, old, new
        grown += len(new) - len(old)
