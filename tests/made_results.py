"""Results of runs that never were, with an injected difference."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from infill_engine.diagnostics.benchmark.results import Results

HEADER: dict[str, Any] = {
    "record": "run",
    "format": 2,
    "version": "1.0",
    "suite": "quick",
    "models": ["trunk", "other"],
    "problems": "abc",
    "machine": {"processor": "one", "cores": 2, "system": "Linux"},
}
SIZES = {1: 35.0, 8: 50.0, 32: 100.0}
NOISE = 0.04  # of the logarithm of a processor time
LEVELS = 0.015  # of processes


def empty() -> Results:
    """A run without lines."""
    return Results(Path("none"), deepcopy(HEADER))


def add_answers(
    results: Results,
    right: "list[bool]",
    *,
    model: str = "trunk",
    way: str = "served",
    budget_ms: float = 150.0,
    ms: float = 100.0,
    candidates: int = 4,
) -> None:
    """One answer to each problem; its first text is right where `right` says so."""
    for number, is_right in enumerate(right):
        results.add(
            "answer",
            **_answer(number, is_right),
            model=model,
            way=way,
            candidates=candidates,
            budget_ms=budget_ms,
            ms=ms,
        )


def add_passes(results: Results, seed: int, factor: float = 1.0, processes: int = 6) -> None:
    """Passes in processes with levels of their own, on a machine whose load doubles its times now and then."""
    rng = np.random.default_rng(seed)
    for process in range(processes):
        level = rng.normal(0, LEVELS)
        for _ in range(10):
            busy = rng.choice((1.0, 2.0))
            beside = 8.0 * (1 + 0.1 * (busy - 1))  # load displaces the weights from the caches
            for rows, ms in SIZES.items():
                cpu_ms = factor * ms * beside / 8.0 * float(np.exp(level + rng.normal(0, NOISE)))
                about = {"rows": rows, "ms": busy * cpu_ms, "cpu_ms": cpu_ms, "reference_ms": beside}
                results.add("pass", model="trunk", process=process, **about)


def add_generations(
    results: Results, count: int, growth: float, *, life: int = 0, levels: "tuple[float, ...]" = (1.0,)
) -> None:
    """Generations whose passes become slower by `growth` each; in processes that are replaced after `life` of them.

    Each process is slower than usual by its level.
    """
    rng = np.random.default_rng(5)
    for number in range(count):
        process, age = divmod(number, life or count)
        load = 1 + 0.2 * (number // 25 % 2)  # in phases
        ms = 100.0 * (1 + number % 10) * (1 + growth) ** age * load * float(np.exp(rng.normal(0, 0.05)))
        ms *= levels[process % len(levels)]
        about = {"number": number, "process": process, "problem": f"p{number % 10}", "recycled": bool(life)}
        times = {"ms": ms, "pass_ms": ms, "passes": 2, "probe_cpu_ms": ms, "reference_ms": 8.0 * load}
        results.add("generation", **about, **times)


def _answer(number: int, is_right: bool) -> dict[str, Any]:
    return {"problem": f"p{number}", "kind": "line", "texts": ["text"], "right": [is_right]}
