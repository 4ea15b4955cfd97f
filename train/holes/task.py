"""The task of holes: terms that are merged into the trunk, learned from the texts of holes and where they end."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.errors import InputError
from infill_engine.models.trunk.adapter import ADAPTER, NAMES, Adapter, Pair
from infill_engine.models.trunk.edit_adapter import EditAdapter
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.models.trunk.sources import ShardsSource
from train.figures import Score
from train.holes.examples import ExampleSettings, Laid, draw_window, lay_out
from train.holes.snippets import Heads, read_corpus, shares_of
from train.low_rank import LowRank
from train.trunk.base import Base
from train.trunk.network import embedded, forward, states_of

HELD_OUT_SEED, HELD_OUT_HOLES = 99, 10


class Holes(LowRank[Laid]):
    """An example is a window, and its parts are the window's holes.

    `corpus` and `held_out` are corpus.jsonl files; `snippets` is the share of windows with snippets of their package.
    """

    name = "holes"

    def __init__(
        self,
        base: Base,
        vocabulary: TrunkVocabulary,
        rank: int,
        corpus: Path = Path(),
        held_out: Path = Path(),
        *,
        judged: int = 0,
        snippets: float = 0.5,
    ) -> None:
        super().__init__(base, rank)
        self._vocabulary, self._corpus, self._held_out = vocabulary, corpus, held_out
        self._judged, self._snippets = judged, snippets

    def draw(self, seed: int) -> Iterator[Laid]:
        """See `Task`."""
        return self._drawn(self._corpus, seed, ExampleSettings())

    def judged(self) -> list[Laid]:
        """See `Task`."""
        settings = replace(ExampleSettings(), holes=HELD_OUT_HOLES)
        return list(islice(self._drawn(self._held_out, HELD_OUT_SEED, settings), self._judged))

    def size(self, item: Laid) -> int:
        """See `Task`."""
        return len(item.read) + 2 * len(item.learned)

    def loss(self, weights: Mapping[str, Tensor], item: Laid) -> tuple[Tensor, list[Score]]:
        """See `LowRank`. What is read before the middles has no gradients."""
        trunk, products = self.base.trunk, self.base.products
        with torch.no_grad():
            _, kept = forward(trunk, products, weights, embedded(trunk, item.read), item.read)
        states = states_of(trunk, products, weights, item.learned, kept)
        logits = F.linear(states[item.rows.to(states.device)], trunk.embedding).float()
        targets = item.targets.to(logits.device)
        losses = F.cross_entropy(logits, targets, reduction="none")
        right = (logits.argmax(-1) == targets).float().split(list(item.counts))
        return losses.sum(), [
            _score(kind, each.detach(), hits)
            for kind, each, hits in zip(item.kinds, losses.split(list(item.counts)), right, strict=True)
        ]

    def export(self, weights: Mapping[str, Tensor], path: Path) -> None:
        """Write the trunk's adapter with the terms added to it; its rank grows by theirs. Raises InputError."""
        if path.name != ADAPTER:
            raise InputError(f"the trunk's adapter is called {ADAPTER}; give --export such a file")
        merged, before = ShardsSource(self.base.folder, self.base.trained).open(), Adapter.load(self.base.trained)
        terms = EditAdapter({name: each.float().cpu().numpy() for name, each in weights.items()})
        pairs = {}
        for number in range(merged.config.layers):
            factors = merged.layer(number).factors
            for matrix in NAMES:
                down, up = terms.unsmoothed_term(number, matrix, factors)
                name = f"layers.{number}.{matrix}"
                pairs[name] = _sum(before.pair(name), (up, down))
        path.parent.mkdir(parents=True, exist_ok=True)
        Adapter(pairs).save(path.parent)

    def _drawn(self, path: Path, seed: int, settings: ExampleSettings) -> Iterator[Laid]:
        files, rng = read_corpus(path), random.Random(seed)
        heads, shares = Heads(files, self._vocabulary, self._snippets), shares_of(files)
        while True:
            (file,) = rng.choices(files, shares)
            head_of = heads.of(file, rng)
            window = draw_window(file.text, file.language, self._vocabulary, settings, rng, head_of)
            if window is not None:
                yield lay_out(window)


def _score(kind: str, losses: Tensor, right: Tensor) -> Score:
    loss, hits, count = float(losses.sum()), float(right.sum()), float(len(losses))
    return Score(loss, count, {"loss": (loss, count), "right": (hits, count), f"loss {kind}": (loss, count)})


def _sum(one: Pair | None, other: Pair) -> Pair:
    """Return the sum of two low-rank terms, with rows of similar size on both sides, because they will be rounded."""
    pairs = [other] if one is None else [one, other]
    up_basis, up = np.linalg.qr(np.concatenate([pair[0] for pair in pairs], 1))
    down_basis, down = np.linalg.qr(np.concatenate([pair[1] for pair in pairs]).T)
    left, values, right = np.linalg.svd(up @ down.T)
    roots = np.sqrt(values)
    return up_basis @ left * roots, roots[:, None] * right @ down_basis.T
