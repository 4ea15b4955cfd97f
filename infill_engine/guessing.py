"""What one model makes of one request: from both sides of a hole to guesses.

encode both sides ──▶ write drafts ──▶ plan the canvas ──▶ denoise ──▶ judge every text
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from infill_engine.answering import Guessed, Watch, since, unread_guess
from infill_engine.context.surroundings import CountedSurroundings
from infill_engine.deadline import CostModel, Deadline, Reading, Reserve, now
from infill_engine.lines import first_line
from infill_engine.models.base import (
    Context,
    ContextUnread,
    Continuation,
    ModelFamily,
    ProposedLength,
    ReadsOn,
    unhurried,
)
from infill_engine.models.devices import finish
from infill_engine.sampler.denoise import Row, Step, denoise
from infill_engine.sampler.guesses import guesses_of, originals_of, unread_own
from infill_engine.sampler.plan import WORTHWHILE_STEPS, affordable, canvas_of, plan_rows
from infill_engine.sampler.rules import rules_for
from infill_engine.settings import SamplerSettings
from infill_engine.types import Draft, Guess, Hole, InfillRequest, Source, Surroundings

OWN_DRAFTS = 6  # texts that the family writes itself before the canvas is laid out
USUAL_TOKENS = 4  # of such a line, if it is right; where there is no time for so many, none is begun
LOOKS = 1  # steps that must still be possible afterwards
JUDGED_TOKENS = 32  # of all texts together, usually: in the end they are read once more
STEPS_BESIDE_OWN = 2  # where there are such drafts, further steps change nothing for the better


@dataclass(frozen=True, slots=True)
class Room:
    """What there is memory for: rows of a canvas, and slots of each."""

    rows: int
    slots: int


@dataclass(slots=True)
class _Costs:
    """What a denoising step over so many slots has taken, reading so many tokens, writing one in each of so many rows,
    and counting in so many new lines.
    """

    step: CostModel = field(default_factory=CostModel)
    reading: CostModel = field(default_factory=CostModel)
    writing: CostModel = field(default_factory=CostModel)
    counting: CostModel = field(default_factory=CostModel)


@dataclass(frozen=True, slots=True)
class _Read:
    """A request whose context has been encoded, up to the `partial_word` that the cursor stands in."""

    context: Context
    partial_word: str
    request: InfillRequest
    hole: Hole
    drafts: tuple[Draft, ...]


class Guessing:
    """A loaded model, what its work has cost so far, and the text it has counted. One request at a time."""

    def __init__(self, family: ModelFamily, settings: SamplerSettings, reserve: Reserve) -> None:
        self.family = family
        self._settings = settings
        self._reserve = reserve  # for what follows the guesses
        self._costs = _Costs()
        self._surroundings = CountedSurroundings(family.vocabulary.encode)

    def surround(self, surroundings: Surroundings) -> Iterator[None]:
        """Counts the text around a document, of use to requests that name it; yields after every 2 ms or so."""
        return self._surroundings.count(surroundings)

    def forget_costs(self) -> None:
        """Measure anew: the first steps pay for what only happens once."""
        self._costs = _Costs()

    def guess(
        self,
        request: InfillRequest,
        hole: Hole,
        drafts: tuple[Draft, ...],
        deadline: Deadline,
        room: Room,
        watch: Watch | None = None,
    ) -> Guessed:
        """All texts that were found for a hole in time. `watch` sees the canvas after every step."""
        began = now()
        try:
            read = _Read(*self._encode(request, deadline), request, hole, drafts)
        except ContextUnread:
            return Guessed([unread_guess(draft) for draft in drafts] or None, since(began), unread=True)
        encode_ms = since(began)
        began = now()
        guesses = self._denoise(read, deadline, room, watch)
        # Worth another try where no canvas had time for a step, or what the request names was not counted yet.
        looked = not guesses or any(guess.steps for guess in guesses)
        counted = not (self.family.spec.window.surroundings and request.surroundings) or self._near(request) is not None
        return Guessed(guesses, encode_ms, since(began), final=looked and counted)

    def read_ahead(self, request: InfillRequest, deadline: Deadline) -> None:
        """Encodes a request's two sides, so that a later request nearby finds them cached.

        And what its prompt would show, where the family has one, and counts the text that candidates are judged by.
        Raises ContextUnread if there is no time for all of it.
        """
        context, partial_word = self._encode(request, deadline)
        if isinstance(self.family, ReadsOn):
            reading = self._reading(deadline, self._costs.reading, self._reserve.predict_ms())
            self.family.prompt(context, reading.go_on)
            reading.pause()
            self.family.count(request.around(partial_word), unhurried)

    def _near(self, request: InfillRequest) -> Any:
        """The counts of the text that a request names; None if there are none, or not yet."""
        return self._surroundings.get(request.surroundings)

    def _reading(self, deadline: Deadline, costs: CostModel, reserve_ms: float) -> Reading:
        """A GPU is waited for: it is handed its work and has not done it."""
        return Reading(deadline, costs, reserve_ms, partial(finish, self.family.device))

    def _encode(self, request: InfillRequest, deadline: Deadline) -> tuple[Context, str]:
        """Both sides encoded, the prefix only up to the word the cursor stands in, and the beginning of that word.

        Raises ContextUnread if there is no time for all of it.
        """
        prefix, partial_word = self.family.vocabulary.split_partial_word(request.prefix)
        reading = self._reading(deadline, self._costs.reading, self._reserve.predict_ms())
        context = self.family.encode(prefix, request.suffix, reading.go_on)
        reading.pause()
        return context, partial_word

    def _denoise(self, read: _Read, deadline: Deadline, room: Room, watch: Watch | None) -> list[Guess] | None:
        """All guesses, or None when not even one step could be afforded and nothing was retrieved or written."""
        settings = replace(self._settings, reserve_ms=self._reserve.predict_ms())
        aimed = deadline.sooner(settings.aim)
        lengths = self.family.propose_lengths(read.context, read.hole.kind, read.request.candidates)
        prompt, written = self._written(read, aimed)
        if prompt is not None:
            settings = replace(settings, reserve_ms=settings.reserve_ms + self._judging_ms())
        if written:
            settings = replace(settings, max_steps=min(settings.max_steps, STEPS_BESIDE_OWN))
        rows = self._rows(read, lengths, written, room, aimed.remaining_ms() - settings.reserve_ms)
        if not rows:  # no length was proposed: the family has nothing to say here
            return []
        step = self._last_step(read, rows, settings, aimed, watch)
        guesses = [
            *([] if step is None else guesses_of(self.family, step, rows, read.partial_word, settings)),
            *self._as_found(read, written, rows, step),
        ]
        if prompt is not None:
            guesses = self._judged(guesses, prompt, read, deadline)
        return guesses or (None if step is None else [])

    def _last_step(
        self, read: _Read, rows: list[Row], settings: SamplerSettings, deadline: Deadline, watch: Watch | None
    ) -> Step | None:
        """The canvas as far as it can be denoised in time; None where there is no time for a single step."""
        canvas = canvas_of(rows, self.family.spec.mask_id)
        rules = rules_for(self.family, read.hole, canvas, read.partial_word)
        costs, step = self._costs.step, None
        for step in denoise(self.family, read.context, read.hole.kind, canvas, rows, rules, settings, deadline, costs):
            if watch is not None:
                watch(self.family, step)
        return step

    def _rows(
        self, read: _Read, lengths: list[ProposedLength], written: list[Continuation], room: Room, time_ms: float
    ) -> list[Row]:
        """The rows of the canvas, as many as there are memory and time for."""
        request, steps = read.request, LOOKS if written else WORTHWHILE_STEPS
        rows = plan_rows(self.family, lengths, read.drafts, written, read.partial_word, request.candidates, room.slots)
        return affordable(self.family, read.context, rows[: room.rows], self._costs.step, time_ms, steps)

    def _as_found(
        self, read: _Read, written: list[Continuation], rows: list[Row], step: Step | None
    ) -> Iterator[Guess]:
        """All drafts as they were retrieved or written, those too for which no canvas had room or time."""
        seen = [] if step is None else originals_of(self.family, step, rows, read.partial_word)
        yield from seen
        copies = {guess.text for guess in seen if guess.source is Source.RETRIEVAL}
        own = {guess.text for guess in seen if guess.source is Source.MODEL}
        yield from (unread_guess(draft) for draft in read.drafts if draft.text not in copies)
        yield from (guess for guess in unread_own(self.family, written, read.partial_word) if guess.text not in own)

    def _written(self, read: _Read, deadline: Deadline) -> tuple[Any, list[Continuation]]:
        """Drafts of the family's own, where the hole is of one line and there is time to look at them too.

        And the prompt that they were written by, None where there is none.
        """
        if read.hole.max_lines > 1 or not isinstance(self.family, ReadsOn):
            return None, []
        looking_ms = LOOKS * self._costs.step.predict_ms(self.family.spec.max_slots * 2)
        afterwards = self._reserve.predict_ms() + looking_ms + self._judging_ms()
        writing_ms = USUAL_TOKENS * self._costs.writing.predict_ms(OWN_DRAFTS)
        if not deadline.allows(afterwards + writing_ms):
            self._costs.writing.relent()
            return None, []
        reading = self._reading(deadline, self._costs.reading, afterwards + writing_ms)
        try:
            prompt = self.family.prompt(read.context, reading.go_on)
        except ContextUnread:
            return None, []
        reading.pause()
        writing = self._reading(deadline, self._costs.writing, afterwards)
        right = first_line(read.request.suffix)
        written = self.family.read_on(prompt, read.partial_word, right, OWN_DRAFTS, writing.go_on)
        writing.pause()
        return prompt, written

    def _judging_ms(self) -> float:
        """What `_judged` is expected to take."""
        return self._costs.reading.predict_ms(JUDGED_TOKENS)

    def _judged(self, guesses: list[Guess], prompt: Any, read: _Read, deadline: Deadline) -> list[Guess]:
        """The guesses, each with the likelihood of its text, where there is still time to ask for it."""
        assert isinstance(self.family, ReadsOn)
        texts = list(dict.fromkeys(guess.text for guess in guesses if not guess.partial))
        request, reserve_ms = read.request, self._reserve.predict_ms()
        right, project = first_line(request.suffix), self._near(request)
        counting = self._reading(deadline, self._costs.counting, reserve_ms)
        reading = self._reading(deadline, self._costs.reading, reserve_ms)
        try:
            near = self.family.count(request.around(read.partial_word), counting.go_on)
            counting.pause()
            found = self.family.judge(prompt, read.partial_word, right, texts, near, project, reading.go_on)
        except ContextUnread:
            return guesses
        reading.pause()
        likelihoods = dict(zip(texts, found, strict=True))
        return [replace(guess, likelihood=likelihoods.get(guess.text)) for guess in guesses]
