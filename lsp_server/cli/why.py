"""`infill-ls why FILE:LINE:COL`: what would appear there unasked, and which step removed each other text."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from infill_engine.types import Eagerness, Reason
from lsp_server.cli.answers import marked, print_reason, timing
from lsp_server.cli.asking import Asked, ask_at_place
from lsp_server.cli.place import NamedPlace
from lsp_server.cli.terminal import console_of
from lsp_server.protocol.reasons import REASONS
from lsp_server.settings.schema import ServerSettings
from lsp_server.suggestions.unasked import worth_showing

SHOWN, BESIDE, HIDDEN_WITH_BEST, NEVER = "shown", "beside", "hidden_with_best", "never_unasked"
MEANINGS = {
    SHOWN: "appears",
    BESIDE: "is offered beside it",
    HIDDEN_WITH_BEST: "is hidden with the best one",
    NEVER: "is never shown unasked",
    "undecodable": "has unreadable characters",
    "blank": "is blank after cleaning",
    "comment_mark": "ends in an empty comment",
    "block_end": "leaves a bracket open",
    "scripts": "mixes scripts in a word",
    "cut_words": "cuts a word",
    "secret_values": "guesses a secret",
    "conversions": "repeats a conversion",
    "repetition": "repeats one piece",
    "neighbours": "equals the line above or below",
    "least_broken": "breaks the syntax",
    "sure_or_sound": "has a fault and low confidence",
    "filled": "opens a block without a body",
    "different": "repeats the idea of a better one",
    "near_the_best": "is far behind the best",
    "first_few": "exceeds the number asked for",
    **{reason.value: f"is {REASONS[reason].words}" for reason in (Reason.LOW_CONFIDENCE, Reason.ONE_KEY)},
}


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a proposed text: it is shown, or a named step removed it. `confidence` is None if it had none."""

    name: str
    text: str
    confidence: float | None


def run(options: argparse.Namespace) -> int:
    """Print the explanation on stdout. Raises InfillError for a place or a model that does not exist."""
    settings = ServerSettings(budget_ms=options.budget_ms, eagerness=Eagerness(options.eagerness))
    named, _, asked = ask_at_place(options, settings, read_before=True)
    fates = list(fates_in(asked))
    if options.json:
        print(json.dumps(as_json(asked, fates)))
    elif fates:
        _print_fates(asked, named, fates)
    else:
        print_reason(asked, named)
    return 0


def fates_in(asked: Asked) -> Iterator[Fate]:
    """Yield what became of every text that was proposed: the candidates first, then in the order of the removals."""
    answer = asked.unasked or asked.answer
    reason = worth_showing(answer, explicit=False).reason
    for number, candidate in enumerate(answer.candidates):
        if reason is None:
            fate = BESIDE if number else SHOWN
        else:
            fate = HIDDEN_WITH_BEST if number and reason is Reason.ONE_KEY else reason.value
        yield Fate(fate, candidate.text, candidate.confidence)
    allowed = {candidate.text for candidate in answer.candidates}
    for candidate in asked.answer.candidates:
        if candidate.text not in allowed:
            yield Fate(NEVER, candidate.text, candidate.confidence)
    for removal in asked.removed:
        yield Fate(removal.step, removal.text, removal.confidence)


def as_json(asked: Asked, fates: list[Fate]) -> dict[str, object]:
    """The object that `--json` prints. `reason` is null if a candidate appears."""
    reason = worth_showing(asked.unasked or asked.answer, explicit=False).reason
    return {
        "reason": None if reason is None else reason.value,
        "show_from": asked.answer.show_from,
        "texts": [
            {
                "text": fate.text,
                "confidence": None if fate.confidence is None else round(fate.confidence, 4),
                "fate": fate.name,
            }
            for fate in fates
        ],
        "elapsed_ms": round(asked.elapsed_ms, 1),
        "budget_ms": asked.budget_ms,
        "model": asked.model,
        "device": asked.device,
    }


def _print_fates(asked: Asked, named: NamedPlace, fates: list[Fate]) -> None:
    """Print the confidence of each proposed text and what became of it, then the confidence from which texts appear."""
    console = console_of(sys.stdout)
    width = max(map(len, MEANINGS.values()))
    for fate in fates:
        confidence = "–" if fate.confidence is None else f"{fate.confidence:.0%}"
        facts = f"{confidence:>4}  {MEANINGS[fate.name]:<{width}}  "
        console.print(facts + marked(fate.text, len(facts)), soft_wrap=True)
    unasked = f"texts appear unasked at {asked.answer.show_from:.0%} or more"
    console.print(f"{named}: {unasked}; {timing(asked)}", soft_wrap=True)
