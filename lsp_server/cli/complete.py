"""`infill-ls complete FILE:LINE:COL`: the best candidates for one place, at any confidence, or why there are none."""

import argparse
import json
import sys

from infill_engine.types import Candidate
from lsp_server.cli.answers import print_answer
from lsp_server.cli.asking import Asked, ask_at_place
from lsp_server.settings.schema import ServerSettings


def run(options: argparse.Namespace) -> int:
    """Print the answer on stdout. Raises InfillError for a place or a model that does not exist."""
    settings = ServerSettings(budget_ms=options.budget_ms, candidates=options.candidates)
    named, opened, asked = ask_at_place(options, settings)
    if asked.answer.user_message:
        print(asked.answer.user_message, file=sys.stderr)
    if options.json:
        print(json.dumps(as_json(asked)))
    else:
        print_answer(asked, named, opened)
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
        "read_ms": round(answer.read_ms, 1),
        "compute_ms": round(answer.compute_ms, 1),
    }


def _printed(candidate: Candidate) -> dict[str, object]:
    return {
        "text": candidate.text,
        "confidence": round(candidate.confidence, 4),
        "partial": candidate.partial,
        "passes": candidate.passes,
        "source": candidate.source,
    }
