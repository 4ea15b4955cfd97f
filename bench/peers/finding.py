"""Programs of others that answer the problems beside the product, where they can be had."""

from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from bench.peers import generating, llama_server
from infill_engine.diagnostics.benchmark.systems import System
from infill_engine.errors import InputError

NO_FILE = "give the default model's published file with --gguf"


class Peer(System, Protocol):
    """A program of others. It starts when it is first asked."""

    def close(self) -> None:
        """End it."""
        ...


def find_peers(llama: str | None, gguf: str | None) -> tuple[tuple[Peer, ...], list[tuple[str, str]]]:
    """Return the peers that are available here, and the name of each other one with the reason why it is not.

    `llama` is the path of llama.cpp's server, `gguf` that of the model's file. Raises InputError if a path was given
    and is not there.
    """
    file = Path(gguf).expanduser().absolute() if gguf else None  # peers may run elsewhere
    if file is not None and not file.is_file():
        raise InputError(f"{file} does not exist; {NO_FILE}")
    command = llama_server.find_command(llama)
    if llama and command is None:
        raise InputError(f"{llama} cannot be run; give the path of llama.cpp's server")
    peers: list[Peer] = []
    missing: list[tuple[str, str]] = []
    if command is None:
        missing.append((llama_server.WAY, f"{llama_server.COMMAND} is not on the PATH; give it with --llama-server"))
    elif file is None:
        missing.append((llama_server.WAY, NO_FILE))
    else:
        peers.append(llama_server.LlamaServer(command, file))
    if file is None:
        missing.append((generating.WAY, NO_FILE))
    elif absent := [name for name in generating.PACKAGES if find_spec(name) is None]:
        missing.append((generating.WAY, f"it needs what is not installed here: pip install {' '.join(absent)}"))
    else:
        peers.append(generating.Generating(file))
    return tuple(peers), missing
