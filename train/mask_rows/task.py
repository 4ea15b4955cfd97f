"""The task of mask rows: weights for rows after the frozen trunk's, on middles that the trunk wrote."""

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from infill_engine.errors import TrainingError
from train.figures import Figures, Score
from train.mask_rows.export import restore
from train.mask_rows.layout import SLOTS, Blocks, anchors_of, lay_out
from train.mask_rows.loss import SHARED, Scored, Targets, score
from train.mask_rows.rows import block_states
from train.mask_rows.texts import deal, read_texts
from train.mask_rows.weights import draft_vocabulary, new_weights
from train.run import Task
from train.trunk.base import Base

CE = 0.1  # weight of the cross-entropy; the rest is total variation
SHORT = 0.3  # share of the anchors with few known slots that are learned from
ANCHORS, JUDGED_ANCHORS = 128, 12  # most of a text
FIRST_LAYER = 16  # at which mask rows enter
FASTER = 5.0  # times the learning rate, for weights that do not begin as the trunk's
ACCEPTED = "accepted"  # share of right proposals in a slot where all before it are right


class MaskRows(Task[Blocks]):
    """An example is a text with blocks, and has one part. `texts` and `held_out` are folders of pieces.

    A new run begins with the weights that were exported to `start`, if it is given.
    """

    name = "mask-rows"

    def __init__(
        self,
        base: Base,
        texts: Path = Path(),
        held_out: Path = Path(),
        *,
        judged: int = 0,
        start: Path | None = None,
        first_layer: int = FIRST_LAYER,
    ) -> None:
        self.base, self.device, self.dtype = base, base.trunk.norm.device, base.trunk.norm.dtype
        self._texts, self._held_out, self._judged = texts, held_out, judged
        self._start, self._first_layer = start, first_layer

    def begin(self) -> dict[str, Tensor]:
        """See `Task`."""
        if self._start is not None:
            weights, vocabulary = restore(self._start)
            self.propose(vocabulary)
            return {name: each.to(self.device) for name, each in weights.items()}
        texts = read_texts(self._texts)
        if not texts:
            raise TrainingError(f"no pieces in {self._texts}; write some with train.mask_rows.write")
        self.propose(draft_vocabulary((text.tokens for text in texts), self.base.trunk.config.vocabulary))
        return new_weights(self.base.trunk, self._first_layer, len(self.vocabulary))

    def propose(self, vocabulary: Tensor) -> None:
        """Let mask rows propose the tokens of a draft vocabulary [W]."""
        self.vocabulary = vocabulary.to(self.device)
        self._head = self.base.trunk.embedding[self.vocabulary]
        words = len(vocabulary)
        self._word = torch.full((self.base.trunk.config.vocabulary,), words, device=self.device)
        self._word[self.vocabulary] = torch.arange(words, device=self.device)

    def kept(self) -> dict[str, Any]:
        """See `Task`."""
        return {"vocabulary": self.vocabulary}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """See `Task`."""
        self.propose(kept["vocabulary"])

    def pace(self, name: str) -> float:
        """See `Task`."""
        return 1.0 if name.startswith(("layers.", "entry")) else FASTER

    def draw(self, seed: int) -> Iterator[Blocks]:
        """See `Task`."""
        generator = torch.Generator().manual_seed(seed)
        for text in deal(self._texts, random.Random(seed)):
            anchors = anchors_of(text, ANCHORS, generator, short=SHORT)
            if len(anchors):
                yield lay_out(text, anchors)

    def judged(self) -> list[Blocks]:
        """See `Task`."""
        texts, generator = read_texts(self._held_out), torch.Generator().manual_seed(1)
        chosen = random.Random(0).sample(texts, min(self._judged, len(texts)))
        found = [(text, anchors_of(text, JUDGED_ANCHORS, generator)) for text in chosen]
        return [lay_out(text, anchors) for text, anchors in found if len(anchors)]

    def size(self, item: Blocks) -> int:
        """See `Task`."""
        return len(item.tokens) + len(item.anchors) * SLOTS

    def learn(self, weights: Mapping[str, Tensor], item: Blocks) -> tuple[Sequence[Tensor], list[Score]]:
        """See `Task`. The gradients of the weights named SHARED are known without autograd."""
        leaves = {name: each.detach().requires_grad_(name not in SHARED) for name, each in weights.items()}
        chosen = self._states(leaves, item)
        gradients = {name: torch.zeros_like(weights[name], dtype=torch.float32) for name in SHARED}
        targets = self._targets(item)
        with torch.no_grad():
            scored, of_states = score(chosen.detach(), self._head, weights, targets, CE, gradients)
        names = [name for name in weights if name not in SHARED]
        found = torch.autograd.grad(chosen, [leaves[name] for name in names], of_states)
        gradients |= dict(zip(names, found, strict=True))
        return [gradients[name] for name in weights], [_score(item, scored)]

    @torch.no_grad()
    def judge(self, weights: Mapping[str, Tensor], item: Blocks) -> list[Score]:
        """See `Task`."""
        scored, _ = score(self._states(weights, item), self._head, weights, self._targets(item), CE)
        return [_score(item, scored)]

    def derived(self, figures: Figures) -> Figures:
        """Return the tokens of a verify pass: the anchor's own, and the proposals accepted in a row on average.

        A block whose text ends early, or goes another way, counts as far as it goes (Kaplan and Meier, 1958).
        """
        tokens = share = 1.0
        for slot in range(SLOTS):
            share *= figures.get(f"{ACCEPTED} {slot + 1}", 0.0)
            tokens += share
        return {"tokens a verify pass": tokens}

    def export(self, weights: Mapping[str, Tensor], path: Path) -> None:
        """Write the file that `infill_engine.models.trunk.denoiser` describes, judged on the held-out texts."""
        from infill_engine.models.trunk.sources import ShardsSource  # needs more than torch
        from train.mask_rows.export import export

        working = self.working(weights)
        found = self.figures([each for item in self.judged() for each in self.judge(working, item)])
        accepted = [found.get(f"{ACCEPTED} {slot + 1}", 0.0) for slot in range(SLOTS)]
        export(weights, self.vocabulary, ShardsSource(self.base.folder, self.base.trained), accepted, path)

    def _states(self, weights: Mapping[str, Tensor], item: Blocks) -> Tensor:
        """The normed states [N, D] of the slots with a target."""
        return block_states(self.base.trunk, self.base.products, weights, item)[item.rows.to(self.device)]

    def _targets(self, item: Blocks) -> Targets:
        slots, weights, before, likeliest, chances = (
            each.to(self.device)
            for each in (item.rows % SLOTS, item.weights, item.before, item.likeliest, item.chances)
        )
        return Targets(slots, weights, self._word[before], self._word[likeliest], chances)


def _score(item: Blocks, scored: Scored) -> Score:
    """Return the loss, and by slot how many proposals after only right ones are right, of those with a target."""
    right, losses = scored.right.cpu().float(), scored.losses.cpu()
    known, hits = torch.zeros(2, len(item.anchors) * SLOTS)
    known[item.rows], hits[item.rows] = 1.0, right
    known, hits = known.view(-1, SLOTS), hits.view(-1, SLOTS)
    reached = known * torch.cat([torch.ones(len(hits), 1), hits[:, :-1].cumprod(1)], 1)
    missed = (scored.confidence.cpu() - right).square()
    count = float(len(losses))
    sums = {
        "loss": (float(losses.sum()), count),
        "right": (float(right.sum()), count),
        "Brier score of the confidence": (float(missed.sum()), count),
    }
    for slot, (goes_on, wholes) in enumerate(zip((reached * hits).sum(0), reached.sum(0), strict=True), 1):
        sums[f"{ACCEPTED} {slot}"] = float(goes_on), float(wholes)
    total = float(item.weights.sum())
    return Score(float((losses * item.weights).sum()), total, sums)
