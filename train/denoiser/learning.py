"""One step of training: some texts, their blocks, and the sum of the gradients."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from infill_engine.models.trunk.network import Network
from train.denoiser.blocks import block_states
from train.denoiser.context import (
    Context,
    context_path,
    load_context,
    read_context,
    save_context,
)
from train.denoiser.frozen import FrozenTrunk
from train.denoiser.layout import Batch
from train.denoiser.loss import SHARED, Scored, score
from train.denoiser.vocabulary import Words
from train.denoiser.weights import Shape


@dataclass(frozen=True, slots=True)
class Learner:
    """What stays fixed while a denoiser is trained. `reader` reads the contexts; `head` [W, D] has the words."""

    trunk: FrozenTrunk
    reader: Network
    shape: Shape
    words: Words
    head: Tensor
    ce: float
    contexts: Path | None = None  # folder in which contexts of single texts are kept

    def context(self, batch: Batch) -> Context:
        """Return the context of a batch. That of a single text is kept."""
        first_layer, path = self.shape.first_layer, None
        if self.contexts is not None and len(batch.names) == 1 and batch.names[0]:
            path = context_path(self.contexts, batch.names[0], first_layer)
            if path.is_file():
                return load_context(path)
        context = read_context(self.reader, batch.tokens, first_layer, self.trunk.norm.dtype)
        if path is not None:
            save_context(path, context)
        return context

    def working(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return copies of trained weights in the trunk's type, for which gradients are computed."""
        dtype = self.trunk.norm.dtype
        return {name: tensor.detach().to(dtype).requires_grad_(name not in SHARED) for name, tensor in weights.items()}

    def learn(self, working: dict[str, Tensor], batch: Batch, total: float) -> tuple[dict[str, Tensor], Scored, Tensor]:
        """Return the gradients of a batch in float32, and the scores of its slots with a target, as `judge` does.

        `total` is the sum of the weights of all batches of the step.
        """
        batch = batch.to(str(self.trunk.norm.device))
        context = self.context(batch)
        states = block_states(self.trunk, self.shape, working, context, batch.anchors)
        targets, rows = self.words.targets(batch, total)
        chosen = states.flatten(0, 2)[rows]
        gradients = {name: torch.zeros_like(working[name], dtype=torch.float32) for name in SHARED}
        with torch.no_grad():
            scored, of_states = score(chosen.detach(), self.head, working, targets, self.ce, gradients)
        names = [name for name in working if name not in SHARED]
        found = torch.autograd.grad(chosen, [working[name] for name in names], of_states)
        gradients.update({name: gradient.float() for name, gradient in zip(names, found, strict=True)})
        return gradients, scored, rows

    @torch.no_grad()
    def judge(self, working: dict[str, Tensor], batch: Batch) -> tuple[Scored, Tensor]:
        """Return the scores of a batch's slots with a target, and the indices of these slots among all [N]."""
        batch = batch.to(str(self.trunk.norm.device))
        context = self.context(batch)
        states = block_states(self.trunk, self.shape, working, context, batch.anchors)
        targets, rows = self.words.targets(batch, 1.0)
        scored, _ = score(states.flatten(0, 2)[rows], self.head, working, targets, self.ce)
        return scored, rows


class Step:
    """Sums up the gradients of batches. On a CPU, each of the workers computes its batches in one thread.

    Threads that share one product wait for each other whenever another program takes a core; these do not.
    """

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) if workers else None

    def gradients(
        self, learner: Learner, weights: dict[str, Tensor], batches: Sequence[Batch]
    ) -> tuple[list[tuple[Scored, Tensor]], int]:
        """Set the gradients of `weights` for the mean over all slots of `batches`. Returns scores, and the slots."""
        working = learner.working(weights)
        total = float(sum(batch.weights.sum() for batch in batches))
        for tensor in weights.values():
            tensor.grad = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad.zero_()
        scores = []
        run = map if self._pool is None else self._pool.map
        for gradients, scored, rows in run(lambda batch: learner.learn(working, batch, total), batches):
            for name, gradient in gradients.items():
                own = weights[name].grad
                assert own is not None
                own += gradient
            scores.append((scored, rows))
        return scores, sum(batch.slots for batch in batches)
