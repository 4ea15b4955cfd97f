"""Steps of a network that are compiled while it loads: on CUDA, as graphs with a single launch.

    tensors of some sizes ──▶ padded to the smallest prepared shape ──▶ compiled function ──▶ cut back, copied
                         └──▶ no shape fits: None, and the caller computes without compiled code

A step of a large network over few slots is limited by the launches of its hundreds of kernels, not by their work. A
CUDA graph launches them as one, for exactly the shapes it was recorded with. So a few shapes are prepared when a model
is loaded, and nothing is compiled afterwards. On other devices nothing is prepared.

The first fault is reported, and after it compiled code is not used any more.
"""

import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn.functional import pad

from infill_engine.models.runtime.out_of_memory import is_out_of_memory
from infill_engine.stderr import say

Compiler = Callable[[Callable[..., Any]], Callable[..., Any]]
Sizes = Mapping[str, int]  # by the names of the axes
Report = Callable[[str, float], None]  # the current task, and the share of it that is done
Tell = Callable[[str], None]  # takes a message for the user

FIXED = "-"  # the name of an axis that is never padded
COMPUTED = ("rows", "tokens")  # the axes whose product is the number of positions that a step computes
FREE = 256  # positions that cost as much as one: reading the weights takes as long
MOST_PADDING = 2  # times the wanted positions, above FREE
ROUNDS = 3  # runs that prepare a shape: compiling, recording a graph, replaying it
MOST_VARIANTS = 256  # of a function that torch compiles; its own limit is 8


@runtime_checkable
class CompilesSteps(Protocol):
    """An optional interface, for families whose steps can be compiled."""

    def compile_steps(self, compiler: Compiler, report: Report, tell: Tell) -> bool:
        """Prepare the usual shapes of steps; returns whether any is ready. `tell` receives faults, now or later."""
        ...


def compiler_for(device: str) -> Compiler | None:
    """Return the compiler for `device`; None if compiled code would not be faster there."""
    if not device.startswith("cuda"):
        return None
    return partial(torch.compile, mode="reduce-overhead", fullgraph=True, dynamic=False)


def compile_steps(family: object, device: str, report: Report, tell: Tell) -> bool:
    """Prepare the steps of a loaded family if this device supports it; returns whether that was done."""
    compiler = compiler_for(device)
    return compiler is not None and isinstance(family, CompilesSteps) and family.compile_steps(compiler, report, tell)


def shapes_of(**axes: Sequence[int]) -> list[Sizes]:
    """Return all combinations of sizes, by the names of the axes."""
    return [dict(zip(axes, sizes, strict=True)) for sizes in product(*axes.values())]


def positions(sizes: Sizes) -> int:
    """Return how many positions a step of these sizes computes."""
    return prod(sizes.get(name, 1) for name in COMPUTED)


class CompiledStep:
    """A function of tensors, compiled for some sizes of their axes.

    `inputs` and `outputs` name the axes of each tensor, as "rows tokens -". Axes with the same name have the same size
    and may be padded at their end, with zeros or False. Padding must not change what `function` computes for the other
    positions, and the results for padding must be finite. `function` returns a tuple.
    """

    def __init__(self, function: Callable[..., tuple[Tensor, ...]], inputs: Sequence[str], outputs: Sequence[str]):
        self._function = function
        self._inputs = [axes.split() for axes in inputs]
        self._outputs = [axes.split() for axes in outputs]
        self._compiled: Callable[..., tuple[Tensor, ...]] = function
        self._shapes: list[Sizes] = []
        self._tell: Tell = lambda _trouble: None
        self.runs = 0  # calls that used compiled code

    @property
    def ready(self) -> bool:
        """Whether any shape is ready."""
        return bool(self._shapes)

    @torch.inference_mode()
    def prepare(
        self,
        compiler: Compiler,
        shapes: Sequence[Sizes],
        example: Callable[[Sizes], Sequence[Tensor]],
        report: Report,
        tell: Tell,
    ) -> None:
        """Compile for `shapes`, with inputs of those sizes from `example`. Raises nothing."""
        self._tell = tell
        if not shapes:
            return
        try:
            self._compiled = compiler(self._function)
            with torch._dynamo.config.patch(recompile_limit=MOST_VARIANTS):
                for number, sizes in enumerate(shapes):
                    report(f"compiling steps, shape {number + 1} of {len(shapes)}", number / len(shapes))
                    inputs = self._padded(example(sizes), sizes)
                    for _ in range(ROUNDS):
                        self._computed(inputs)
                    self._shapes.append(sizes)
        except Exception as error:  # anything a compiler raises; the model works without it
            self._give_up(error)

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...] | None:
        """Return the function's results, or None if no prepared shape fits `inputs` without much padding.

        Raises only errors that mean that memory has run out.
        """
        sizes = self._sizes(inputs)
        shape = min((each for each in self._shapes if _holds(each, sizes)), key=_least_first, default=None)
        if shape is None:
            return None
        try:
            # If the compiled code does not fit after all, the compiler must not start compiling now.
            with torch.compiler.set_stance("fail_on_recompile"):
                results = self._computed(self._padded(inputs, shape))
        except Exception as error:
            if is_out_of_memory(error):
                raise
            self._give_up(error)
            return None
        self.runs += 1
        # The next replay of a graph overwrites these results.
        return tuple(_cut(result, axes, sizes).clone() for result, axes in zip(results, self._outputs, strict=True))

    def _computed(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        torch.compiler.cudagraph_mark_step_begin()
        return self._compiled(*inputs)

    def _sizes(self, inputs: Sequence[Tensor]) -> Sizes:
        found: dict[str, int] = {}
        for tensor, axes in zip(inputs, self._inputs, strict=True):
            for name, size in zip(axes, tensor.shape, strict=True):
                if name != FIXED and found.setdefault(name, size) != size:
                    raise ValueError(f"axis `{name}` is {size} long in one tensor and {found[name]} in another")
        return found

    def _padded(self, inputs: Sequence[Tensor], sizes: Sizes) -> list[Tensor]:
        """`inputs` padded to `sizes`, contiguous, since compiled code requires one order of strides."""
        found = []
        for tensor, axes in zip(inputs, self._inputs, strict=True):
            missing = [sizes.get(name, size) - size for name, size in zip(axes, tensor.shape, strict=True)]
            amounts = [amount for each in reversed(missing) for amount in (0, each)]
            found.append((pad(tensor, amounts) if any(missing) else tensor).contiguous())
        return found

    def _give_up(self, error: Exception) -> None:
        self._shapes.clear()
        frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
        say(f"infill engine: {type(error).__name__} in a compiled step\n{frames}")
        self._tell(
            f"its steps could not be compiled ({type(error).__name__}), so they are slower than they might be. "
            "Compiling needs Triton, a C compiler (gcc) and some free memory of the device; the log shows more"
        )


def _holds(shape: Sizes, sizes: Sizes) -> bool:
    room = all(shape[name] >= size for name, size in sizes.items())
    return room and positions(shape) <= max(FREE, MOST_PADDING * positions(sizes))


def _least_first(shape: Sizes) -> tuple[int, int]:
    return positions(shape), sum(shape.values())


def _cut(result: Tensor, axes: Sequence[str], sizes: Sizes) -> Tensor:
    for axis, name in enumerate(axes):
        if name in sizes:
            result = result.narrow(axis, 0, sizes[name])
    return result
