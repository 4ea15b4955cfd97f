"""`infill-ls complete FILE:LINE:COL`: the best candidates for one place, at any confidence, or why there are none."""

import argparse
import json
import sys

from infill_engine.types import Answer, Candidate, Reason
from lsp_server.cli.asking import Asked, ask, load_engine_for
from lsp_server.cli.place import NamedPlace, open_at
from lsp_server.cli.terminal import print_answer, print_reason, say
from lsp_server.settings.schema import ServerSettings


def run(options: argparse.Namespace) -> int:
    """Print the answer on stdout. Raises InfillError for a place or a model that does not exist."""
    named = NamedPlace.parse(options.place)
    opened = open_at(named)
    if isinstance(opened, Reason):
        asked = Asked(Answer(reason=opened), options.budget_ms, 0.0, options.model)
    else:
        with say(f"loading the model {options.model}"):
            engine = load_engine_for(options)
        asked = ask(engine, opened, ServerSettings(budget_ms=options.budget_ms, candidates=options.candidates))
    if asked.answer.user_message:
        print(asked.answer.user_message, file=sys.stderr)
    if options.json:
        print(json.dumps(as_json(asked)))
    elif isinstance(opened, Reason):
        print_reason(asked, named, sys.stdout)
    else:
        print_answer(asked, named, opened, sys.stdout)
    return 0


def as_json(asked: Asked) -> dict[str, object]:
    """The object that `--json` prints. `reason` is null if there are candidates, `device` if no device was needed."""
    answer = asked.answer
    return {
        "candidates": [_printed(item) for item in answer.candidates],
        "reason": None if answer.reason is None else answer.reason.value,
        "elapsed_ms": round(asked.elapsed_ms, 1),
        "budget_ms": asked.budget_ms,
        "model": asked.model,
        "device": asked.device,
        "encode_ms": round(answer.encode_ms, 1),
        "denoise_ms": round(answer.denoise_ms, 1),
    }


def _printed(candidate: Candidate) -> dict[str, object]:
    return {
        "text": candidate.text,
        "confidence": round(candidate.confidence, 4),
        "partial": candidate.partial,
        "steps": candidate.steps,
        "source": candidate.source,
    }
