"""The denoiser: the weights of mask rows, in a file beside the trunk, and what they propose for a block.

A block of masked tokens follows a real row, its anchor. The whole block is denoised at once, in the pass that reads the
anchor. Mask rows enter at `first_layer` with their anchor's state. They have queries, keys, values and output matrices
of their own, share the MLP, and see what their anchor sees, the anchor, and their block in both directions.

    token       … a-1   a    a+1   a+2   a+3 …
    real rows         anchor                        predicts token a+1
    mask rows                 1     2     3  …      at these positions; slot j predicts token a+j+1

The file has, with C slots, D dimensions, W words of the draft vocabulary, and a Markov head of rank R:

    layers.{i}.{qkv,out}.{codes,scales}    int8 [N, K], float16 [N, 1], from `first_layer` on
    layers.{i}.{bias,attention_norm}       float32, of these matrices and of their input
    entry.{codes,scales}                   [C * D, D], times the anchor's normed state; added to `mask` and to the state
    mask                                   float32 [C, D]
    markov.{before,after}.{codes,scales}   [W + 1, R] by the previous token, W for one outside; [W, R]
    confidence.{weight,bias}               float32 [D + 1] and [C]
    confidence.reached                     float32 [C], the share of held-out blocks that are right up to a slot
    vocabulary                             int32 [W], the tokens that can be proposed, in order

Sources: separate weights for mask rows on a frozen trunk (Orthrus, arXiv 2605.12825); the Markov head (DSpark, arXiv
2607.05147); a draft vocabulary (FR-Spec, arXiv 2502.14856).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint.folder import sha256_of
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.shards import Arrays, map_made_for

DENOISER = "denoiser.safetensors"
SMALL_HEAD = 0.5  # cost of a mask row, as a share of a row's in the upper layers; measured on two cores
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Denoised:
    """What M mask rows propose, block by block: the likeliest words [M, K] of the draft vocabulary and their
    log-probabilities in nats, before the Markov head, and their contribution [M] to the logits of the confidence head.
    """

    words: Ints
    logprobs: Floats
    confidence: Floats


class Denoiser:
    """Mapped weights and their file's checksum. Checks that they fit the trunk; raises ModelDamagedError."""

    def __init__(self, arrays: Arrays, config: TrunkConfig, checksum: str = "") -> None:
        self.arrays, self.checksum = arrays, checksum
        layers = [number for number in range(config.layers) if f"layers.{number}.qkv.codes" in arrays]
        try:
            self.first_layer, self.slots = layers[0], len(arrays["mask"])
            self.reached: Floats = arrays["confidence.reached"]
            self.vocabulary: Ints = arrays["vocabulary"].astype(np.int64)
            found = {name: array.shape for name, array in arrays.items() if name.endswith(".codes")}
            wanted = self._shapes(config, arrays["markov.after.codes"].shape[1])
        except (IndexError, KeyError) as error:
            raise ModelDamagedError(f"the denoiser has no {error}") from error
        if found != wanted or arrays["mask"].shape[1:] != (config.dim,) or self.vocabulary[-1] >= config.vocabulary:
            raise ModelDamagedError("the denoiser does not fit this model")
        self.mask_share = SMALL_HEAD * len(layers) / config.layers  # cost of a mask row, as a share of a row's
        self._word = np.full(config.vocabulary, len(self.vocabulary))
        self._word[self.vocabulary] = np.arange(len(self.vocabulary))

    @classmethod
    def load(cls, folder: Path, config: TrunkConfig, made_for: str) -> "Denoiser | None":
        """Return the denoiser in a folder; None if there is no file. Raises ModelDamagedError.

        `made_for` identifies the trunk that the mask rows belong to.
        """
        arrays = map_made_for(folder / DENOISER, made_for)
        return None if arrays is None else cls(arrays, config, sha256_of(folder / DENOISER))

    def text_after(self, denoised: Denoised, rows: slice, before: int) -> "list[ProposedToken]":
        """Return the likeliest text of a block after the token `before`.

        The block's mask rows are `rows` of a pass. The token before a slot is known only now, so the Markov head is
        applied here, to the slot's likeliest words.
        """
        chosen = []
        for slot, row in enumerate(range(*rows.indices(len(denoised.words)))):
            words, logprobs = denoised.words[row], denoised.logprobs[row]
            if np.isnan(logprobs).any():
                break
            rest = max(1.0 - float(np.exp(logprobs).sum()), 0.0)
            logprobs = logprobs + self._bias(self._word[before], words)
            best = int(np.argmax(logprobs))
            sure = float(logprobs[best] - np.log(np.exp(logprobs).sum() + rest))
            doubt = denoised.confidence[row] + sure * self.arrays["confidence.weight"][-1]
            doubt += self.arrays["confidence.bias"][slot]
            before = int(self.vocabulary[words[best]])
            chosen.append(ProposedToken(before, float(-np.logaddexp(0.0, -doubt))))
        return chosen

    def _bias(self, before: int, words: Ints) -> Floats:
        """Return what the token before adds to the logits of some words."""
        codes, scales = self.arrays["markov.before.codes"][before], self.arrays["markov.before.scales"][before]
        after = self.arrays["markov.after.codes"][words].astype(np.float32) @ (codes * np.float32(scales[0]))
        bias: Floats = after * self.arrays["markov.after.scales"][words, 0]
        return bias

    def _shapes(self, config: TrunkConfig, rank: int) -> dict[str, tuple[int, ...]]:
        words, dim = len(self.vocabulary), config.dim
        found: dict[str, tuple[int, ...]] = {}
        for layer in range(self.first_layer, config.layers):
            found[f"layers.{layer}.qkv.codes"] = (config.query_size + 2 * config.kv_size, dim)
            found[f"layers.{layer}.out.codes"] = (dim, config.query_size)
        return found | {
            "entry.codes": (self.slots * dim, dim),
            "markov.before.codes": (words + 1, rank),
            "markov.after.codes": (words, rank),
        }


@dataclass(frozen=True, slots=True)
class ProposedToken:
    """A slot's proposal: a token, and the log-probability that it is the model's own choice there."""

    token: int
    logprob: float
