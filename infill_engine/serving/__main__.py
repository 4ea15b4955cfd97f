"""The engine's process: `python -m infill_engine.serving --model default --device auto [--socket PATH]`.

With a socket, several clients share it: see `listening`. Without, frames come in on stdin and go out on what was
stdout; anything else that prints goes to stderr. The process ends when its stdin does, whatever the model is doing.
"""

import argparse
import contextlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

from infill_engine.engine.remote.address import KEY_VARIABLE, is_remote
from infill_engine.process import exit_now, reserve_stdio
from infill_engine.serving.dispatch import Dispatch
from infill_engine.serving.frames import decode, encode, read_frame
from infill_engine.serving.protocol import Message
from infill_engine.serving.queues import Task
from infill_engine.serving.starting import Load, load_local, load_remote
from infill_engine.settings import ModelSettings

IDLE_SECONDS = 600.0  # an engine without clients exits after that
GRACE_SECONDS = 0.5  # for the compute thread to notice that the pipe is closed


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Parse the command line and serve until stdin closes. Never returns: see `serve`."""
    parser = argparse.ArgumentParser(prog="python -m infill_engine.serving", description=__doc__)
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--api-key-variable", default=KEY_VARIABLE)
    add_socket(parser)
    options = parser.parse_args(arguments)
    settings = ModelSettings(dtype=options.precision)
    if is_remote(options.model):
        _serve(lambda _progress: load_remote(options.model, options.api_key_variable), options)
    else:
        _serve(lambda progress: load_local(options.model, options.device, settings, progress), options)


def add_socket(parser: argparse.ArgumentParser) -> None:
    """Add the options of an engine that several clients share."""
    parser.add_argument("--socket", type=Path, help="listen here instead of serving stdin and stdout")
    parser.add_argument("--idle-seconds", type=float, default=IDLE_SECONDS, help="without clients, then it exits")
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="log what happens there, without document text")


def _serve(load: Load, options: argparse.Namespace) -> NoReturn:
    if options.socket is None:
        serve(load)
    from infill_engine.serving.listening import serve_socket

    serve_socket(load, options.socket, options.idle_seconds, log_folder=options.log)


def serve(load: Load) -> NoReturn:
    """Answer frames with the engine that `load` returns, then exit the process.

    Exits with `exit_now`: a load or a pass may hold the compute thread for seconds, and tearing down a
    library under a running thread crashes.
    """
    frames_in, frames_out = reserve_stdio()
    dispatch = Dispatch(load, _sender(frames_out))
    compute = threading.Thread(target=dispatch.run, name="compute", daemon=True)
    compute.start()
    while (payload := read_frame(frames_in)) is not None:
        if (message := decode(payload)) is not None:
            dispatch.receive(message)
    dispatch.close()
    compute.join(GRACE_SECONDS)
    exit_now(0)


def _sender(stream: BinaryIO) -> Callable[[Message, Task | None], None]:
    """Return what sends messages to the only client."""
    lock = threading.Lock()

    def send(message: Message, _task: Task | None) -> None:
        with lock, contextlib.suppress(OSError):  # the server is gone; stdin will close next
            stream.write(encode(message))
            stream.flush()

    return send


if __name__ == "__main__":
    main()
