"""The autoregressive twin: what it reads, what it is trained on, and that it learns to look at what stands right."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bench.quality.systems.train_twin import LONGEST, loss, sequence
from bench.quality.systems.twin import PREFIX_FOLLOWS, SUFFIX_FOLLOWS, Twin, joined
from infill_engine.models.small.network.config import DualEncoderConfig
from infill_engine.models.small.network.dual_encoder import EOS, PAD, DualEncoder
from infill_engine.models.small.vocabulary import BytesVocabulary
from infill_engine.types import Hole, HoleKind
from train.small.data import Part

TOKENIZER = Path("infill_engine/weights/small/tokenizer.json")
HOLE = Hole(HoleKind.LINE, max_lines=1)


@pytest.fixture(scope="module")
def vocabulary() -> BytesVocabulary:
    return BytesVocabulary(TOKENIZER)


def tiny() -> DualEncoder:
    torch.manual_seed(0)
    return DualEncoder(
        DualEncoderConfig(dim=32, heads=2, hidden=64, encoder_layers=2, decoder_layers=1, ngram_slots=256)
    )


def test_a_sequence_holds_the_sides_the_middle_and_the_end() -> None:
    tokens = np.arange(10, 4010, dtype=np.uint16)
    part = Part(tokens, np.array([[2000, 2005, 0]], dtype=np.int32))
    lengths = set()
    for seed in range(20):
        padded, middle = sequence(part, np.random.default_rng(seed))
        ids = padded[: middle + 6]
        assert len(padded) == LONGEST
        assert set(padded[middle + 6 :]) <= {PAD}
        border = ids.index(PREFIX_FOLLOWS)
        assert (ids[0], ids[-1]) == (SUFFIX_FOLLOWS, EOS)
        assert ids[1:border] == list(range(2015, 2015 + border - 1))
        assert ids[middle:-1] == [2010, 2011, 2012, 2013, 2014]
        assert ids[border + 1 : middle] == list(range(2010 - (middle - border - 1), 2010))
        lengths.add(len(ids))
    assert len(lengths) > 10


def test_a_twin_learns_what_only_the_right_side_tells(vocabulary: BytesVocabulary) -> None:
    """Two equal left sides, two right sides, two middles."""
    network = tiny()
    left, right = "import os\n\n\nvalue =", "\nuse({})\n" + "\n\ndef again(path):\n    return os.fspath(path)\n" * 3
    rows = [
        [*joined(vocabulary.encode(right.format(word)), vocabulary.encode(left)), *vocabulary.encode(f" {word}"), EOS]
        for word in ("one", "two")
    ]
    ids = torch.tensor([[*row, PAD] for row in rows])
    middle = torch.tensor([row.index(EOS) - 1 for row in rows])
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-2)
    for _ in range(150):
        found = loss(network, ids, middle)
        found.backward()
        optimiser.step()
        optimiser.zero_grad()
    network.eval().requires_grad_(False)
    network.join()
    twin = Twin(network, vocabulary, network.write)
    for word in ("one", "two"):
        texts, _ = twin.texts(left, right.format(word), HOLE, 2, 10_000)
        assert texts[0].text == f" {word}"


def test_the_budget_ends_it(vocabulary: BytesVocabulary) -> None:
    network = tiny().eval().requires_grad_(False)
    above = "import os\n\n\ndef f(path):\n    return os."
    twin = Twin(network, vocabulary, network.write)
    assert len(twin.texts(above, "\n\nf(1)\n", HOLE, 3, 10_000)[0]) == 3
    assert twin.texts(above, "\n\nf(1)\n", HOLE, 3, 0.0)[0] == []
