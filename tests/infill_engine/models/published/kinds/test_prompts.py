"""Which part of a prompt is read again after prompts like it."""

import numpy as np
import pytest
import torch

from infill_engine.budget.work import finished
from infill_engine.models.base import Ints
from infill_engine.models.published.kinds.prompts import KEPT_PROMPTS, PromptReader
from infill_engine.models.stock.decoder import LayerMemory, Remembered


def read(layers: list[LayerMemory], ids: Ints) -> list[LayerMemory]:
    """One layer whose keys and values are the tokens themselves."""
    memory = Remembered(layers)
    new = torch.from_numpy(ids).view(1, 1, -1, 1)
    memory.update(new, new, 0)
    return memory.layers


def check(reader: PromptReader, text: str, expected: int) -> None:
    ids = np.array([ord(letter) for letter in text])
    layers, new = finished(reader.layers_of(ids))
    assert new == expected
    assert layers[0][0].flatten().tolist() == ids.tolist()


@pytest.mark.parametrize(
    ("text", "block", "expected"),
    [("abcdef", 1, 0), ("abcxyz", 1, 3), ("abcxyz", 2, 4), ("qrs", 1, 0), ("qrsz", 1, 1), ("zzz", 1, 3)],
)
def test_only_what_no_prompt_has_is_read(text: str, block: int, expected: int) -> None:
    reader = PromptReader(read, block=block)
    for known in ("abcdef", "qrstuv"):
        check(reader, known, len(known))
    check(reader, text, expected)


def test_a_prompt_replaces_the_one_it_continues() -> None:
    reader = PromptReader(read)
    check(reader, "other file", 10)
    check(reader, "abcd", 4)
    for length in range(5, 12):
        check(reader, "abcdefghijkl"[:length], 1)
    check(reader, "other", 0)


def test_no_more_prompts_are_kept_than_wanted() -> None:
    reader = PromptReader(read)
    for text in ("first", "second", "third", "12345", "67890"):
        check(reader, text, len(text))
    assert len(reader._prompts) == KEPT_PROMPTS
    check(reader, "third", 0)
    check(reader, "first", 5)
