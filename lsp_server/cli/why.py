"""`infill-ls why FILE:LINE:COL`: what would appear there unasked, and which step removed which other text."""

import argparse
import json
import sys
from collections.abc import Iterator

from infill_engine.types import Answer, Eagerness, Reason
from lsp_server.cli.asking import Asked, ask, load_engine_for
from lsp_server.cli.place import NamedPlace, open_at
from lsp_server.cli.terminal import Fate, print_fates, print_reason, say
from lsp_server.settings.schema import ServerSettings
from lsp_server.suggestions.answers import worth_showing

SHOWN, BESIDE, HIDDEN_WITH_BEST = "shown", "beside", "hidden_with_best"
MEANINGS = {
    SHOWN: "appears",
    BESIDE: "is offered beside it",
    HIDDEN_WITH_BEST: "is hidden with the best one",
    "undecodable": "is no text",
    "blank": "is blank once it is cleaned",
    "comment_mark": "ends in a comment mark",
    "scripts": "mixes alphabets in a word",
    "repetition": "repeats one piece",
    "neighbours": "equals the line above or below",
    "least_broken": "breaks the syntax",
    "sure_or_sound": "leaves a fault and is unsure",
    "different": "is the idea of a better one",
    "near_the_best": "is far behind the best",
    "first_few": "is one too many",
    Reason.LOW_CONFIDENCE.value: "is not sure enough",
    Reason.ONE_KEY.value: "is a single character",
}


def run(options: argparse.Namespace) -> int:
    """Print the explanation on stdout. Raises InfillError for a place or a model that does not exist."""
    named = NamedPlace.parse(options.place)
    opened = open_at(named)
    settings = ServerSettings(budget_ms=options.budget_ms, eagerness=Eagerness(options.eagerness))
    if isinstance(opened, Reason):
        asked = Asked(Answer(reason=opened), options.budget_ms, 0.0, options.model)
    else:
        with say(f"loading the model {options.model}"):
            engine = load_engine_for(options)
        asked = ask(engine, opened, settings, read_before=True)
    fates = list(fates_in(asked.answer))
    if options.json:
        print(json.dumps(as_json(asked, fates)))
    elif fates:
        print_fates(asked, named, fates, MEANINGS, sys.stdout)
    else:
        print_reason(asked, named, sys.stdout)
    return 0


def fates_in(answer: Answer) -> Iterator[Fate]:
    """Yield what became of every text that was proposed: the candidates first, then in the order of the removals."""
    reason = worth_showing(answer, unsure=False).reason
    for number, candidate in enumerate(answer.candidates):
        if reason is None:
            fate = BESIDE if number else SHOWN
        else:
            fate = HIDDEN_WITH_BEST if number and reason is Reason.ONE_KEY else reason.value
        yield Fate(fate, candidate.text, candidate.confidence)
    for removal in answer.removed:
        yield Fate(removal.step, removal.text, removal.confidence)


def as_json(asked: Asked, fates: list[Fate]) -> dict[str, object]:
    """The object that `--json` prints. `reason` is null if a candidate appears."""
    answer = asked.answer
    reason = worth_showing(answer, unsure=False).reason
    return {
        "reason": None if reason is None else reason.value,
        "show_from": answer.show_from,
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
