"""Small parts of the graph: constants, splits, and what stands for a branch that is not computed."""

from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import Node
from openvino import opset15 as op

from infill_engine.models.trunk.products import ints


def nothing_like(branch: ov.Model) -> ov.Model:
    """Return what stands for the outputs of a branch that is not computed."""
    results = []
    for output in branch.outputs:
        shape = [0, *(1 if size.is_dynamic else size.get_length() for size in list(output.partial_shape)[1:])]
        results.append(op.result(op.constant(np.zeros(shape, np.float32))))
    return ov.Model(results, [], "nothing")


def constant(array: NDArray[Any]) -> Node:
    """Return a constant with a copy of the array."""
    return op.constant(np.array(array))


def shared(array: NDArray[Any]) -> Node:
    """Return a constant that uses the array's own memory."""
    return op.constant(array, shared_memory=True)


def split(x: Node, axis: int, *sizes: int) -> list[Any]:
    """Return the parts of x along an axis, of these sizes."""
    found: list[Any] = op.variadic_split(x, int64(axis), ints(*sizes)).outputs()
    return found


def int64(value: int) -> Node:
    """Return a constant with this number, []."""
    return op.constant(np.int64(value))
