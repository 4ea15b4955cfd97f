"""The measurements of a made network. Results are rows, one per measurement."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from bench.steps.networks import Made
from infill_engine.budget.work import Budget, Costs, PassState, finished
from infill_engine.diagnostics.costs import lines, reading, step, timed
from infill_engine.models.base import CanvasModel
from infill_engine.models.runtime.cuda_graphs import compile_steps
from infill_engine.models.runtime.out_of_memory import give_back, is_out_of_memory
from infill_engine.sampling.canvas.constraints import constraints_for
from infill_engine.sampling.canvas.denoise import Row, Task, denoise
from infill_engine.sampling.canvas.plan import canvas_of
from infill_engine.settings import ModelSettings, SamplerSettings
from infill_engine.types import Hole, HoleKind

Result = dict[str, Any]
EAGER, COMPILED = "eager", "compiled"
LINE = Hole(HoleKind.LINE)
SHORTEST = 8  # fewest tokens per line; decides how many lines are generated
STATIC = "static"  # the library's fixed-size cache, with which it compiles its own steps


@dataclass(frozen=True, slots=True)
class Sizes:
    """What to measure: steps for these candidates, slots and prompt lengths, and canvases in `steps` steps.

    Each result is the median of `runs` runs after one warm-up run.
    """

    candidates: Sequence[int] = (1, 4)
    slots: Sequence[int] = (16, 32, 64, 256)
    prompts: Sequence[int] = (256, 2048)
    canvas: tuple[int, int] = (4, 32)  # candidates and slots
    steps: int = 8
    runs: int = 10


TINY = Sizes((1, 2), (4,), (320,), (2, 4), 3, 1)


def measured(made: Made, sizes: Sizes, settings: ModelSettings) -> Iterator[Result]:
    """Yield each result when known: first eager, then compiled. What could not run has the reason as "skipped"."""
    families = {prompt: made.family(_filling(made, settings, prompt)) for prompt in sizes.prompts}
    yield from _figures(made, families, sizes, EAGER)
    troubles: list[str] = []
    some = families[sizes.prompts[0]]
    took, is_compiled = timed(made.device, partial(compile_steps, some, made.device, _quietly, troubles.append))
    about: Result = {"what": "compiling", "mode": COMPILED}
    if not is_compiled:
        yield about | {"skipped": troubles[0] if troubles else f"nothing is compiled on {made.device}"}
    else:
        yield about | {"seconds": round(took / 1000, 1)}
        yield from _figures(made, families, sizes, COMPILED)
    yield from _beside_the_library(made, sizes)


def _figures(made: Made, families: dict[int, CanvasModel], sizes: Sizes, mode: str) -> Iterator[Result]:
    for prompt, family in families.items():
        sides = _sides(prompt, 0)
        about: Result = {"mode": mode, "prompt": prompt, "runs": sizes.runs}
        for candidates in sizes.candidates:
            for slots in sizes.slots:
                size = {"what": "step", "candidates": candidates, "slots": slots}
                yield _attempt(made, about | size, partial(_step, family, sides, candidates, slots, sizes.runs))
        yield _attempt(made, about | {"what": "encode"}, partial(_encode, family, prompt // SHORTEST, sizes.runs))
        candidates, slots = sizes.canvas
        size = {"what": "canvas, warm prefix", "candidates": candidates, "slots": slots}
        work = partial(_canvas, family, partial(_sides, prompt), 0, candidates, slots, sizes.steps, sizes.runs)
        yield _attempt(made, about | size, work)
        if made.generate:
            size = {"what": "canvas, cold", "candidates": 1, "slots": made.canvas}
            work = partial(_canvas, family, partial(_sides, prompt), 1, 1, made.canvas, sizes.steps, sizes.runs)
            yield _attempt(made, about | size, work)


def _beside_the_library(made: Made, sizes: Sizes) -> Iterator[Result]:
    about: Result = {"what": "generate", "runs": sizes.runs}
    if made.generate is None:
        yield about | {"skipped": "transformers has no generate for this family"}
        return
    for cache in (None, STATIC):
        for prompt in sizes.prompts:
            mode = EAGER if cache is None else COMPILED
            found = about | {"mode": mode, "prompt": prompt, "candidates": 1, "slots": made.canvas}
            if cache and not made.device.startswith("cuda"):
                yield found | {"skipped": f"not compiled on {made.device}"}
            else:
                yield _attempt(made, found, partial(_generate, made, prompt, cache, sizes), forgiving=True)


def _step(family: CanvasModel, sides: tuple[str, str], candidates: int, slots: int, runs: int) -> Result:
    cost = step(family, sides, candidates, slots, runs)
    return {"ms": round(cost.ms, 3), "tokens": cost.tokens}


def _encode(family: CanvasModel, above: int, runs: int) -> Result:
    cold, typed = reading(family, above, above, runs)
    found = {"cold_ms": round(cold.ms, 3), "typed_ms": round(typed.ms, 3), "tokens": cold.tokens}
    return found | {"typed_to_cold": round(typed.ms / cold.ms, 4)}


def _canvas(
    family: CanvasModel,
    sides: Callable[[int], tuple[str, str]],
    changing: int,
    candidates: int,
    slots: int,
    steps: int,
    runs: int,
) -> Result:
    """Time requests through the product's loop, encoding included. `changing` is 1 to use other sides in each run."""
    settings = replace(SamplerSettings(), max_steps=steps)

    def denoised(run: int) -> int:
        context = finished(family.encode(*sides(run * changing)))
        rows = [Row(slots)] * candidates
        canvas = canvas_of(rows, family.info.mask_id)
        rules = constraints_for(family, LINE, canvas, "")
        job = denoise(family, Task(context, LINE.kind, canvas, rows, rules), settings, Costs())
        steps: list[PassState] = []
        Budget.unlimited().run(job, steps.append)
        return len(steps)

    took = [timed(family.device, partial(denoised, run)) for run in range(runs + 1)][1:]
    ms = statistics.median(each for each, _ in took)
    return {"ms": round(ms, 3), "steps": took[0][1], "canvases_per_s": round(1000 / ms, 3)}


def _generate(made: Made, prompt: int, cache: str | None, sizes: Sizes) -> Result:
    assert made.generate is not None
    ids = torch.arange(100, 100 + prompt, device=made.device)[None] % 200 + 50  # arbitrary text tokens
    generate = partial(made.generate, ids, sizes.steps, cache)
    took = [timed(made.device, generate)[0] for _ in range(sizes.runs + 2)][2:]
    ms = statistics.median(took)
    return {"ms": round(ms, 3), "steps": sizes.steps, "tokens": prompt, "canvases_per_s": round(1000 / ms, 3)}


def _attempt(made: Made, about: Result, work: Callable[[], Result], *, forgiving: bool = False) -> Result:
    """Return the result of `work` and how it was computed, or why it failed: too little memory, or a library error."""
    before = made.compiled_runs()
    try:
        found = work()
    except Exception as error:
        if is_out_of_memory(error):
            give_back(made.device)
            return about | {"skipped": "does not fit into memory"}
        if forgiving:
            return about | {"skipped": f"{type(error).__name__} in the library"}
        raise
    computed = {} if forgiving else {"computed": COMPILED if made.compiled_runs() > before else EAGER}
    return about | found | computed


def _filling(made: Made, settings: ModelSettings, prompt: int) -> ModelSettings:
    """Return settings with which a family reads at most `prompt` tokens, including those it adds itself."""
    added = finished(made.family(settings).encode("", "")).tokens
    room = max(8, prompt - added)
    return replace(settings, prefix_tokens=room - room // 4, suffix_tokens=room // 4, probe_lengths=False)


def _sides(prompt: int, number: int) -> tuple[str, str]:
    """Return two texts of at least `prompt` tokens each. Different numbers give different texts."""
    first, many = 1000 * number, prompt // SHORTEST
    return lines(first, many) + "result = ", "\n" + lines(first + many, many)


def _quietly(_what: str, _share: float) -> None:
    pass
