"""What a library has to compute of the network for serving it. All else is the same for torch and for Apple's MLX."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.canvas.canvas import Canvas
from infill_engine.models.base import Ints
from infill_engine.models.small.config import DuostreamConfig
from infill_engine.models.small.drafting import Writer
from infill_engine.models.small.encoded import Array, KeysValues, Prompt, Side, Sides, Stream
from infill_engine.models.small.scoring import Tree


class Backend(Protocol[Array]):
    """A network and the arithmetic of its forward passes, one stream or canvas at a time, in arrays of its own.

    What the sampling loop reads comes out as torch tensors. `profile` tells how it computes, such as `int8, 1 thread`,
    where that was chosen. `kind` is the number of the hole's kind.
    """

    @property
    def config(self) -> DuostreamConfig: ...

    @property
    def device(self) -> str: ...

    @property
    def profile(self) -> str: ...

    def empty_stream(self) -> Stream[Array]:
        """The stream of no tokens."""
        ...

    def extend(self, stream: Stream[Array], ids: Ints, direction: int) -> Stream[Array]:
        """The stream of `ids` [T], in stream order, that begins with `stream` and is longer."""
        ...

    def side(self, stream: Stream[Array]) -> Side[Array]:
        """A stream as the decoder reads it."""
        ...

    def length_logits(self, sides: Sides[Array], kind: int) -> Tensor:
        """Logits [buckets] over LENGTH_BUCKETS."""
        ...

    def canvas_logits(self, sides: Sides[Array], kind: int, canvas: Canvas, wanted: Ints) -> Tensor:
        """Logits [len(wanted), V], in float32, of the flat canvas positions `wanted`."""
        ...

    def read(
        self, ids: Ints, start: int, direction: int, past: Sequence[KeysValues[Array]] = ()
    ) -> tuple[Array, list[KeysValues[Array]]]:
        """The encoder over `ids[start:]`, which see `past` and those of them before.

        States [1, n, D], and for each encoder layer the keys and values of all, `past` included.
        """
        ...

    def move(self, keys: Array, by: int) -> Array:
        """Keys [1, H, T, hd] of the same tokens `by` places further on."""
        ...

    def concatenate(self, arrays: Sequence[Array], axis: int) -> Array: ...

    def writer(self, prompt: Prompt[Array], rows: int) -> Writer:
        """What goes on from a prompt in so many rows."""
        ...

    def tree_logprobs(self, prompt: Prompt[Array], tree: Tree) -> NDArray[np.float32]:
        """Log-probabilities [1 + n, V] of what follows the prompt, and each of the n tokens of a tree behind it."""
        ...


def joined(backend: Backend[Array], old: KeysValues[Array], new: KeysValues[Array]) -> KeysValues[Array]:
    """Keys and values of `old` positions and `new` ones behind them."""
    return backend.concatenate([old[0], new[0]], 2), backend.concatenate([old[1], new[1]], 2)
