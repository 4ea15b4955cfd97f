"""What a library must compute to serve the network. Everything else is shared by torch and Apple's MLX."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.models.base import Ints
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.small.drafting import Writer
from infill_engine.models.small.encoded import Array, KeysValues, Prompt, Side, Sides, Stream
from infill_engine.models.small.network.config import DualEncoderConfig
from infill_engine.models.small.scoring import Tree


class Backend(Protocol[Array]):
    """A network and its forward passes, one stream or canvas at a time, in the library's own arrays.

    Results for the sampling loop are torch tensors. `profile` describes how it computes, such as `int8, 1 thread`, if
    that was chosen at load time. `kind` is the index of the hole's kind.
    """

    @property
    def config(self) -> DualEncoderConfig: ...

    @property
    def device(self) -> str: ...

    @property
    def profile(self) -> str: ...

    def empty_stream(self) -> Stream[Array]:
        """Return a stream without tokens."""
        ...

    def extend(self, stream: Stream[Array], ids: Ints, direction: int) -> Stream[Array]:
        """Extend `stream` to all of `ids` [T], in stream order. `ids` begin with the stream's tokens and are longer."""
        ...

    def side(self, stream: Stream[Array]) -> Side[Array]:
        """Convert a stream to the form that the decoder reads."""
        ...

    def length_logits(self, sides: Sides[Array], kind: int) -> Tensor:
        """Return logits [buckets] over LENGTH_BUCKETS."""
        ...

    def canvas_logits(self, sides: Sides[Array], kind: int, canvas: Canvas, wanted: Ints) -> Tensor:
        """Return float32 logits [len(wanted), V] of the flat canvas positions `wanted`."""
        ...

    def read(
        self, ids: Ints, start: int, direction: int, past: Sequence[KeysValues[Array]] = ()
    ) -> tuple[Array, list[KeysValues[Array]]]:
        """Run the encoder over `ids[start:]`, which attend to `past` and to earlier tokens among them.

        Returns states [1, n, D] and, for each encoder layer, the keys and values of all positions, including `past`.
        """
        ...

    def move(self, keys: Array, by: int) -> Array:
        """Shift keys [1, H, T, hd] by `by` positions."""
        ...

    def concatenate(self, arrays: Sequence[Array], axis: int) -> Array: ...

    def writer(self, prompt: Prompt[Array], rows: int) -> Writer:
        """Return a writer that continues a prompt in `rows` rows."""
        ...

    def tree_logprobs(self, prompt: Prompt[Array], tree: Tree) -> NDArray[np.float32]:
        """Return log-probabilities [1 + n, V] of what follows the prompt, and each of the n tokens of a tree."""
        ...


def joined(backend: Backend[Array], old: KeysValues[Array], new: KeysValues[Array]) -> KeysValues[Array]:
    """Append the keys and values of `new` positions to those of `old` ones."""
    return backend.concatenate([old[0], new[0]], 2), backend.concatenate([old[1], new[1]], 2)
