"""The canvas recorded while it is denoised, and shown afterwards: drawing must not take time from the deadline."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import exp
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from infill_engine.canvas.canvas import State
from lsp_server.commands.listing import visible

if TYPE_CHECKING:
    from infill_engine.models.base import ModelFamily
    from infill_engine.sampler.denoise import Step

SECONDS_A_STEP = 0.6  # a step takes milliseconds; this is for the eye
MASK = "▒▒"
END = "∎"
LINE_BREAK = "⏎"
SURE_STYLES = ((0.9, "bold green"), (0.6, "green"), (0.3, "yellow"), (0.0, "red"))


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot as it is shown: `text` of its token, and the token's probability."""

    text: str
    state: State
    probability: float = 1.0


Frame = tuple[tuple[Slot, ...], ...]  # rows of slots


@dataclass(slots=True)
class Film:
    """The canvas after every step."""

    _steps: "list[tuple[ModelFamily, Step]]" = field(default_factory=list)

    def record(self, family: "ModelFamily", step: "Step") -> None:
        """Keep a step; the loop goes on to write into its arrays. To be given to `Engine.answer` as `watch`."""
        from copy import deepcopy

        self._steps.append((family, deepcopy(step)))

    def frames(self) -> Iterator[Frame]:
        """The canvas before the first step, then after each."""
        for number, (family, step) in enumerate(self._steps):
            if number == 0:
                yield _frame(family, step, before=True)
            yield _frame(family, step)

    def show(self, console: Console) -> None:
        """Replay it in a terminal, or print one line for each row and step."""
        frames = list(self.frames())
        if not frames:
            console.print("No denoising step could be taken in time.")
        elif console.is_terminal and not console.is_dumb_terminal:
            with Live(console=console, auto_refresh=False) as live:
                for number, frame in enumerate(frames):
                    live.update(_drawing(number, frame), refresh=True)
                    time.sleep(SECONDS_A_STEP)
        else:
            for number, frame in enumerate(frames):
                console.print(_drawing(number, frame), soft_wrap=True)


def _frame(family: "ModelFamily", step: "Step", *, before: bool = False) -> Frame:
    canvas = step.canvas
    rows: list[list[Slot]] = [[] for _ in range(canvas.rows)]
    for position in range(canvas.slots):
        token, state = int(canvas.ids[position]), State(int(canvas.state[position]))
        if before:
            # Nothing but a draft can hold a decided token that this step did not write.
            was_draft = state is not State.OPEN and not step.changed[position]
            state = State.DRAFT if was_draft else State.OPEN
        text = END if token == family.spec.eos_id else _token_text(family, token)
        rows[int(canvas.row[position])].append(Slot(text, state, exp(min(0.0, float(canvas.logprob[position])))))
    return tuple(map(tuple, rows))


def _token_text(family: "ModelFamily", token: int) -> str:
    text = family.vocabulary.bytes_of(token).decode("utf-8", "replace")
    return visible(text.replace("\r\n", "\n").replace("\n", LINE_BREAK))


def _drawing(number: int, frame: Frame) -> Text:
    drawing = Text().append(f"step {number}" if number else "canvas", "bold")
    for row in frame:
        drawing.append("\n    ")
        for slot in row:
            if slot.state is State.OPEN:
                drawing.append(MASK, "dim")
            elif slot.text == END:
                drawing.append(END, "dim")
                break  # what stands behind the end of the text belongs to no candidate
            else:
                drawing.append(slot.text, _style(slot))
    return drawing


def _style(slot: Slot) -> str:
    if slot.state is State.DRAFT:
        return "italic cyan"
    return next(style for least, style in SURE_STYLES if slot.probability >= least)
