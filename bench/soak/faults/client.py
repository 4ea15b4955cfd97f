"""A window in a process of its own, typed in until it is killed.

`python -m bench.soak.faults.client MODEL RUNTIME STATE` prints the process id of its server when the engine is ready.
"""

import sys
import threading
from pathlib import Path

from bench.soak.editor_window import EditorWindow
from bench.soak.faults.scene import type_steadily


def main() -> None:
    """Type until killed."""
    model, runtime, state = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    window = EditorWindow(9, "utf-16", {"model": model}, runtime=runtime, state=state, root=state.parent)
    window.until_ready()
    print(window.client.process.pid, flush=True)
    type_steadily(window, threading.Event())


if __name__ == "__main__":
    main()
