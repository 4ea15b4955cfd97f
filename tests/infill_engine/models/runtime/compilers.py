"""Compilers that stand in for torch's."""

import shutil
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.backends.registry import lookup_backend

from infill_engine.models.runtime.cuda_graphs import CompiledStep


class Graphs:
    """A compiler that compiles nothing, and whose results lie, as a CUDA graph's, where the next ones will."""

    def __init__(self) -> None:
        self.results: dict[tuple[torch.Size, ...], tuple[Tensor, ...]] = {}

    def __call__(self, function: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, ...]]:
        def run(*inputs: Tensor) -> tuple[Tensor, ...]:
            for results in self.results.values():
                for result in results:
                    result.fill_(torch.nan)
            computed = function(*inputs)
            results = self.results.setdefault(tuple(each.shape for each in inputs), computed)
            for place, result in zip(results, computed, strict=True):
                place.copy_(result)
            return results

        return run


class Counting:
    """torch.compile for this processor, counting what it compiles and how often that runs."""

    def __init__(self, backend: str) -> None:
        self.backend = lookup_backend(backend)
        self.compiled = self.ran = 0

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function, backend=self._compile, fullgraph=True, dynamic=False)

    def _compile(self, graph: Any, inputs: Any) -> Callable[..., Any]:
        self.compiled += 1
        inner = self.backend(graph, inputs)

        def run(*values: Any) -> Any:
            self.ran += 1
            return inner(*values)

        return run


def best_backend() -> str:
    if shutil.which("g++") or shutil.which("clang++"):
        return "inductor"
    warnings.warn("no C++ compiler: steps are compiled with aot_eager, which generates no code", stacklevel=2)
    return "aot_eager"


def fail(*_: Any) -> Any:
    raise RuntimeError("no such compiler")


def quietly(_what: str, _share: float) -> None:
    pass


def prepared(family: Any, compiler: Any) -> list[str]:
    """What there was to tell."""
    told: list[str] = []
    assert family.compile_steps(compiler, quietly, told.append) == (not told)
    return told


def runs(family: Any) -> int:
    """How many passes of its network were computed by what was compiled."""
    network = family._network if hasattr(family, "_network") else family._backbone
    found: int = network.compiled_runs
    return found


def asked(step: CompiledStep, rows: int, tokens: int) -> Tensor | None:
    with torch.inference_mode():
        values = torch.randn(tokens, rows, 3).transpose(0, 1)  # of other strides than what was prepared
        found = step(values, torch.zeros(rows, tokens).bool())
    if found is None:
        return None
    torch.testing.assert_close(found[0], 2 * values)
    return found[0]
