"""Measures tokens per trunk pass with mask rows, and the cost of a token, with greedy decoding on held-out code.

    python -m bench.tokens_a_pass --denoiser FOLDER --texts training/calibration/corpus.jsonl

Each hole is decoded left to right, and with blocks of mask rows after every token that a pass reads. `chosen` picks the
mask rows by measured costs, as serving does. Prints one JSON line per way. If a way writes another token than left to
right, the last line has the gap between the two likeliest tokens, in nats; rounding explains only a small gap.
"""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from infill_engine.models.registry import folder_of
from infill_engine.models.trunk.denoiser import MaskProposals
from infill_engine.models.trunk.loading import load_trunk
from infill_engine.models.trunk.model import PROMPT, TrunkModel
from infill_engine.sampling.mask_blocks import MaskCosts, choose_blocks, measured_mask_costs
from infill_engine.sampling.middle import EndRules
from infill_engine.sampling.token_tree import TokenTree
from infill_engine.training.trunk.__main__ import read_corpus
from infill_engine.work import finished

PREFIX_CHARS, SUFFIX_CHARS, TOKENS = 1600, 500, 24
CHOSEN = "chosen"
Written = list[tuple[int, float]]  # tokens, and how much likelier each was than any other, in nats
NOTHING = np.empty(0, np.int64)


@dataclass(slots=True)
class Tally:
    """The yield of one way of decoding. Passes count from the first after the prompt."""

    tokens: int = 0
    passes: int = 0
    masks: int = 0
    seconds: float = 0.0


def main() -> None:
    options = _parser().parse_args()
    torch.set_grad_enabled(False)
    folder = options.trunk or folder_of("trunk")
    if folder is None:
        sys.exit("There is no trunk on this machine; name its folder with --trunk.")
    model = load_trunk(folder, options.denoiser or folder, "cpu", torch.float32, lambda _what, _share: None)
    costs = measured_mask_costs(model)
    print(json.dumps({"pass_ms": costs.pass_ms, "row_ms": costs.row_ms, "survival": model.survival}), flush=True)
    ways: list[int | None] = [0, *options.masks, None]
    tallies = {way: Tally() for way in ways}
    gaps: list[float] = []  # where a way wrote another token than left to right
    for prefix, suffix in _holes(options.texts, options.holes):
        texts = [decode(model, prefix, suffix, way, costs, tallies[way]) for way in ways]
        gaps += [gap for text in texts if (gap := _first_difference(texts[0], text)) is not None]
    for way, tally in tallies.items():
        line = {
            "masks": CHOSEN if way is None else way,
            "tokens_a_pass": round(tally.tokens / tally.passes, 3),
            "ms_a_token": round(1000 * tally.seconds / tally.tokens, 2),
            "ms_a_pass": round(1000 * tally.seconds / tally.passes, 2),
            "masks_a_pass": round(tally.masks / tally.passes, 2),
            "tokens": tally.tokens,
        }
        print(json.dumps(line), flush=True)
    print(json.dumps({"holes": options.holes, "gaps_at_differences": gaps, "pace": model.info.profile}))


def decode(model: TrunkModel, prefix: str, suffix: str, way: int | None, costs: MaskCosts, tally: Tally) -> Written:
    """Return the greedy text of a hole, at most TOKENS long. `way` is the block length, None to choose by cost."""
    model.forget_continuations()  # the pass below proposes tokens behind the prompt
    reading = finished(model.read(prefix, suffix))
    found = model.logprobs(reading, (), (), (), [(PROMPT, way)] if way else [])
    assert found.root is not None
    text = [int(found.root.argmax())]
    drafted, sure = _proposed(found.proposals, PROMPT, text[0])
    slots: list[int] = []
    began = perf_counter()
    gaps = [_gap(found.root)]
    end = model.vocabulary.fim.end
    while len(text) < TOKENS and text[-1] != end:
        read = [text[-1], *drafted]
        depths = range(len(text) - 1, len(text) - 1 + len(read))
        parents = [[*slots, *(~before for before in range(row))] for row in range(len(read))]
        if way is None:
            blocks = _chosen(read, [0.0, *sure], model, costs)
        else:
            blocks = [(row, way) for row in range(len(read))] if way else []
        found = model.logprobs(reading, read, list(depths), parents, blocks)
        choices = found.behind.argmax(-1).tolist()
        right = next((row for row, token in enumerate(drafted) if choices[row] != token), len(drafted))
        if end in choices[: right + 1]:
            right = choices.index(end)  # tokens after the end do not count
        text += choices[: right + 1]
        gaps += [_gap(row) for row in found.behind[: right + 1]]
        slots += found.slots[: right + 1]
        drafted, sure = _proposed(found.proposals, right, text[-1])
        tally.passes += 1
        tally.tokens += right + 1
        tally.masks += sum(masks for _, masks in blocks)
        if reading.free_slots < 64:
            break
    tally.seconds += perf_counter() - began
    return list(zip(text, gaps, strict=True))[:TOKENS]


def _gap(logprobs: NDArray[np.float32]) -> float:
    """Return how much likelier the likeliest token is than the next one, in nats."""
    second, first = np.partition(logprobs, -2)[-2:]
    return float(first - second)


def _first_difference(one: Written, other: Written) -> float | None:
    """Return the gap in `one` at the first differing token; None if there is none."""
    return next((gap for (token, gap), (same, _) in zip(one, other, strict=False) if token != same), None)


def _chosen(read: Sequence[int], sure: Sequence[float], model: TrunkModel, costs: MaskCosts) -> list[tuple[int, int]]:
    """Return the blocks that the search chooses. Anchors are row numbers."""
    tree = TokenTree(model.vocabulary, EndRules(NOTHING, NOTHING, NOTHING))
    path = tree.plant(read)
    for number, logprob in zip(path, np.cumsum(sure).tolist(), strict=True):
        tree.nodes[number].logprob = logprob
    gain = sum(map(tree.probability, path))
    cost_ms = costs.one_row_ms + costs.row_ms * (len(read) - 1)
    blocks = choose_blocks(tree, path, model.survival, gain, cost_ms, costs)
    return [(path.index(number), masks) for number, masks in blocks]


def _proposed(proposals: MaskProposals | None, anchor: int, before: int) -> tuple[list[int], list[float]]:
    tokens: list[int] = []
    logprobs: list[float] = []
    if proposals is not None:
        for row in proposals.behind(anchor):
            before, logprob = proposals.choose(row, before)
            tokens.append(before)
            logprobs.append(logprob)
    return tokens, logprobs


def _holes(path: Path, count: int) -> list[tuple[str, str]]:
    """Return text around holes in the middle of code lines, always the same ones."""
    rng, texts = random.Random(5), read_corpus(path)
    holes: list[tuple[str, str]] = []
    while len(holes) < count:
        text = rng.choice(texts).text
        at = rng.randrange(len(text))
        line = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        if line < 400 or end < 0 or not text[line:at].strip():
            continue
        holes.append((text[max(0, at - PREFIX_CHARS) : at], text[end : end + SUFFIX_CHARS]))
    return holes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.tokens_a_pass")
    add = parser.add_argument
    add("--denoiser", type=Path, default=None, help="folder of denoiser.safetensors and adapter.safetensors")
    add("--trunk", type=Path, default=None)
    add("--texts", type=Path, default=Path("training/calibration/corpus.jsonl"))
    add("--holes", type=int, default=30)
    add("--masks", type=int, nargs="*", default=[1, 2, 3, 4], help="mask rows behind each token that is read")
    return parser


if __name__ == "__main__":
    main()
