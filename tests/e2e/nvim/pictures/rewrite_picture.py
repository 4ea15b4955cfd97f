"""Makes `rewrite.png` of editors/nvim from a real Neovim: python tests/e2e/nvim/pictures/rewrite_picture.py

Somebody has changed one function, and the next one is proposed. `rewriting_server.py` stands in for the model. Needs
what pictures.py needs.
"""

import sys
import tempfile
from pathlib import Path

from pictures import COLUMNS, FOLDER, GLANCE, Recording

sys.path += map(str, Path(__file__).parents[1:3])

from nvim_editor import editor
from rewriting_server import CHECK, EDITED, PROGRAM

SERVER = Path(__file__).parents[2] / "rewriting_server.py"
ROWS = 20


def main() -> None:
    options = {"cmd": [sys.executable, str(SERVER)], "settings": {}}
    with tempfile.TemporaryDirectory() as folder, editor(Path(folder), options) as nvim:
        recording = Recording(nvim, COLUMNS, ROWS)
        nvim.command("set noruler noshowcmd noshowmode laststatus=2 termguicolors")
        nvim.command("set statusline=\\ %t%m%=%{v:lua.require'infill'.status()}\\ ")
        nvim.open(PROGRAM.replace(EDITED, f"│{EDITED}"), "sizes.py")
        nvim.ready()
        nvim.type(f"<C-o>C{CHECK}<Esc>")
        nvim.until(lambda: nvim.status().startswith("infill: next edit of the model"))
        recording.watch(GLANCE).draw().save(FOLDER / "rewrite.png", optimize=True)


if __name__ == "__main__":
    sys.exit(main())
