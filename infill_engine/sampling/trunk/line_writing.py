"""Writes lines of a patch. Old text is their draft: one pass verifies as much of it as the model wants to keep.

Where the old text does not help, what followed the same tokens elsewhere in the patch is the draft.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from infill_engine.context.ngrams import LONGEST, Ngrams
from infill_engine.models.trunk.denoiser import Floats, Ints
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.models.trunk.prompt_cache import PromptCache
from infill_engine.sampling.trunk.shared_passes import NoRoom, Wanted, Writing

DRAFTED = 12  # tokens of the old text that a pass verifies after a token that is not in it
REPEATED = 6  # tokens that are looked up elsewhere in the patch
MOST_PASSES = 20  # for one text: what needs more is mostly new, and seldom what the user wants
ALIGNED = 8  # tokens of the draft among which a written token is looked for


@dataclass
class LineWriter:
    """Writes after the `tokens` in `slots`. Log-probabilities are of the written tokens, signs included.

    `patch` indexes the prompt and the region. `parting` is how much likelier the new text is than the old one at the
    first token in which they differ.
    """

    vocabulary: TrunkVocabulary
    read: PromptCache
    patch: Ngrams
    slots: list[int]
    tokens: list[int]
    logprob: float = 0.0
    least: float = 0.0
    written: int = 0
    parting: float = 0.0
    passes: int = 0
    _before: int = field(init=False)  # tokens that are not the writer's own

    def __post_init__(self) -> None:
        self._before = len(self.tokens)

    def take(self, tokens: Sequence[int]) -> Writing[list[Floats]]:
        """Read `tokens`. Returns the prediction after each of them [V]."""
        self.passes += 1
        found = yield Wanted(self.slots, tokens)
        self.slots = [*self.slots, *(one.slot for one in found)]
        self.tokens = [*self.tokens, *tokens]
        return [one.logprobs for one in found]

    def drop(self, count: int) -> None:
        """Give back the slots of the last tokens."""
        if count:
            self.read.continuations.give_back(self.slots[-count:])
            del self.slots[-count:], self.tokens[-count:]

    def drop_all(self) -> None:
        """Give back the slots of all tokens that the writer has read."""
        self.drop(len(self.tokens) - self._before)

    def write(
        self,
        start: Floats,
        sign: Ints,
        draft: Sequence[int],
        read: Sequence[Floats] | None = None,
        *,
        must_differ: bool,
    ) -> Writing[tuple[str, Floats]]:
        """Write a line after the prediction `start` [V]; its first token is one of `sign`.

        `read` are the predictions [V] after each token of the draft, if it has been read. Returns the line without
        its end, and the prediction after it [V]. Raises NoRoom.
        """
        line: list[int] = []
        old = _OldText(list(draft))
        guess = list(draft)
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
            if old.guessed and kept < len(guess) and not self.parting:
                self.parting = float(max(row[token] - rows[kept][guess[kept]], -20.0))
            line.append(token)
            if self.passes >= MOST_PASSES:
                raise NoRoom
            guess = old.after(kept, token)[:DRAFTED]
            if self._ends(token):
                rows = yield from self.take([token])
                return self._text(line), rows[0].copy()
            guess = guess or self._repeated(token)
            rows = yield from self.take([token, *guess])

    def _repeated(self, token: int) -> list[int]:
        """Return what mostly followed a token and those before it elsewhere in the patch, up to the end of a line."""
        found: list[int] = []
        while len(found) < REPEATED and not (found and self._ends(found[-1])):
            usual = self.patch.usual_next([*self.tokens[-LONGEST:], token, *found][-LONGEST:])
            if usual is None:
                break
            found.append(usual[0])
        return found

    def _count(self, logprob: float) -> None:
        self.logprob += logprob
        self.least = min(self.least, logprob)
        self.written += 1

    def _ends(self, token: int) -> bool:
        return b"\n" in self.vocabulary.bytes_of(token)

    def _text(self, line: Sequence[int]) -> str:
        text = self.vocabulary.decode(line)
        if text is None or text.count("\n") != 1 or not text.endswith("\n"):
            raise NoRoom
        return text[:-1]


@dataclass
class _OldText:
    """The old text from the place on that a new one has reached. `guessed` tells whether the last guess was from it."""

    rest: list[int]
    guessed: bool = True
    _skipped: int = 0  # tokens at the beginning of `rest` that the last guess left out

    def after(self, kept: int, token: int) -> list[int]:
        """Return the old text that is likely to follow the first `kept` tokens of the last guess and a new token."""
        failed = self.guessed and bool(self._skipped) and not kept
        if self.guessed and kept:
            self.rest = self.rest[self._skipped + kept :]
        near = self.rest[:ALIGNED]
        met = near.index(token) + 1 if token in near else 0
        self.rest = self.rest[met:]
        self._skipped = int(not met and not failed)
        guess = [] if failed and not met else self.rest[self._skipped :]
        self.guessed = bool(guess)
        return guess


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
