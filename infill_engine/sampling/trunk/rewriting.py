"""The next edit by the model: which lines of a region change, and what becomes of them.

lines of the region ──one pass──▶ where a change is likely ──▶ old lines as a draft ──▶ new lines
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from infill_engine.budget.work import Job, OutOfTime
from infill_engine.context.ngrams import Ngrams
from infill_engine.edits.by_model.similarity import NEWEST, Similarity
from infill_engine.edits.types import Region, ScoredChange
from infill_engine.models.trunk.denoiser import Floats, Ints
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.prompt_cache import PromptCache
from infill_engine.sampling.trunk.diff_prompt import DiffPrompt
from infill_engine.sampling.trunk.line_writing import LineWriter
from infill_engine.sampling.trunk.shared_passes import NoRoom, Writing, run_together

PLACES_AROUND, PLACES = 3, 1  # where a change is tried, around the newest edit and elsewhere
LEAST_WORTH = -4.0  # of a place
WRONG = 3.0  # nats by which a change becomes likelier at an error
PRUNING_MARGIN = 2.5  # nats below the best place: not worth a try
INSERTED_TOO = 1.5  # nats by which an insertion becomes likelier after another
MOST_LINES = 6  # removed or inserted
NOWHERE = -20.0
KEEP, REMOVE, INSERT = b" ", b"-", b"+"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a change may begin: the line's number, and the sign of the patch.

    `worth` is its log-probability, corrected for what the line has in common with the newest edits.
    """

    worth: float
    line: int
    sign: bytes


@dataclass
class Rewriting:
    """The search in one region. `part` is the number of rows that a pass may have. `found` are the changes so far."""

    model: TrunkModel
    cache: PromptCache
    prompt: DiffPrompt
    part: int
    region: Region
    found: list[ScoredChange] = field(default_factory=list)

    def run(self) -> Job[bool]:
        """Find changes, those at all likely places at the same time. Return whether there was time for all."""
        if not self.prompt.lines:
            return True
        unchanged = self._writer([], [])
        try:
            (starts,) = yield from run_together(self.model, self.cache, [self._line_starts(unchanged)], self.part)
            changes = [self._try(unchanged, place, starts[place.line]) for place in self._promising(starts)]
            yield from run_together(self.model, self.cache, changes, self.part)
        except OutOfTime:
            return False
        return True

    @cached_property
    def _region(self) -> list[int]:
        """The tokens of the region's lines, as unchanged."""
        return [token for line in self.prompt.lines for token in line.tokens]

    @cached_property
    def _patch(self) -> Ngrams:
        return Ngrams([np.array([*self.cache.prompt.prefix, *self.cache.prompt.middle, *self._region])])

    def _writer(self, slots: Sequence[int], tokens: Sequence[int]) -> LineWriter:
        return LineWriter(self.model.vocabulary, self.cache, self._patch, [*slots], [*tokens])

    def _line_starts(self, writer: LineWriter) -> Writing[list[Floats]]:
        """Read the region's lines as unchanged. Returns the prediction at the beginning of each [V]."""
        wanted, starts = {0}, list[Floats]()
        for line in self.prompt.lines:
            wanted.add(max(wanted) + len(line.tokens))
        while rest := self._region[len(writer.tokens) :]:
            first = len(writer.tokens) + 1
            rows = yield from writer.take(rest[: max(1, self.part - len(self.cache.waiting))])
            starts += [row.copy() for at, row in enumerate(rows, first) if at in wanted]
        after_prompt = self.cache.continuations.get(())
        assert after_prompt is not None  # the first pass has read it
        return [after_prompt.logprobs, *starts]

    def _promising(self, starts: Sequence[Floats]) -> list[_Place]:
        """Return the places where a change is tried, the most promising first."""
        places = self._places(starts)
        has_newest = any(line.is_fixed for line in self.prompt.lines)
        least = max(LEAST_WORTH, places[0].worth - PRUNING_MARGIN) if places else LEAST_WORTH
        return [place for place in places if place.worth >= least][: PLACES_AROUND if has_newest else PLACES]

    def _places(self, starts: Sequence[Floats]) -> list[_Place]:
        """Return where a change may begin, the most promising first."""
        history = self.region.history
        similarity, written = Similarity(history), self._written()
        inserts = INSERTED_TOO * any(edit.new.count("\n") > edit.old.count("\n") for edit in history[-NEWEST:])
        wrong = {error.row - self.prompt.first for error in self.region.diagnostics}
        found: list[_Place] = []
        for number, (line, start) in enumerate(zip(self.prompt.lines, starts, strict=False)):
            if line.is_fixed:
                continue
            found.append(_Place(_log_sum(start[self._tokens(INSERT)]) + inserts, number, INSERT))
            if line.text.strip() and line.text not in written:
                worth = _log_sum(start[self._tokens(REMOVE)]) + similarity.of(line.text) + WRONG * (number in wrong)
                found.append(_Place(worth, number, REMOVE))
        return sorted(found, key=lambda place: -place.worth)

    def _try(self, unchanged: LineWriter, place: _Place, start: Floats) -> Writing[None]:
        """Write the change that begins at a place, and record it."""
        try:
            change = yield from self._change(unchanged, place, start)
            if change is not None and self._doubles(change, place):
                change = yield from self._change(unchanged, place, start, change.inserted)
        except NoRoom:
            return
        if change is not None and not self._doubles(change, place):
            self.found.append(change)

    def _change(
        self, unchanged: LineWriter, place: _Place, start: Floats, other_than: Sequence[str] = ()
    ) -> Writing[ScoredChange | None]:
        """Write the change that begins at a place. What it inserts differs from `other_than`."""
        before = sum(len(line.tokens) for line in self.prompt.lines[: place.line])
        writer = self._writer(unchanged.slots[:before], self._region[:before])
        removed: list[str] = []
        inserted: list[str] = []
        sign, read = place.sign, None
        try:
            if sign == REMOVE:
                sign, start, read = yield from self._remove(writer, place.line, removed)
            if sign == INSERT:
                start = yield from self._insert(writer, start, read, removed, other_than, inserted)
        finally:
            writer.drop_all()
        if removed == inserted:
            return None
        return ScoredChange(
            place.worth,
            writer.logprob,
            writer.least,
            writer.written,
            writer.parting,
            _log_sum(start[self._tokens(KEEP)]),
            self.prompt.first + place.line,
            tuple(removed),
            tuple(inserted),
        )

    def _remove(
        self, writer: LineWriter, first: int, removed: list[str]
    ) -> Writing[tuple[bytes, Floats, Sequence[Floats] | None]]:
        """Remove lines from `first` on, at least one. Returns the sign that follows, and the prediction there [V].

        Mostly one line is replaced, so its draft is read with it: returns the predictions [V] after the draft's tokens,
        too, if the draft is still wanted.
        """
        lines, written = self.prompt.lines[first:], self._written()
        gone = {line for edit in self.region.history if not edit.new for line in edit.old.splitlines()}
        draft = self._encode(f"+{lines[0].text}\n")
        while True:
            removed.append(lines[len(removed)].text)
            rows = yield from writer.take([*self._encode(f"-{removed[-1]}\n"), *draft])
            start, read = rows[-len(draft) - 1], rows[-len(draft) :] if draft else None
            below = lines[len(removed)] if len(removed) < min(len(lines), MOST_LINES) else None
            more = below is not None and not below.is_fixed and below.text not in written
            may_end = gone.issuperset(removed) or len(removed) == MOST_LINES
            signs = (*([KEEP] if may_end else []), INSERT, *([REMOVE] if more else []))
            sign = self._likeliest_sign(start, signs)
            if sign != INSERT:
                writer.drop(len(draft))
            if sign != REMOVE:
                return sign, start, read
            draft = []

    def _insert(
        self,
        writer: LineWriter,
        start: Floats,
        read: Sequence[Floats] | None,
        removed: Sequence[str],
        other_than: Sequence[str],
        inserted: list[str],
    ) -> Writing[Floats]:
        """Insert lines, at least one. Returns the prediction after them [V]."""
        drafts = removed or other_than or self.region.history[-1].new.splitlines()
        # A line that alone is replaced becomes another one; a block is not inserted twice.
        same = [*removed] if len(removed) == 1 else [*other_than]
        sign = INSERT
        while sign == INSERT and len(inserted) < MOST_LINES:
            draft = self._encode(f"+{drafts[len(inserted)]}\n") if len(inserted) < len(drafts) else []
            told = len(inserted) < len(same) and inserted == same[: len(inserted)]
            differs = told and bool(same[len(inserted)].strip())
            text, start = yield from writer.write(start, self._tokens(INSERT), draft, read, must_differ=differs)
            inserted.append(text[1:])
            read = None
            sign = self._likeliest_sign(start, (KEEP, INSERT))
        return start

    def _written(self) -> set[str]:
        """Return the lines that the user has written, which are not to be changed."""
        return {line for edit in self.region.history for line in edit.new.splitlines() if line.strip()}

    def _doubles(self, change: ScoredChange, place: _Place) -> bool:
        """Return whether a change only repeats lines: those above or below it, or several that the user inserted."""
        lines, count = [line.text for line in self.prompt.lines], len(change.inserted)
        above, below = lines[max(0, place.line - count) : place.line], lines[place.line : place.line + count]
        made = [edit.new.splitlines() for edit in self.region.history if not edit.old]
        several = sum(map(bool, map(str.strip, change.inserted))) > 1
        return not change.removed and ([*change.inserted] in (above, below) or (several and [*change.inserted] in made))

    def _likeliest_sign(self, start: Floats, signs: Sequence[bytes]) -> bytes:
        return max(signs, key=lambda sign: _log_sum(start[self._tokens(sign)]))

    def _encode(self, text: str) -> list[int]:
        return self.model.vocabulary.encode(text)

    def _tokens(self, sign: bytes) -> Ints:
        """Return the tokens that begin with a sign."""
        return self.model.vocabulary.completions_of(sign)[0]


def _log_sum(logprobs: Floats) -> float:
    return float(np.logaddexp.reduce(logprobs)) if len(logprobs) else NOWHERE
