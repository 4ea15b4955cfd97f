"""Reads examples of next edits and lays out one region of each: around its next edit, or elsewhere."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.edits.histories.systems import past_edits_of, questions
from bench.json_lines import places, read_at
from infill_engine.edits.by_model import Region, request_for
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.sampling.trunk.diff_prompt import DiffPrompt, diff_prompt
from infill_engine.types import InfillRequest
from train.next_edits.layout import Laid, LineChange, changes_in, lay_out

OTHER_REGION = 0.25  # share of the examples with an edit that show a region without it
FINISHED = 0.6  # share of the examples without an edit that are used


class Examples:
    """The examples of a file of JSON lines, in a random order that starts again after the last one."""

    def __init__(self, path: Path, vocabulary: TrunkVocabulary, seed: int) -> None:
        self._path, self._vocabulary, self._rng = path, vocabulary, random.Random(seed)
        with path.open("rb") as lines:
            self._places = [at for at, _ in places(lines)]

    def __len__(self) -> int:
        return len(self._places)

    def laid(self) -> Iterator[Laid]:
        """Yield regions without end."""
        while True:
            for example in self._shuffled():
                found = self._lay_out(example)
                if found is not None:
                    yield found

    def _shuffled(self) -> Iterator[dict[str, Any]]:
        with self._path.open("rb") as lines:
            for at in self._rng.sample(self._places, len(self._places)):
                yield read_at(lines, at)

    def _lay_out(self, example: dict[str, Any]) -> Laid | None:
        rng, text = self._rng, example["text"]
        edited = example["kind"] == "edit"
        if not edited and rng.random() > FINISHED:
            return None
        choices = [self._changes(example, *question) for question in questions(example)]
        with_edit = [choice for choice in choices if choice[1]]
        usable = [choice for choice in choices if not choice[1]]
        if edited and (not usable or rng.random() >= OTHER_REGION):
            own = self._changes(example, *_own_region(example, text))
            usable = with_edit or ([own] if own[1] else [])
        if not usable:
            return None
        prompt, changes = rng.choice(usable)
        return lay_out(prompt, changes, self._vocabulary) if prompt.lines else None

    def _changes(
        self, example: dict[str, Any], region: Region, request: InfillRequest
    ) -> tuple[DiffPrompt, list[LineChange]]:
        """Return the prompt for a region, and the edits to come in its lines."""
        prompt = diff_prompt(self._vocabulary, request)
        first = example["text"].count("\n", 0, region.start) + prompt.first
        return prompt, list(changes_in(prompt, first, list(_hunks(example))))


def _own_region(example: dict[str, Any], text: str) -> tuple[Region, InfillRequest]:
    """Return the region that the example has around its next edit, and the request."""
    lines = text.splitlines(keepends=True)
    first, last = example["region"]["first"], example["region"]["last"]
    start = sum(map(len, lines[:first]))
    region = Region(start, start + sum(map(len, lines[first:last])))
    return region, request_for(text, region, example["language"], example["path"], past_edits_of(example))


def _hunks(example: dict[str, Any]) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the edits to come, with rows of the current text."""
    grown = 0
    for hunk in example["rest"]:
        old, new = hunk["old"].splitlines(), hunk["new"].splitlines()
        yield hunk["row"] - grown, old, new
        grown += len(new) - len(old)
