"""Loads the engine for a model's name, in its own process or the command line's, and describes its state."""

import os
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from infill_engine.engine.remote.address import KEY_VARIABLE, read_address
from infill_engine.errors import InfillError
from infill_engine.models.runtime.allocator import recycle_freed
from infill_engine.models.runtime.devices import physical_cores, wanted_threads
from infill_engine.process import say
from infill_engine.serving.protocol import State, Status
from infill_engine.settings import ModelSettings

if TYPE_CHECKING:
    from infill_engine.engine.engine import Engine

Load = Callable[[Callable[[str, float], None]], "Engine"]


def load_local(
    model: str,
    device: str = "auto",
    settings: ModelSettings | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> "Engine":
    """Return the engine with that name or folder, on this machine. Raises the errors of `load_engine`."""
    set_threads()
    recycle_freed()
    from infill_engine.engine.engine_loading import load_engine

    return load_engine(model, device=device, progress=progress, settings=settings)


def load_remote(model: str, key_variable: str = KEY_VARIABLE) -> "Engine":
    """Return the engine of a model on a server. Sends nothing yet: one that is down may come up. Raises InputError."""
    from infill_engine.engine.engine import Engine
    from infill_engine.engine.remote.proposer import RemoteProposer
    from infill_engine.engine.remote.server import Server
    from infill_engine.ranking.calibration import BUILT_IN

    return Engine(RemoteProposer(Server(read_address(model), key_variable)), model, BUILT_IN)


def set_threads() -> None:
    """Make numeric libraries use the physical cores this process may run on; INFILL_THREADS overrides.

    Sets environment variables, so it must run before any of them is imported. Hyper-threads slow small matrices down.
    """
    wanted = wanted_threads()
    threads = wanted or physical_cores()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        if wanted:
            os.environ[name] = str(threads)
        else:
            os.environ.setdefault(name, str(threads))
    # Threads that spin long while waiting make a step 20 times slower as soon as another process needs a core. Those
    # that sleep at once take 1.4 times as long. GNU's library, which torch uses on Linux, can spin for about 0.1 ms.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Compiled matrix kernels are cached by shape, 1,000 of them by default: far more than typing needs.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "96")


def ready_status(engine: "Engine") -> Status:
    """Return the status of a loaded engine, for the clients. They are not told of small changes of its speed."""
    least_ms = round(engine.least_ms, -1)
    about = (engine.name, engine.device, engine.window, dict(engine.levels), least_ms)
    return Status(State.READY, engine.profile, 1.0, *about)


def describe(fault: Exception) -> str:
    """Put a fault into words for the user. Quote only our own errors: any other text may contain the user's code."""
    if isinstance(fault, InfillError):
        return str(fault)
    frames = "".join(traceback.format_tb(fault.__traceback__)).rstrip()
    say(f"infill engine: {type(fault).__name__}\n{frames}")
    return f"Internal error in the engine ({type(fault).__name__}). Its log shows where."
