"""Writes lines of a patch with old text as their draft: one pass verifies as much of it as the model wants to keep."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.models.trunk.denoiser import Floats, Ints
from infill_engine.models.trunk.model import ReadPrompt, TrunkModel

DRAFTED = 12  # tokens of the draft that a pass verifies after a token that is not in it
MOST_PASSES = 20  # for one text: what needs more is mostly new, and seldom what the user wants
ALIGNED = 8  # tokens of the draft among which a written token is looked for


class NoRoom(Exception):  # noqa: N818  (not an error: another text may fit)
    """The text needs more passes or slots of the buffer than there are, or it is not a line of text."""


@dataclass
class LineWriter:
    """Writes after the tokens in `slots`. Log-probabilities are of the written tokens, signs included.

    `parting` is how much likelier the new text is than its draft at the first token in which they differ.
    """

    model: TrunkModel
    read: ReadPrompt
    slots: list[int]
    logprob: float = 0.0
    least: float = 0.0
    tokens: int = 0
    parting: float = 0.0
    passes: int = 0

    def take(self, tokens: Sequence[int]) -> Job[Floats]:
        """Read `tokens`. Returns the predictions after them [T, V]; the one after a prompt that waits comes first."""
        if len(tokens) > self.read.free_slots:
            raise NoRoom
        self.passes += 1
        yield Work(Phase.PASS, len(tokens) + len(self.read.waiting))
        parents = [[*self.slots, *(~row for row in range(count))] for count in range(len(tokens))]
        depths = range(len(self.slots), len(self.slots) + len(tokens))
        found = self.model.logprobs(self.read, tokens, depths, parents)
        self.slots += found.slots
        return found.logprobs

    def write(
        self, start: Floats, sign: Ints, draft: Sequence[int], read: Floats | None = None, *, must_differ: bool
    ) -> Job[tuple[str, Floats]]:
        """Write a line after the prediction `start` [V]; its first token is one of `sign`.

        `read` are the predictions after the tokens of the draft [D, V], if it has been read. Returns the line without
        its end, and the prediction after it [V]. Raises NoRoom.
        """
        line: list[int] = []
        rest = guess = list(draft)
        skipped = 0
        if read is None and guess:
            read = yield from self.take(guess)
        rows = [_only(start, sign), *(() if read is None else read)]
        while True:
            kept = next((at for at, token in enumerate(guess) if rows[at].argmax() != token), len(guess))
            differs = must_differ and kept == len(guess)
            if differs:
                kept = _likeliest_parting(rows, guess)
            must_differ = False
            for row, token in zip(rows, guess[:kept], strict=False):
                self._count(float(row[token]))
            line += guess[:kept]
            self.drop(len(guess) - kept)
            if line and self._ends(line[-1]):
                return self._text(line), rows[kept].copy()
            row = _without(rows[kept], guess[kept]) if differs else rows[kept]
            token = int(row.argmax())
            self._count(float(row[token]))
            if kept < len(guess) and not self.parting:
                self.parting = float(max(row[token] - rows[kept][guess[kept]], -20.0))
            line.append(token)
            lost = bool(skipped) and not kept
            rest = rest[skipped + kept :] if kept else rest
            met = rest[:ALIGNED].index(token) + 1 if token in rest[:ALIGNED] else 0
            rest, skipped = rest[met:], int(not met and not lost)
            if self.passes >= MOST_PASSES:
                raise NoRoom
            guess = [] if self._ends(token) or (lost and not met) else rest[skipped:][:DRAFTED]
            rows = list((yield from self.take([token, *guess])))
            if self._ends(token):
                return self._text(line), rows[0].copy()

    def _count(self, logprob: float) -> None:
        self.logprob += logprob
        self.least = min(self.least, logprob)
        self.tokens += 1

    def drop(self, count: int) -> None:
        """Give back the slots of the last tokens."""
        if count:
            del self.slots[-count:]
            self.read.continuations.used -= count

    def _ends(self, token: int) -> bool:
        return b"\n" in self.model.vocabulary.bytes_of(token)

    def _text(self, line: Sequence[int]) -> str:
        text = self.model.vocabulary.decode(line)
        if text is None or text.count("\n") != 1 or not text.endswith("\n"):
            raise NoRoom
        return text[:-1]


def _likeliest_parting(rows: Sequence[Floats], guess: Sequence[int]) -> int:
    """Return the place where the likeliest text other than the guess leaves it."""
    before, best, found = 0.0, -np.inf, 0
    for at, (row, token) in enumerate(zip(rows, guess, strict=False)):
        other = before + float(_without(row, token).max())
        if other > best:
            best, found = other, at
        before += float(row[token])
    return found


def _without(row: Floats, token: int) -> Floats:
    found = row.copy()
    found[token] = -np.inf
    return found


def _only(row: Floats, tokens: Ints) -> Floats:
    found = np.full_like(row, -np.inf)
    found[tokens] = row[tokens]
    return found
