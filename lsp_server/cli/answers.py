"""Prints an answer for a human reader: each candidate with its confidence and cost, or why there are none."""

import sys

from rich.text import Text

from infill_engine.text.lines import first_line, last_line, split
from infill_engine.types import Candidate, Reason
from lsp_server.cli.asking import Asked
from lsp_server.cli.place import NamedPlace, OpenPlace
from lsp_server.cli.terminal import console_of, visible
from lsp_server.protocol.reasons import REASONS

LEFT_CHARS = 60  # the most text to show before the cursor
RIGHT_CHARS = 30

_HELP = {Reason.DEADLINE: " Raise --budget-ms."}


def print_answer(asked: Asked, named: NamedPlace, opened: OpenPlace | None) -> None:
    """Print the candidates on stdout, or the reason why there are none."""
    if opened is None or not asked.answer.candidates:
        print_reason(asked, named)
        return
    console = console_of(sys.stdout)
    row, column = opened.place
    line = first_line(opened.snapshot.lines[row])
    left, right = _shortened(line[:column], line[column:])
    for number, candidate in enumerate(asked.answer.candidates, 1):
        passes = f"{candidate.passes} pass{'es' * (candidate.passes != 1)}"
        facts = f"{number}  {candidate.confidence:4.0%}  {passes:<9}  {_source(candidate):<14}  "
        shown = Text(facts).append(left, "dim")
        shown.append(marked(candidate.text, len(facts)), "bold green").append(right, "dim")
        console.print(shown, soft_wrap=True)
    console.print(f"{named}: {timing(asked)}", soft_wrap=True)


def print_reason(asked: Asked, named: NamedPlace) -> None:
    """Print in one sentence on stdout why an answer has no candidates."""
    reason = asked.answer.reason or Reason.BLANK
    console = console_of(sys.stdout)
    console.print(f"{named}: {REASONS[reason].sentence}{_HELP.get(reason, '')}", soft_wrap=True)
    if asked.device is not None:
        console.print(timing(asked), soft_wrap=True)


def marked(text: str, indentation: int) -> str:
    """Return a text between marks, with further lines indented."""
    return "«" + ("\n" + " " * indentation).join(map(visible, split(text))) + "»"


def timing(asked: Asked) -> str:
    """Return what an answer cost."""
    answer = asked.answer
    return (
        f"{asked.elapsed_ms:.0f} ms of {asked.budget_ms} ms "
        f"(reading {answer.read_ms:.0f} ms, computing {answer.compute_ms:.0f} ms), "
        f"model {asked.model} on {asked.device}"
    )


def _source(candidate: Candidate) -> str:
    return candidate.source.value + (", cut off" if candidate.partial else "")


def _shortened(left: str, right: str) -> tuple[str, str]:
    left, right = visible(last_line(left)), visible(right)
    if len(left) > LEFT_CHARS:
        left = "…" + left.lstrip()[-LEFT_CHARS:]
    if len(right) > RIGHT_CHARS:
        right = right[:RIGHT_CHARS] + "…"
    return left, right
