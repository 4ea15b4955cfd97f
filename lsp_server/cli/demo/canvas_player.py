"""Records what each pass of the model decides and replays it afterwards, so that drawing takes no time."""

import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.text import Text

from infill_engine.budget.work import PassState
from infill_engine.serving.preview import DRAFT, OPEN, PreviewRows, previewing
from infill_engine.serving.protocol import PreviewRow
from lsp_server.cli.terminal import visible

SECONDS_A_STEP = 0.6  # a real step takes milliseconds; this is slow enough to watch
MASK = "▒▒"
END = "∎"
LINE_BREAK = "⏎"
SURE_STYLES = ((0.9, "bold green"), (0.6, "green"), (0.3, "yellow"), (0.0, "red"))


@dataclass(slots=True)
class CanvasPlayer:
    """Stores the texts, or the canvas, after every pass."""

    _passes: list[PassState] = field(default_factory=list)

    def record(self, after: PassState) -> None:
        """Store a copy, because the loop reuses its arrays. Pass this method to `Engine.answer` as `observer`."""
        self._passes.append(PassState(after.model, deepcopy(after.state)))

    def frames(self) -> Iterator[PreviewRows]:
        """Yield the canvas after each step."""
        shown: list[PreviewRows] = []
        observer = previewing(lambda: True, lambda _step, rows: shown.append(rows))
        for after in self._passes:
            observer(after)
            yield from shown
            shown.clear()

    def show(self, console: Console) -> None:
        """Replay the canvas in a terminal, or print one line per row and step elsewhere."""
        frames = list(self.frames())
        if not frames:
            console.print("No pass could be made in time.")
        elif console.is_terminal and not console.is_dumb_terminal:
            with Live(console=console, auto_refresh=False) as live:
                for number, frame in enumerate(frames, 1):
                    live.update(_drawing(number, frame), refresh=True)
                    time.sleep(SECONDS_A_STEP)
        else:
            for number, frame in enumerate(frames, 1):
                console.print(_drawing(number, frame), soft_wrap=True)


def _drawing(number: int, rows: PreviewRows) -> Text:
    drawing = Text().append(f"step {number}", "bold")
    for row in rows:
        drawing.append("\n    ").append(_drawn(row))
    return drawing


def _drawn(row: PreviewRow) -> Text:
    drawn = Text()
    for text, state, probability in zip(row.texts, row.states, row.confidences, strict=True):
        if state == OPEN:
            drawn.append(MASK, "dim")
        else:
            drawn.append(_on_one_line(text), "italic cyan" if state == DRAFT else _style(probability))
    if row.texts and not row.texts[-1] and row.states[-1] != OPEN:  # the final slots are decided and empty
        drawn.append(END, "dim")
    return drawn


def _on_one_line(text: str) -> str:
    return visible(text.replace("\r\n", "\n").replace("\n", LINE_BREAK))


def _style(probability: float) -> str:
    return next(style for least, style in SURE_STYLES if probability >= least)
