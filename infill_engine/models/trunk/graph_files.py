"""The graph in the user's cache, in OpenVINO's own format: compiling it takes a seventh of the processor time.

    NAME-RECIPE-*.graph/graph.xml, graph.bin    the operations; the weights, which OpenVINO maps
    NAME-RECIPE-*.graph/*.blob                  what OpenVINO made of the operations here, without the weights
    NAME-RECIPE-*.graph/checksums.json          of all these; written last

OpenVINO ignores a blob of another version or processor and makes another one.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

import openvino as ov

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint.folder import CHECKSUMS, sha256_of, verify
from infill_engine.models.trunk import forms, graph, graph_branch, graph_heads, graph_nodes
from infill_engine.models.trunk import products as products_module
from infill_engine.models.trunk.graph import OPERATIONS, WEIGHTS
from infill_engine.models.trunk.prepared import GRAPH, delete, recipe_of, replace_others
from infill_engine.models.trunk.products import Products
from infill_engine.models.trunk.sources import Parts


def find_graph(parts: Parts, products: Products, cache: Path) -> Path | None:
    """Return the folder with the finished graph of a model; None if there is none. Its files may be damaged."""
    found = cache.glob(f"{_name(parts, products)}-*{GRAPH}/{CHECKSUMS}")
    return next((path.parent for path in found), None)


def is_intact(folder: Path) -> bool:
    """Return whether the files of a finished graph are as they were written."""
    try:
        verify(folder)
    except ModelDamagedError:
        return False
    return True


def write_graph(model: ov.Model, parts: Parts, products: Products, cache: Path) -> Path:
    """Write a graph to a new folder, which `finish_graph` keeps. Raises OSError if it cannot be written."""
    cache.mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(GRAPH, f"{_name(parts, products)}-", cache))
    try:
        ov.serialize(model, folder / OPERATIONS, folder / WEIGHTS)
    except (OSError, RuntimeError) as error:  # OpenVINO does not say why
        delete(folder)
        raise OSError(None, "is there room on the disk?") from error
    return folder


def finish_graph(folder: Path) -> None:
    """Let a graph that has been compiled in its folder serve later starts, in place of all else of the model."""
    with suppress(OSError, ModelDamagedError):  # it can be made again
        checksums = {path.name: sha256_of(path) for path in folder.iterdir()}
        (folder / CHECKSUMS).write_text(json.dumps(checksums), encoding="ascii")
        replace_others(folder.parent, folder)


def _name(parts: Parts, products: Products) -> str:
    """Return how the folder's name begins: the model, and a hash of what the graph is made from."""
    source, trained = parts.source, (parts.denoiser, parts.edit_adapter)
    checksums = [part.checksum if part is not None else "" for part in trained]
    modules = (forms, graph, graph_branch, graph_heads, graph_nodes, products_module)
    code = [sha256_of(Path(str(module.__file__))) for module in modules]
    made_from = (recipe_of(source), *checksums, products.name, *code, ov.__version__)
    return f"{source.name}-{hashlib.sha256(' '.join(made_from).encode()).hexdigest()[:24]}"
