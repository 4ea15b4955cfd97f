"""Results of runs that never were, with a planted difference."""

from pathlib import Path
from typing import Any

import numpy as np

from infill_engine.diagnostics.benchmark.results import Results

HEADER = {
    "record": "run",
    "format": 1,
    "version": "1.0",
    "commit": "",
    "suite": "quick",
    "models": ["trunk", "small"],
    "seed": 0,
    "problems": "abc",
    "machine": {"processor": "one", "cores": 2, "system": "Linux"},
}
SIZES = {1: 35.0, 8: 50.0, 32: 100.0}
NOISE = 0.03


def empty() -> Results:
    """A run without lines."""
    return Results(Path("none"), dict(HEADER))


def add_answers(
    results: Results,
    right: "list[bool]",
    *,
    suite: str = "quality",
    model: str = "trunk",
    way: str = "served",
    budget_ms: float | None = 150.0,
    ms: float = 100.0,
    candidates: int = 4,
    passes: int | None = None,
) -> None:
    """One answer to each problem; its first text is right where `right` says so."""
    for number, is_right in enumerate(right):
        results.add(
            "answer",
            **_answer(number, is_right),
            suite=suite,
            model=model,
            way=way,
            candidates=candidates,
            budget_ms=budget_ms,
            most_passes=passes,
            ms=ms,
        )


def add_passes(results: Results, seed: int, factor: float = 1.0, blocks: int = 12) -> None:
    """Blocks of passes at a machine's usual noise, slower by `factor`."""
    rng = np.random.default_rng(seed)
    for block in range(blocks):
        results.begin(f"passes {block}")
        phase = rng.normal(0, NOISE)  # of the machine, during this block
        for rows, ms in SIZES.items():
            for _ in range(3):
                noise = float(np.exp(phase + rng.normal(0, NOISE)))
                results.add("pass", model="trunk", rows=rows, ms=factor * ms * noise)


def add_generations(results: Results, count: int, growth: float) -> None:
    """Generations whose passes become slower by `growth` each."""
    rng = np.random.default_rng(5)
    for number in range(count):
        ms = 100.0 * (1 + number % 10) * (1 + growth) ** number * float(np.exp(rng.normal(0, 0.05)))
        about = {"number": number, "problem": f"p{number % 10}", "resident_mb": 900.0}
        results.add("generation", **about, ms=ms, pass_ms=ms, passes=2)


def _answer(number: int, is_right: bool) -> dict[str, Any]:
    return {
        "problem": f"p{number}",
        "kind": "line",
        "turn": 0,
        "texts": ["text"],
        "right": [is_right],
        "cpu_ms": 150.0,
        "tokens": [3],
        "rows": [8, 8],
        "pass_ms": [50.0, 50.0],
    }
