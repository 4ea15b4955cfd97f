"""From a model's name to the engine that answers: in the worker, and where the command line asks in its own process."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from infill_engine.models.runtime.devices import physical_cores, wanted_threads
from infill_engine.settings import EngineSettings

if TYPE_CHECKING:
    from infill_engine.engine.engine import Engine
    from infill_engine.remote.engine import RemoteEngine


def load_engine(
    model: str,
    device: str = "auto",
    settings: EngineSettings | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> "Engine":
    """The engine of that name or folder, on this machine. Raises what `Engine.load` does."""
    set_threads()
    from infill_engine.engine.engine import Engine

    return Engine.load(model, device=device, progress=progress, settings=settings)


def load_remote(model: str, key_variable: str) -> "RemoteEngine":
    """The engine elsewhere of that name. Raises InputError."""
    from infill_engine.remote.engine import RemoteEngine

    return RemoteEngine.load(model, key_variable)


def set_threads() -> None:
    """Have numeric libraries use the physical cores this process may run on; INFILL_THREADS overrides.

    By environment variable, so before any of them is imported. Hyper-threads slow small matrices down.
    """
    wanted = wanted_threads()
    threads = wanted or physical_cores()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        if wanted:
            os.environ[name] = str(threads)
        else:
            os.environ.setdefault(name, str(threads))
    # Threads that spin while they wait for each other make a step 20 times slower once another process wants a core.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Compiled matrix kernels are kept by shape, a thousand of them by default: far more than one types with.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "96")
