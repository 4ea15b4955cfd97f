"""The autoregressive twin: the small model's prefix stream, trained to fill in the middle from left to right.

It has the small model's size, tokenizer and data, and reads

    <suffix> text right <prefix> text left ──▶ the middle, one token after the other, <eos>

(suffix first: "SPM", arXiv 2207.14255). The value of the canvas is what the small model does better in the same time.
`bench.quality.systems.train_twin` trains it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from bench.quality.systems.decode import Generated, generate, most_tokens
from infill_engine.budget.deadline import Deadline
from infill_engine.models.quantization.int8_kernels import Kernel
from infill_engine.models.small.backends.torch_writer import TorchWriter
from infill_engine.models.small.network.dual_encoder import EOS, MASK, PAD, PREFIX, DualEncoder, Write
from infill_engine.models.small.network.layers import KeysValues
from infill_engine.models.small.network.numpy_encoder import fastest_write
from infill_engine.models.small.network.weights import load_network
from infill_engine.models.small.vocabulary import BytesVocabulary
from infill_engine.types import Hole

SUFFIX_FOLLOWS, PREFIX_FOLLOWS = MASK, PAD  # tokens that occur in no text
MOST_PREFIX, MOST_SUFFIX = 352, 128  # tokens
TOP = 64  # tokens whose log-probabilities are returned


def joined(suffix: Sequence[int], prefix: Sequence[int]) -> list[int]:
    """Return the tokens before the middle."""
    return [SUFFIX_FOLLOWS, *suffix, PREFIX_FOLLOWS, *prefix]


def read(
    network: DualEncoder, ids: Tensor, past: Sequence[KeysValues] | None = None
) -> tuple[Tensor, list[KeysValues]]:
    """Run the prefix stream over ids [B, T], of which `past` covers the first P.

    Returns normalised states [B, T-P, D], and each layer's keys and values for all T.
    """
    known = past[0][0].shape[2] if past else 0
    x = network.embed(ids, ids.new_full((len(ids),), PREFIX))[:, known:]
    return network.encode(x, network.rotary(torch.arange(known, ids.shape[1], device=ids.device)), past or ())


@dataclass(frozen=True, slots=True)
class Twin:
    """A trained twin, ready to generate."""

    network: DualEncoder
    vocabulary: BytesVocabulary
    write: Write

    @classmethod
    def load(cls, folder: Path, dtype: torch.dtype, kernel: type[Kernel] | None = None) -> "Twin":
        """Load what `train_twin` wrote. Raises ModelDamagedError."""
        network = load_network(folder, dtype, kernel)
        network.join()
        return cls(network, BytesVocabulary(folder / "tokenizer.json"), fastest_write(network))

    @torch.inference_mode()
    def texts(
        self, prefix: str, suffix: str, hole: Hole, candidates: int, budget_ms: float
    ) -> tuple[list[Generated], float]:
        """Return at most `candidates` middles, most likely first, and the milliseconds they took.

        The suffix and the lines above the cursor's are read before the clock starts, as in an editor.
        """
        head, partial_word = self.vocabulary.split_partial_word(prefix)
        above = self.vocabulary.encode(prefix[: prefix.rfind("\n") + 1])
        whole = self.vocabulary.encode(head)
        after = self.vocabulary.encode(suffix)
        ids = torch.tensor([joined(after[:MOST_SUFFIX], whole[-MOST_PREFIX:])])
        left_over = max(1, len(whole) - len(above) if whole[: len(above)] == above else len(whole))
        past = read(self.network, ids[:, :-left_over])[1] if left_over < ids.shape[1] - 1 else None
        started = perf_counter()
        deadline = Deadline.after_ms(budget_ms)
        states, layers = read(self.network, ids, past)
        writer = TorchWriter(
            self.network,
            self.write,
            layers,
            states[:, -1:],
            ids[0].numpy(),
            candidates,
            most_tokens(hole.max_lines),
        )
        slowest = 0.0

        def scores(rows: Sequence[Sequence[int]]) -> list[dict[int, float]]:
            nonlocal slowest
            began = perf_counter()
            spare = candidates - len(rows)  # a partial word may leave fewer to choose from
            following = writer.after([*rows, *[rows[0]] * spare])[: len(rows)] if rows[0] else writer.first()
            top = following.topk(TOP)
            slowest = max(slowest, 1000 * (perf_counter() - began))
            tokens, logprobs = np.asarray(top.indices).tolist(), np.asarray(top.values).tolist()
            return [dict(zip(*row, strict=True)) for row in zip(tokens, logprobs, strict=True)]

        found = generate(
            scores,
            self.vocabulary,
            partial_word,
            candidates,
            hole.max_lines,
            hole.indent,
            end=EOS,
            go_on=lambda: deadline.allows(slowest),
        )
        return found, 1000 * (perf_counter() - started)
