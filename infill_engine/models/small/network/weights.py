"""A network's files: config.json and model.safetensors, with matrices as int8 and one scale per row."""

import json
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint.folder import WEIGHTS, write_checksum
from infill_engine.models.checkpoint.weights import uninitialised
from infill_engine.models.quantization.int8_kernels import Kernel
from infill_engine.models.quantization.int8_linear import dequantise, quantise, use_int8
from infill_engine.models.small.network.config import DualEncoderConfig
from infill_engine.models.small.network.dual_encoder import DualEncoder

MATRIX = ".weight"
SCALE = ".scale"  # suffix of the tensor that holds the row scales of an int8 matrix


def save_network(network: DualEncoder, folder: Path) -> None:
    """Write config.json, model.safetensors and its checksum. Matrices become int8 with one scale per row."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(network.config.to_dict(), indent=1) + "\n")
    tensors: dict[str, Tensor] = {}
    for name, tensor in network.state_dict().items():
        if tensor.ndim == 2:
            tensors[name], tensors[name + SCALE] = quantise(tensor.float())
        else:
            tensors[name] = tensor.float().contiguous()
    save_file(tensors, folder / WEIGHTS)
    (folder / WEIGHTS).chmod(0o644)  # safetensors creates it private; all users must be able to read it
    write_checksum(folder)


def load_network(folder: Path, dtype: torch.dtype = torch.float32, kernel: type[Kernel] | None = None) -> DualEncoder:
    """Load the network in `folder`, ready to be joined. Raises ModelDamagedError if its files do not fit.

    With a `kernel`, matrices stay as stored and the kernel multiplies with them. Every other tensor is converted to
    `dtype` individually: a whole float32 network in addition would double the worker's memory.
    """
    try:
        config = DualEncoderConfig.from_dict(json.loads((folder / "config.json").read_text()))
        stored = load_file(folder / WEIGHTS)
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        raise ModelDamagedError(f"the model in {folder} cannot be read ({error}); install it again") from error
    with uninitialised():
        network = DualEncoder(config).requires_grad_(requires_grad=False)
        if kernel is not None:
            use_int8(network, dtype, kernel)
    restored = {}
    for name, tensor in stored.items():
        if name.endswith(SCALE):
            if kernel is not None:
                restored[name.removesuffix(MATRIX + SCALE) + SCALE] = tensor
        elif name + SCALE in stored:
            restored[name] = tensor if kernel is not None else dequantise(tensor, stored[name + SCALE]).to(dtype)
        else:
            restored[name] = tensor.to(dtype)
    try:
        network.load_state_dict(restored, assign=True)
    except RuntimeError as error:
        raise ModelDamagedError(
            f"the weights in {folder} do not fit its config.json; install the model again"
        ) from error
    network.rotary.to(dtype)
    return network.eval()
