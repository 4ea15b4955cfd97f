"""Opens the trunk that tasks learn beside, with the products that are fastest here."""

from dataclasses import dataclass
from pathlib import Path

import torch

from train.trunk.frozen import FrozenTrunk, load_frozen
from train.trunk.int8_products import fastest_products
from train.trunk.network import Products, products_of
from train.trunk.products import PlainProduct

ROWS = 1024  # about as many as an example has


@dataclass(frozen=True, slots=True)
class Base:
    """The trunk in `folder` with the adapter in `trained`, and its products with rows."""

    folder: Path
    trained: Path
    trunk: FrozenTrunk
    products: Products


def open_base(folder: Path | None, device: str, *, exact: bool) -> Base:
    """Open the trunk in a folder that also has its adapter; by default, the one that is served.

    With `exact`, or on a device, nothing is rounded to int8. Raises ModelDamagedError.
    """
    dtype = torch.bfloat16
    if device == "cpu":
        from infill_engine.models.runtime.precision import fastest_dtype  # needs more than torch

        dtype = fastest_dtype(device, ROWS)
    found, trained = folders_of(folder)
    trunk = load_frozen(found, trained, device, dtype)
    kind = PlainProduct if exact or device != "cpu" else fastest_products()
    return Base(found, trained, trunk, products_of(trunk, kind))


def folders_of(folder: Path | None) -> tuple[Path, Path]:
    """Return the folders of the trunk and of its adapter; a given folder has both."""
    if folder is not None:
        return folder, folder
    from infill_engine.models.registry import folder_of, trained_folder  # needs more than torch

    found = folder_of("trunk")
    assert found is not None
    return found, trained_folder(found)
