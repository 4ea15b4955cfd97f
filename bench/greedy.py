"""Compares greedy text with blocks of masks and without: the same text, in how many passes, and how long it takes.

    python -m bench.greedy --packages training/heldout --holes 60 --simulate costs.json

Each hole is decoded twice, up to its end or to --tokens tokens. The first pass reads the end of the prompt, as after a
keystroke. Each further one reads the last token and what the blocks of the pass before proposed after it. A pass
denoises a block after each row at which the text is likely to leave it. The last line is a JSON object: tokens a pass,
the end and the first pass counted, and milliseconds for a text, real and simulated.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import exp, log
from pathlib import Path

import numpy as np

from bench.quality.problems.holes import draw_tasks
from bench.quality.systems.product import ask
from bench.quality.systems.simulated_time import SimulatedTime, add_simulate, read_costs
from bench.sources import read_packages
from infill_engine.budget.deadline import now, since
from infill_engine.budget.work import finished
from infill_engine.errors import InfillError
from infill_engine.models.model_loading import load_model
from infill_engine.models.trunk.denoiser import ProposedToken
from infill_engine.models.trunk.model import WINDOW, TrunkModel
from infill_engine.models.trunk.prompt_cache import BEFORE, PromptCache
from infill_engine.models.trunk.slots import NO_BLOCKS, Blocks

BLOCKS = 2  # in a pass: as many as its forms hold
TYPED = 3  # tokens at the end of the prompt that the first pass reads
LEAST_VERIFIED = log(0.1)  # of a proposal with all before it


@dataclass(slots=True)
class Decoded:
    """A greedy text, and its passes: rows, mask rows, and milliseconds of each."""

    tokens: list[int] = field(default_factory=list)
    passes: list[tuple[int, int, float]] = field(default_factory=list)


def decode(model: TrunkModel, prompt: PromptCache, most: int, *, blocks: bool) -> Decoded:
    """Return the greedy text after a prompt, of at most `most` tokens, without its end."""
    assert model.denoiser is not None
    found = Decoded()
    path: list[int] = []  # the slots of the text so far
    rows: list[int] = []
    planned = Blocks([BEFORE], [model.denoiser.slots]) if blocks else NO_BLOCKS
    while True:
        depths = range(len(found.tokens), len(found.tokens) + len(rows))
        parents = [[*path, *(~before for before in range(row))] for row in range(len(rows))]
        size, began = len(rows) + len(prompt.waiting), now()
        expected, denoised = prompt.run_pass(rows, depths, parents, planned)
        found.passes.append((size, len(planned), since(began)))
        after = expected or [prompt.after_prompt()]
        choices = [int(one.likeliest[0]) for one in after]
        accepted = min(len(rows), 1)
        while accepted < len(rows) and rows[accepted] == choices[accepted - 1] != model.vocabulary.end:
            accepted += 1
        found.tokens += rows[:accepted]
        path += [one.slot for one in expected[:accepted]]
        last = accepted - 1  # of the pass; BEFORE in the first one
        token = choices[max(last, 0)]
        chain: list[ProposedToken] = []
        if denoised is not None and last in planned.anchors:
            block = planned.rows(list(planned.anchors).index(last))
            chain = list(_worth_verifying(model.denoiser.text_after(denoised, block, token)))
        if token == model.vocabulary.end or len(found.tokens) >= most or prompt.free_slots < len(chain) + 1:
            found.tokens = found.tokens[:most]
            return found
        rows = [token, *(choice.token for choice in chain)]
        planned = _planned(chain, model) if blocks else NO_BLOCKS


def _planned(chain: Sequence[ProposedToken], model: TrunkModel) -> Blocks:
    """Return blocks after the rows at which the text is likeliest to leave the pass."""
    assert model.denoiser is not None
    reached = np.cumprod([1.0, *(exp(choice.logprob) for choice in chain)])
    leaves = reached - np.append(reached[1:], 0.0)
    anchors = sorted(np.argsort(-leaves)[:BLOCKS].tolist())
    return Blocks(anchors, [model.denoiser.slots] * len(anchors))


def _worth_verifying(choices: Sequence[ProposedToken]) -> Iterator[ProposedToken]:
    total = 0.0
    for choice in choices:
        total += choice.logprob
        if total < LEAST_VERIFIED:
            return
        yield choice


def main() -> None:
    """Run the command line."""
    options = _parser().parse_args()
    try:
        costs, model = read_costs(options.simulate), load_model("trunk")
        time = SimulatedTime(costs, model) if costs and isinstance(model, TrunkModel) else None
    except InfillError as fault:
        sys.exit(str(fault))
    if not isinstance(model, TrunkModel) or model.denoiser is None:
        sys.exit("the default model has no denoiser here")
    tasks = draw_tasks(read_packages(options.packages), options.holes, options.seed)
    sums: dict[bool, list[float]] = {False: [0.0] * 4, True: [0.0] * 4}  # tokens, passes, real and simulated ms
    same = count = 0
    for task in islice(tasks, options.most):
        request, texts = ask(task, 1, WINDOW).request, []
        for blocks in (False, True):
            before, _ = model.vocabulary.split_partial_word(request.prefix)
            prompt = finished(model.read(model.prompt(before, request.suffix), part=TYPED))
            found = decode(model, prompt, options.tokens, blocks=blocks)
            model.forget_prompts()
            texts.append(found.tokens)
            sizes = [model.cost_rows(rows, masks) for rows, masks, _ in found.passes]
            simulated = sum(map(time.pass_ms, sizes)) if time else 0.0
            each = (len(found.tokens) + 1, len(found.passes), sum(ms for *_, ms in found.passes), simulated)
            sums[blocks] = [total + one for total, one in zip(sums[blocks], each, strict=True)]
        same, count = same + (texts[0] == texts[1]), count + 1
    result = {
        name: {"tokens_a_pass": tokens / max(passes, 1), "ms": real / count, "simulated_ms": simulated / count}
        for name, (tokens, passes, real, simulated) in (("left to right", sums[False]), ("blocks", sums[True]))
    }
    print(json.dumps(result | {"texts": count, "same": same, "simulated": str(costs or "")}))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.greedy", description="Compares greedy decoding.")
    add = parser.add_argument
    add("--packages", type=Path, default=Path("training/heldout"), help="folder of held-out wheels or source folders")
    add("--holes", type=int, default=60, help="holes of each kind")
    add("--most", type=int, default=None, help="holes in all")
    add("--tokens", type=int, default=48, help="of a text at most")
    add("--seed", type=int, default=0)
    add_simulate(parser)
    return parser


if __name__ == "__main__":
    main()
