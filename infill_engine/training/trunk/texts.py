"""Texts to train the trunk's adapters on, and windows drawn from them."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infill_engine.errors import InputError
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.training.trunk.data import ExampleSettings, Window, draw_window

LARGEST_SHARE = 30_000  # characters of a file that count when one is drawn: a huge one is not drawn all the time
Text = tuple[str, str]  # a file and its language


def read_corpus(path: Path) -> list[Text]:
    """The texts of a corpus.jsonl with their languages. Raises InputError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); build it with infill_engine.training.corpus.build"
        ) from error
    files = [json.loads(line) for line in lines]
    return [(file["text"], file.get("language", "python")) for file in files]


def shares_of(texts: Sequence[Text]) -> list[int]:
    """How often each text is drawn."""
    return [min(len(text), LARGEST_SHARE) for text, _ in texts]


def drawn_window(
    texts: Sequence[Text],
    shares: Sequence[Any],
    vocabulary: TrunkVocabulary,
    rng: random.Random,
    settings: ExampleSettings | None = None,
) -> Window:
    """A window from one of the texts, which are drawn by their shares."""
    while True:
        text, language = rng.choices(texts, shares)[0]
        window = draw_window(text, language, vocabulary, settings or ExampleSettings(), rng)
        if window is not None:
            return window
