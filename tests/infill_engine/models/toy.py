"""A language whose holes are determined by both sides, and tiny networks that have learnt it.

    [3:kd:r]      what stands on the right comes first, in other letters, then what stands on the left

Training is written out here with the library's own classes, text in its natural order: nothing of the adapters, whose
shifts, masks and columns are what the tests are about, is used in it.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from bench.families.tiny import backwards_only, everything, ids_of

LANGUAGE = "toy"  # of no grammar: what is no fault here would be one in another language
LEFT, RIGHT = "abcdefgh", "stuvwxyz"
PAIRS = list(itertools.product(range(8), range(8)))
LENGTHS = (1, 2, 4)  # of the holes in training
STEPS = 140


def sides(left: int, right: int) -> tuple[str, str]:
    return f"[{left}:", f":{RIGHT[right]}]\n"


def answer(left: int, right: int) -> str:
    return "ijklmnop"[right] + LEFT[left]


@dataclass(frozen=True)
class Frame:
    """The special tokens, by number, that a bidirectional family's texts hold."""

    mask: int
    end: int
    grow: int  # what stands in a hole of one slot: two are needed
    begin: tuple[int, ...] = ()
    close: tuple[int, ...] = ()


def learn_to_fill(network: nn.Module, tokenizer: Tokenizer, frames: Sequence[Frame], shift: int) -> None:
    """Masked diffusion: a canvas of 1 to 4 slots holds the answer and ends after it, each slot masked or not."""
    rows = [_canvases(tokenizer, frame, length) for frame in frames for length in LENGTHS]

    def batch(step: int, random: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        ids, start, target = rows[step % len(rows)]
        length = target.shape[1]
        masked = torch.rand(target.shape, generator=random) < (0.4 + 0.6 * torch.rand(len(ids), 1, generator=random))
        masked[torch.rand(len(ids), generator=random) < 0.5] = True
        canvas = torch.where(masked, frames[0].mask, target)
        given = torch.cat([ids[:, :start], canvas, ids[:, start + length :]], 1)
        wanted = torch.full_like(ids, -100)
        wanted[:, start : start + length] = torch.where(masked, target, -100)
        return given, everything(given), torch.roll(wanted, -shift, 1)

    _learn(network, batch)


def learn_to_continue(
    network: nn.Module, tokenizer: Tokenizer, prompt: Callable[[str, str], list[int]], end: int
) -> None:
    """Autoregression: the prompt, then the answer and its end."""
    given, wanted = [], []
    for left, right in PAIRS:
        before = prompt(*sides(left, right))
        told = [*ids_of(tokenizer, answer(left, right)), end]
        given.append([*before, *told[:-1]])
        wanted.append([-100] * (len(before) - 1) + told)
    ids, targets = torch.tensor(given), torch.tensor(wanted)
    _learn(network, lambda step, random: (ids, backwards_only(ids), targets))


def _canvases(tokenizer: Tokenizer, frame: Frame, length: int) -> tuple[Tensor, int, Tensor]:
    ids, targets, start = [], [], 0
    for left, right in PAIRS:
        before, behind = (ids_of(tokenizer, side) for side in sides(left, right))
        told = ids_of(tokenizer, answer(left, right))
        target = [frame.grow] if length == 1 else [*told, *[frame.end] * (length - len(told))]
        start = len(frame.begin) + len(before)
        ids.append([*frame.begin, *before, *[frame.mask] * length, *behind, *frame.close])
        targets.append(target)
    return torch.tensor(ids), start, torch.tensor(targets)


def _learn(network: Any, batch: Callable[[int, torch.Generator], tuple[Tensor, Tensor, Tensor]]) -> None:
    random = torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(network.parameters(), lr=6e-3, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 6e-3, total_steps=STEPS)
    network.train()
    for step in range(STEPS):
        ids, visible, wanted = batch(step, random)
        logits = network(input_ids=ids, attention_mask=visible, use_cache=False).logits
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    network.eval().requires_grad_(False)


def share_right(fill: Callable[[str, str], str | None], pairs: Sequence[tuple[int, int]] = PAIRS) -> float:
    """How many of the holes `fill` answers as the language has it."""
    return sum(fill(*sides(*pair)) == answer(*pair) for pair in pairs) / len(pairs)
