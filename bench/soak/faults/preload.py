"""A slow disk and a jumping clock for a server, by a small library that is compiled when it is needed."""

import shutil
import struct
import subprocess
from pathlib import Path

from bench.soak.editor_window import WITNESS

SOURCE = Path(__file__).with_name("preload.c")
SLOW_MS = 400


def can_preload() -> bool:
    """Return whether there is a compiler."""
    return shutil.which("cc") is not None


def server_with(folder: Path) -> tuple[str, ...]:
    """Return the command line of a server whose state and runtime folders (in `folder`) are slow to open.

    Its wall clock is wrong by what `set_clock` says.
    """
    library, clock = folder / "preload.so", folder / "clock"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    set_clock(folder, 0)
    given = {"LD_PRELOAD": library, "SOAK_SLOW": f"{folder}/", "SOAK_SLOW_MS": SLOW_MS, "SOAK_CLOCK": clock}
    return ("env", *(f"{name}={value}" for name, value in given.items()), *WITNESS)


def server_with_clock(folder: Path) -> tuple[str, ...]:
    """Return the command line of a server whose wall clock is wrong by what `set_clock` says."""
    return tuple(part for part in server_with(folder) if not part.startswith("SOAK_SLOW"))


def set_clock(folder: Path, seconds: int) -> None:
    """Let the wall clock be wrong by this, at once."""
    path = folder / "clock"
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.write(struct.pack("q", seconds))
