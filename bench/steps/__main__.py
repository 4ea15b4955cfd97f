"""Measures steps of DiffusionGemma and a 7B Dream with random weights: eager, compiled, and the library's generate.

    python -m bench.steps [--models gemma dream dream-kept] [--device cuda] [--runs 10] --out bench/results/steps.jsonl
    python -m bench.steps --tiny                      miniature networks, for a machine without a GPU

Prints tables and writes one JSON line per result to --out. What was not measured is listed with the reason.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers

from bench.json_lines import write_lines
from bench.steps.measure import COMPILED, EAGER, TINY, Result, Sizes, measured
from bench.steps.networks import Made, diffusion_gemma_like, dream_like
from infill_engine.errors import InfillError, InputError, ModelTooLargeError
from infill_engine.models.runtime.devices import choose_device, used_memory
from infill_engine.models.runtime.out_of_memory import give_back
from infill_engine.models.runtime.precision import fastest_dtype
from infill_engine.settings import ModelSettings

Make = Callable[..., Made]
USUAL = ModelSettings()
MODELS: dict[str, tuple[Make, ModelSettings]] = {
    "gemma": (diffusion_gemma_like, USUAL),
    "dream": (dream_like, USUAL),  # re-encodes its context in every step
    "dream-kept": (dream_like, replace(USUAL, reuse_context=True)),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        device = choose_device(options.device)
        if device == "cpu" and not options.tiny:
            raise InputError("networks of this size want a GPU; --tiny measures networks in miniature")
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    sizes = TINY if options.tiny else replace(Sizes(), runs=options.runs)
    results = []
    for result in figures(options.models, device, sizes, tiny=options.tiny):
        print(json.dumps(result), flush=True)
        results.append(result)
    _print(results)
    if options.out:
        print(f"every figure in {write_lines(results, options.out)}")
    return 0


def figures(models: Sequence[str], device: str, sizes: Sizes, *, tiny: bool) -> Iterator[Result]:
    """Yield the hardware and versions first, then every result of each model."""
    dtype = torch.float32 if device == "cpu" else fastest_dtype(device)
    yield {
        "what": "run",
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        "dtype": str(dtype).removeprefix("torch."),
        "weights": "random",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    for model in models:
        make, settings = MODELS[model]
        try:
            made = make(device, dtype, tiny=tiny)
        except ModelTooLargeError as fault:
            yield {"model": model, "what": "model", "skipped": str(fault)}
            continue
        about = {"name": made.name, "parameters": made.parameters, "dimensions": made.dimensions}
        yield {"model": model, "what": "model", **about}
        for result in measured(made, sizes, settings):
            yield {"model": model, **result}
        yield {"model": model, "what": "memory", "bytes": used_memory(device)}
        del made
        torch.compiler.reset()  # compiled code keeps references to what it was compiled for
        give_back(device)


def _print(results: Sequence[Result]) -> None:
    for model in dict.fromkeys(result["model"] for result in results if "model" in result):
        own = [result for result in results if result.get("model") == model]
        about = own[0]
        print(f"\n{model}: {about.get('skipped') or about['name']}")
        if "dimensions" in about:
            print(f"  {about['parameters'] / 1e9:.3f} B random parameters; dimensions {about['dimensions']}")
        lines: dict[tuple[Any, ...], dict[str, str]] = {}
        for result in own[1:]:
            if "mode" in result and "prompt" in result:
                size = tuple(result.get(name, "") for name in ("what", "prompt", "candidates", "slots"))
                lines.setdefault(size, {})[result["mode"]] = _shown(result)
            elif "skipped" in result:
                print(f"  {result['what']}: {result['skipped']}")
        print(f"  {'':20}{'prompt':>7}{'rows':>5}{'slots':>6}{'eager':>34}{'compiled':>34}")
        for (what, prompt, rows, slots), found in lines.items():
            print(f"  {what:20}{prompt:7}{rows:5}{slots:6}{found.get(EAGER, ''):>34}{found.get(COMPILED, ''):>34}")


def _shown(result: Result) -> str:
    if "skipped" in result:
        return str(result["skipped"])
    if result["what"] == "encode":
        return f"{result['cold_ms']:.1f} ms, typed {result['typed_to_cold']:.3f} of it"
    steps = f", {result['steps']} steps, {result['canvases_per_s']:.2f}/s" if "steps" in result else ""
    # A pass that fits no compiled shape is computed eagerly.
    otherwise = ", eager" if result.get("computed", result["mode"]) != result["mode"] else ""
    return f"{result['ms']:.1f} ms{steps}{otherwise}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.steps", description="Times steps of large models.")
    add = parser.add_argument
    add("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    add("--device", default="auto")
    add("--runs", type=int, default=10, help="of which each figure is the median")
    add("--tiny", action="store_true", help="networks in miniature, and few runs")
    add("--out", type=Path, help="where one JSON line for each figure goes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
