"""The serving path against the training path, and every cached way against the cold one."""

import numpy as np
import pytest
import torch
from jobs import limited

from bench.families.default import trained_logits
from infill_engine.budget.work import OutOfTime, finished
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.small.backends.torch_backend import TorchBackend
from infill_engine.models.small.model import SmallModel
from infill_engine.models.small.network.dual_encoder import LENGTH_BUCKETS, MASK, DualEncoder
from infill_engine.models.small.streams import PART
from infill_engine.models.small.vocabulary import BytesVocabulary
from infill_engine.types import HoleKind

PREFIX = "def area(radius):\n    pi = 3.14\n    return "
SUFFIX = "\n\n\ndef main():\n    print(area(2))\n"


def logits(family: SmallModel, prefix: str, suffix: str, rows: list[int | list[int]]) -> torch.Tensor:
    context = finished(family.encode(prefix, suffix))
    canvas = lay_out(rows, MASK)
    return family.denoise(context, HoleKind.LINE, canvas, np.arange(canvas.slots))


def fresh(network: DualEncoder, vocabulary: BytesVocabulary) -> SmallModel:
    return SmallModel(TorchBackend(network, "cpu"), vocabulary)


@pytest.mark.parametrize("length", [1, 4, 8])
def test_serving_computes_what_was_trained(family: SmallModel, length: int) -> None:
    """One hole through the trainer's whole-window path and through the server's two streams."""
    trained = trained_logits(family.backend.network, family.vocabulary, [MASK] * length, (PREFIX, SUFFIX))
    torch.testing.assert_close(logits(family, PREFIX, SUFFIX, [length]), trained, atol=1e-4, rtol=1e-4)


EDITS = [
    ("typing", PREFIX, PREFIX + "pi * ", SUFFIX, SUFFIX),
    ("deleting", PREFIX + "pi * ", PREFIX, SUFFIX, SUFFIX),
    ("replacing", PREFIX + "pi", PREFIX + "radius", SUFFIX, SUFFIX),
    ("bracket to the right", PREFIX, PREFIX + "(", SUFFIX, ")" + SUFFIX),
    ("suffix gone", PREFIX, PREFIX, SUFFIX, ""),
    ("suffix new", PREFIX, PREFIX, "", SUFFIX),
    ("prefix gone", PREFIX, "", SUFFIX, SUFFIX),
    ("another file", PREFIX, "import os\n", SUFFIX, "x = 1\n"),
    ("one token", "x", "y", "z", "w"),
]


@pytest.mark.parametrize(
    ("prefix", "then_prefix", "suffix", "then_suffix"), [e[1:] for e in EDITS], ids=[e[0] for e in EDITS]
)
def test_reused_keys_change_nothing(
    family: SmallModel, prefix: str, then_prefix: str, suffix: str, then_suffix: str
) -> None:
    finished(family.encode(prefix, suffix))
    warm = logits(family, then_prefix, then_suffix, [6])
    cold = logits(fresh(family.backend.network, family.vocabulary), then_prefix, then_suffix, [6])
    torch.testing.assert_close(warm, cold, atol=1e-4, rtol=1e-4)


def test_typing_encodes_only_what_is_new(family: SmallModel) -> None:
    cold = finished(family.encode(PREFIX, SUFFIX))
    assert cold.encoded == cold.tokens
    assert finished(family.encode(PREFIX, SUFFIX)).encoded == 0
    assert 1 <= finished(family.encode(PREFIX + "1", SUFFIX)).encoded <= 2


def test_rows_do_not_see_each_other(family: SmallModel) -> None:
    together = logits(family, PREFIX, SUFFIX, [3, 6, [9, 10]])
    alone = torch.cat([logits(family, PREFIX, SUFFIX, [row]) for row in (3, 6, [9, 10])])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)


def test_both_sides_matter(family: SmallModel) -> None:
    here = logits(family, PREFIX, SUFFIX, [4])
    assert not torch.allclose(here, logits(family, PREFIX + "2 ", SUFFIX, [4]), atol=1e-3)
    assert not torch.allclose(here, logits(family, PREFIX, "\nx" + SUFFIX, [4]), atol=1e-3)


def test_lengths_are_ranked_probabilities(family: SmallModel) -> None:
    proposals = family.propose_lengths(finished(family.encode(PREFIX, SUFFIX)), HoleKind.LINE, 10)
    assert [p.logprob for p in proposals] == sorted((p.logprob for p in proposals), reverse=True)
    assert {p.slots for p in proposals} == {slots for slots in LENGTH_BUCKETS if slots <= family.info.max_slots}
    every = family.backend.length_logits(finished(family.encode(PREFIX, SUFFIX)).state, kind=0).softmax(-1)
    fitting = every[[slots <= family.info.max_slots for slots in LENGTH_BUCKETS]]
    assert sum(np.exp(p.logprob) for p in proposals) == pytest.approx(fitting.sum().item(), abs=1e-4)


def test_a_long_window_is_cut_at_its_far_end(family: SmallModel) -> None:
    context = finished(family.encode("x = 1\n" * 700, "y\n" * 700))
    assert context.state.prefix.length <= 448
    assert torch.isfinite(logits(family, "x = 1\n" * 700, "y\n" * 700, [4])).all()


def test_reading_that_was_stopped_goes_on_where_it_was(family: SmallModel) -> None:
    prefix = "".join(f"value_{number} = {number}\n" for number in range(40))
    asked: list[int] = []

    with pytest.raises(OutOfTime):
        limited(family.encode(prefix, SUFFIX), 2, asked)
    assert asked[:2] == [PART, PART]
    assert len(asked) == 3
    context = finished(family.encode(prefix, SUFFIX))
    assert context.encoded == context.tokens - 2 * PART
    cold = logits(fresh(family.backend.network, family.vocabulary), prefix, SUFFIX, [6])
    torch.testing.assert_close(logits(family, prefix, SUFFIX, [6]), cold, atol=1e-4, rtol=1e-4)
