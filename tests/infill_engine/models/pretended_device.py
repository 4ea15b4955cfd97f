"""A device that is not there: tensors that say they lie on it, compute on the CPU, and mix with no others.

It finds what a machine without a GPU would not: a tensor made on the CPU that meets one of the model's, an array taken
from where no array can be taken, a question that only torch built for CUDA can answer. It says nothing of kernels,
their speed or their rounding.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from bench.families import checks
from infill_engine.models.runtime import devices

DEVICE = torch.device("privateuseone:0")  # torch has a place for devices that it does not know
CROSSES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}  # from one device to another
# Positions may lie on the CPU where what they pick from does not.
TAKES_POSITIONS = {torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default, torch.ops.aten.index_put.default}
READS = {torch.ops.aten._local_scalar_dense.default, torch.ops.aten.equal.default}  # give a value, not a tensor


class Elsewhere(Tensor):
    """Stands for `held`, which lies on the CPU."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    def __new__(cls, held: Tensor) -> Self:
        with torch.inference_mode(mode=False):  # views of those made in it would ask for what they lack
            made: Self = Tensor._make_wrapper_subclass(
                cls,
                held.shape,
                strides=held.stride(),
                storage_offset=held.storage_offset(),
                dtype=held.dtype,
                device=DEVICE,
            )
        made.held = held
        return made

    def tolist(self) -> Any:
        return self.held.tolist()

    def __repr__(self, **_options: Any) -> str:
        return f"Elsewhere({self.held!r})"

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return _dispatch(function, args, dict(kwargs or {}))


class _Pretence(TorchDispatchMode):
    def __torch_dispatch__(
        self, function: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        with self:  # where no gradients are kept, functions come here that consist of others
            found = function.decompose(*args, **(kwargs or {}))
        return _dispatch(function, args, dict(kwargs or {})) if found is NotImplemented else found


def _dispatch(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, Tensor)]
    there = [each for each in tensors if isinstance(each, Elsewhere)]
    here = [each for each in tensors if not isinstance(each, Elsewhere) and each.ndim]
    first = args[0] if args else None
    positions_here = function in TAKES_POSITIONS and isinstance(first, Elsewhere) and _only_positions(args, here)
    if there and here and function not in CROSSES and not positions_here:
        raise RuntimeError(f"Expected all tensors to be on the same device, {function}: {[t.shape for t in tensors]}")
    device = kwargs.get("device")
    if device is not None:
        kwargs["device"] = "cpu" if torch.device(device).type == DEVICE.type else device
    kwargs.pop("pin_memory", None)
    goes_there = bool(there) if device is None else torch.device(device).type == DEVICE.type
    if function is torch.ops.aten.copy_.default:
        goes_there = isinstance(first, Elsewhere)
    held_args, held_kwargs = tree_map_only(Elsewhere, lambda each: each.held, (args, kwargs))
    if function is torch.ops.aten.histc.default and not held_args[0].is_floating_point():
        held_args = (held_args[0].float(), *held_args[1:])  # which only GPUs count whole numbers with
    found = function(*held_args, **held_kwargs)
    if not goes_there or function in READS:
        return found
    known = {id(each.held): each for each in there}
    return tree_map_only(Tensor, lambda each: known[id(each)] if id(each) in known else Elsewhere(each), found)


def _only_positions(args: tuple[Any, ...], here: list[Tensor]) -> bool:
    positions = [each for each in args[1] if isinstance(each, Tensor)]
    return all(any(each is position for position in positions) for each in here)


@contextmanager
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The device's name, for as long as it is there. A family can be loaded to it as to any other."""
    if not hasattr(torch, DEVICE.type):
        _setup_privateuseone_for_python_backend()
    for module in (devices, checks):
        monkeypatch.setattr(module, "choose_device", lambda name: name)
    overwrites = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)  # a parameter has to become another object
    lifts = torch._C._only_lift_cpu_tensors()
    torch._C._set_only_lift_cpu_tensors(True)  # or torch.tensor would not ask the pretence
    try:
        with _Pretence():
            yield DEVICE.type
    finally:
        torch._C._set_only_lift_cpu_tensors(lifts)
        torch.__future__.set_overwrite_module_params_on_conversion(overwrites)
