"""What the model predicted after texts that continue a prompt, kept with their keys and values.

A later request for the same place starts from there. If the user has typed the beginning of such a text, its tokens
become part of the prompt, and what is known about the rest of it stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from infill_engine.models.trunk.denoiser import Floats, Ints
from infill_engine.models.trunk.slots import SLOTS, TEXTS

LEAST_FREE = 64  # free slots that a new request should find; with fewer, everything is forgotten
Path = tuple[int, ...]  # the tokens of a text from the end of the prompt on


@dataclass(frozen=True, slots=True)
class Prediction:
    """What follows a text: log-probabilities [V] in nats, and the likeliest tokens [K], best first.

    `slot` has the keys and values of its last token; -1 for the empty text.
    """

    logprobs: Floats
    likeliest: Ints
    slot: int


def _all_slots() -> list[int]:
    return [*reversed(range(TEXTS, SLOTS))]


@dataclass(slots=True)
class Continuations:
    """The predictions after texts by their tokens, and the slots that are free, the lowest one last."""

    _free: list[int] = field(default_factory=_all_slots)
    _after: dict[Path, Prediction] = field(default_factory=dict)

    @property
    def free_slots(self) -> int:
        """How many more tokens fit."""
        return len(self._free)

    def take(self, count: int) -> list[int]:
        """Return the lowest free slots, which are free no longer."""
        return [self._free.pop() for _ in range(count)]

    def give_back(self, slots: Sequence[int]) -> None:
        """Make slots free again. No prediction may be kept for them."""
        self._free = sorted((*self._free, *slots), reverse=True)

    def get(self, path: Path) -> Prediction | None:
        """Return the prediction after a text, if it is known; the empty text is the prompt itself."""
        return self._after.get(path)

    def keep(self, path: Path, prediction: Prediction) -> None:
        """Keep the prediction after a text."""
        self._after[path] = prediction

    def known_part(self, path: Path) -> list[int]:
        """Return the slots of the first tokens of a text, as many as are known."""
        slots: list[int] = []
        while len(slots) < len(path) and (found := self._after.get(path[: len(slots) + 1])) is not None:
            slots.append(found.slot)
        return slots

    def advance(self, by: Sequence[int]) -> None:
        """Move the end of the prompt over these tokens. Only texts that begin with them stay."""
        start, count = tuple(by), len(by)
        self._after = {path[count:]: found for path, found in self._after.items() if path[:count] == start}

    def clear(self) -> None:
        """Forget everything."""
        self._after.clear()
        self._free = _all_slots()
