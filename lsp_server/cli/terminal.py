"""Prints candidates for a human reader: each in its line, with its confidence and cost."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from infill_engine.text.lines import first_line, last_line, split
from infill_engine.types import Candidate, Reason
from lsp_server.cli.asking import Asked
from lsp_server.cli.escapes import visible
from lsp_server.cli.place import NamedPlace, Opened

LEFT_CHARS = 60  # the most text to show before the cursor
RIGHT_CHARS = 30
LINE_CHARS = 400  # longer lines wrap even in a file

_SILENCES = {
    Reason.BLANK: "The model found nothing to suggest there.",
    Reason.DEADLINE: "The {budget_ms} ms ran out before a candidate was complete. Raise --budget-ms.",
    Reason.EXCLUDED: "The file matches an exclude pattern: files that tend to hold secrets are never read.",
    Reason.UNSUPPORTED: "The file is not text, or larger than 20 MB.",
}


def print_answer(asked: Asked, named: NamedPlace, opened: Opened, stream: TextIO) -> None:
    """Print the candidates as a table in a terminal and as plain lines elsewhere, or the reason why there are none."""
    answer = asked.answer
    if not answer.candidates:
        print_reason(asked, named, stream)
        return
    console = console_of(stream)
    row, column = opened.place
    line = first_line(opened.snapshot.lines[row])
    sides = _shortened(line[:column], line[column:])
    if console.is_terminal:
        _print_table(console, answer.candidates, sides)
    else:
        _print_lines(console, answer.candidates, sides)
    _print_plainly(console, f"{named}: {_timing(asked)}")


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a proposed text: it is shown, or a named step removed it. `confidence` is None if it had none."""

    name: str
    text: str
    confidence: float | None


def print_fates(
    asked: Asked, named: NamedPlace, fates: Sequence[Fate], meanings: Mapping[str, str], stream: TextIO
) -> None:
    """Print for each proposed text its confidence and what became of it, and then from where on texts appear."""
    console = console_of(stream)
    width = max(map(len, meanings.values()))
    for fate in fates:
        confidence = "  –" if fate.confidence is None else f"{fate.confidence:4.0%}"
        facts = f"{confidence:>4}  {meanings[fate.name]:<{width}}  "
        shown = "\n".join(map(visible, split(fate.text))).replace("\n", "\n" + " " * len(facts))
        _print_plainly(console, f"{facts}«{shown}»")
    _print_plainly(console, f"{named}: texts appear unasked from {asked.answer.show_from:.0%} on; {_timing(asked)}")


def print_reason(asked: Asked, named: NamedPlace, stream: TextIO) -> None:
    """Print in one sentence why an answer has no candidates."""
    reason = asked.answer.reason or Reason.BLANK
    sentence = _SILENCES.get(reason, f"No candidates: {reason.value}.").format(budget_ms=asked.budget_ms)
    console = console_of(stream)
    _print_plainly(console, f"{named}: {sentence}")
    if asked.device is not None:
        _print_plainly(console, _timing(asked))


def console_of(stream: TextIO) -> Console:
    """Return a console whose output document text cannot break or recolour."""
    if stream is sys.stdout and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    # Output to a file or a program is not wrapped, so that phrases can be found in it.
    width = None if stream.isatty() else LINE_CHARS
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


@contextlib.contextmanager
def say(what: str) -> Iterator[None]:
    """Show a message in a terminal while slow work runs."""
    console = Console(file=sys.stderr)
    if console.is_terminal and os.environ.get("TERM") != "dumb":
        with console.status(what):
            yield
    else:
        yield


def _print_table(console: Console, candidates: tuple[Candidate, ...], sides: tuple[str, str]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    table.add_column("candidate", overflow="fold")
    for name in ("confidence", "steps"):
        table.add_column(name, justify="right")
    table.add_column("source")
    for number, candidate in enumerate(candidates, 1):
        shown = Text().append(sides[0], "dim")
        shown.append("\n".join(map(visible, split(candidate.text))), "bold green")
        shown.append(sides[1], "dim")
        table.add_row(f"{number}", shown, f"{candidate.confidence:.0%}", f"{candidate.steps}", _source(candidate))
    console.print(table)


def _print_lines(console: Console, candidates: tuple[Candidate, ...], sides: tuple[str, str]) -> None:
    for number, candidate in enumerate(candidates, 1):
        facts = f"{number}  {candidate.confidence:4.0%}  {_steps(candidate):<7}  {_source(candidate):<14}  "
        shown = "\n".join(map(visible, split(candidate.text))).replace("\n", "\n" + " " * len(facts))
        _print_plainly(console, f"{facts}{sides[0]}«{shown}»{sides[1]}")


def _print_plainly(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True)


def _timing(asked: Asked) -> str:
    answer = asked.answer
    return (
        f"{asked.elapsed_ms:.0f} ms of {asked.budget_ms} ms "
        f"(reading both sides {answer.encode_ms:.0f} ms, denoising {answer.denoise_ms:.0f} ms), "
        f"model {asked.model} on {asked.device}"
    )


def _steps(candidate: Candidate) -> str:
    return f"{candidate.steps} step" if candidate.steps == 1 else f"{candidate.steps} steps"


def _source(candidate: Candidate) -> str:
    return candidate.source.value + (", cut off" if candidate.partial else "")


def _shortened(left: str, right: str) -> tuple[str, str]:
    left, right = visible(last_line(left)), visible(right)
    if len(left) > LEFT_CHARS:
        left = "…" + left.lstrip()[-LEFT_CHARS:]
    if len(right) > RIGHT_CHARS:
        right = right[:RIGHT_CHARS] + "…"
    return left, right
