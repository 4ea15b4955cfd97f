"""Measures from a key press in a real Neovim to the ghost text on its screen.

    python -m bench.latency.editors.nvim [--model default] [--keystrokes 200] [--lines 2000]

Types real code into Neovim with the plugin in editors/nvim, one keystroke at a time. After each one it waits until the
answer is on the screen or none comes. Neovim sends a request 200 ms after a key at the earliest. The results are the
time beyond that, and how often the answer had been computed by then. Requires what tests/e2e/nvim/setup installs. The
last line is one JSON object; times are in milliseconds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.replay.keystrokes import Keystroke, make_replay
from bench.replay.sources import standard_library
from bench.sources import read_packages
from bench.spread import spread
from infill_engine.errors import InfillError, InputError

DEBOUNCE_MS = 200  # Neovim's own debounce
ALREADY_COMPUTED_MS = 5  # from request to answer, including both ways over the pipe
MOST_MS = 3_000  # longest wait for a keystroke's answer
LOAD_SECONDS = 120
REPOSITORY = Path(__file__).parents[3]
PYNVIM = REPOSITORY / ".cache" / "e2e" / "nvim" / "python"
SIZE = (120, 40)  # of the screen, in columns and rows


@dataclass(frozen=True, slots=True)
class Shown:
    """One keystroke. Times count from its key press; None for what did not happen."""

    stroke: str
    requested: float | None = None
    answered: float | None = None
    drawn: float | None = None
    at_once: bool = False  # ghost text was visible before the request because the user typed into it


def main() -> int:
    options = _options()
    try:
        files = read_packages(options.source) if options.source else standard_library()
        replay = make_replay(files, options.lines, options.keystrokes, options.seed)
        editor = _editor_path()
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "typed.py")
        path.write_text(replay.text, encoding="utf-8")
        with neovim(editor, Path(folder), options) as nvim:
            _open(nvim, path)
            shown = [_type(nvim, key) for key in replay.keystrokes]
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(
            "".join(json.dumps({name: getattr(one, name) for name in Shown.__slots__}) + "\n" for one in shown)
        )
    report(shown, options)
    return 0


@contextmanager
def neovim(editor: str, folder: Path, options: argparse.Namespace) -> Iterator[Any]:
    """Start a Neovim with a screen and our plugin. Its server runs from this environment."""
    sys.path.insert(0, str(PYNVIM))
    attach = import_module("pynvim").attach
    sys.path.remove(str(PYNVIM))
    setup = {
        "cmd": [sys.executable, "-m", "lsp_server"],
        "settings": {
            "model": options.model,
            "device": options.device,
            "budgetMs": options.budget_ms,
            "showThreshold": options.show_threshold,
        },
    }
    os.environ.update({f"XDG_{name}_HOME": str(folder) for name in ("CONFIG", "DATA", "STATE", "CACHE")})
    os.environ["PYTHONPATH"] = str(REPOSITORY)
    nvim = attach("child", argv=[editor, "--clean", "--embed", "--headless", "-n"])
    try:
        nvim.ui_attach(*SIZE, rgb=True)
        nvim.command("set messagesopt=wait:0,history:500 noswapfile")
        nvim.exec_lua("vim.opt.runtimepath:prepend(...)", str(REPOSITORY / "editors" / "nvim"))
        nvim.exec_lua("require('infill').setup(...)", setup)
        nvim.exec_lua(Path(__file__).with_name("nvim_watch.lua").read_text(), nvim.channel_id, MOST_MS)
        yield nvim
    finally:
        with suppress(OSError, EOFError):
            nvim.command("qall!")
        nvim.close()


def report(shown: list[Shown], options: argparse.Namespace) -> None:
    """Print a table and one JSON line."""
    beyond = [one.drawn - DEBOUNCE_MS for one in shown if one.drawn is not None]
    answers = [one.answered - one.requested for one in shown if one.answered is not None and one.requested is not None]
    computed = sum(1 for took in answers if took <= ALREADY_COMPUTED_MS)
    numbers = {"beyond_debounce_ms": spread(beyond), "answer_ms": spread(answers)}
    print(f"{len(shown)} keystrokes, {len(answers)} answered, ghost text after {len(beyond)} of them")
    print(f"{'':20}" + "".join(f"{name:>9}" for name in ("p50", "p95", "p99", "max")))
    for name, values in numbers.items():
        print(f"{name:20}" + "".join(f"{values[share]:9.2f}" for share in ("p50", "p95", "p99", "max")))
    print(
        json.dumps(
            {
                "n": len(shown),
                **numbers,
                "already_computed": round(computed / len(answers), 4) if answers else 0.0,
                "typed_into": sum(1 for one in shown if one.at_once),
                "silent": sum(1 for one in shown if one.answered is not None and one.drawn is None),
                "unanswered": sum(1 for one in shown if one.answered is None),
                "debounce_ms": DEBOUNCE_MS,
                "budget_ms": options.budget_ms,
                "lines": options.lines,
                "model": options.model,
            }
        )
    )


def _editor_path() -> str:
    setup = REPOSITORY / "tests" / "e2e" / "nvim" / "setup"
    ran = subprocess.run(
        [str(setup)], env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise InputError(f"no Neovim to measure in: {ran.stderr.strip()}")
    return ran.stdout.strip()


def _open(nvim: Any, path: Path) -> None:
    """Open the file, wait for the engine, and enter insert mode. Only the keys may change the text."""
    nvim.command(f"edit {path}")
    nvim.command("setlocal noautoindent nosmartindent indentexpr= textwidth=0 formatoptions=")
    ready = nvim.exec_lua(
        "return vim.wait(..., function() return (require('infill').state() or {}).state == 'ready' end, 20)",
        LOAD_SECONDS * 1000,
    )
    if not ready:
        raise InputError(f"the engine was not ready after {LOAD_SECONDS} s; try `infill-ls doctor`")
    nvim.input("i")


def _type(nvim: Any, key: Keystroke) -> Shown:
    row, column = key.row, key.column + key.removed
    line = nvim.current.buffer[row]
    place = (row + 1, len(line[:column].encode()))
    if tuple(nvim.current.window.cursor) != place:
        nvim.current.window.cursor = place
    keys = "<BS>" * key.removed + key.text.replace("<", "<lt>").replace("\n", "<CR>")
    nvim.exec_lua("_G.begin() vim.api.nvim_input(...)", keys)
    while True:
        _kind, name, arguments = nvim.next_message()
        if name == "keystroke":
            return Shown(key.stroke.value, **arguments[0])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.latency.editors.nvim", description="Times ghost text in a real Neovim."
    )
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--keystrokes", type=int, default=200)
    parser.add_argument("--lines", type=int, default=2000, help="of the document that is typed into")
    parser.add_argument("--budget-ms", type=int, default=200)
    parser.add_argument("--show-threshold", type=float, default=0.0, help="least confidence that is shown")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--source", type=Path, help="folder of wheels whose code is typed; else the standard library")
    parser.add_argument("--out", type=Path, help="where to write one JSON line for each keystroke")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
