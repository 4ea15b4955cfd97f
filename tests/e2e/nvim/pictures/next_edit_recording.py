"""Makes `next-edit.gif` of editors/nvim from a real Neovim: python tests/e2e/nvim/pictures/next_edit_recording.py

Somebody renames a parameter, goes to the next place and applies the rest, then does the same with a field. No model
takes part in it. Needs what pictures.py needs.
"""

import sys
import tempfile
from pathlib import Path

from pictures import COLUMNS, FOLDER, GLANCE, KEY, LAST, Recording

sys.path += map(str, Path(__file__).parents[1:3])

from nvim_editor import editor

ROWS = 22
TEXT = """\
package shop

type Cart struct {
	items []Item
}

func NewCart(│size int) *Cart {
	return &Cart{items: make([]Item, 0, size)}
}

func (c *Cart) Grow(by int) {
	size := cap(c.items) + by
	items := make([]Item, len(c.items), size)
	copy(items, c.items)
	c.items = items
}
"""
RENAME = ("ciw", "capacity", "<Esc>")


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        editor(Path(folder), {"settings": {"model": "scripted:none"}}) as nvim,
    ):
        recording = Recording(nvim, COLUMNS, ROWS)
        nvim.command("set noruler noshowcmd noshowmode laststatus=2 scrolloff=0 termguicolors tabstop=4")
        nvim.command("set statusline=\\ %t%m%=%{v:lua.require'infill'.status()}\\ ")
        nvim.open("│", "nothing.go")
        nvim.until(lambda: nvim.state().get("state") == "ready")
        nvim.type("<Esc>")
        nvim.open(TEXT, "cart.go")
        nvim.type("<Esc>l")
        recording.watch(3 * GLANCE)
        for edit in (RENAME, ("4G^", "ciw", "entries", "<Esc>")):
            for part in edit:
                for key in [part] if part.startswith("<") or part in ("ciw", "4G^") else part:
                    nvim.type(key)
                    recording.watch(KEY)
            nvim.until(lambda: nvim.status().startswith("infill: next edit"))
            recording.watch(4 * GLANCE)
            for _ in range(2):
                nvim.type("<M-n>")
                recording.watch(3 * GLANCE)
        recording.watch(LAST)
        recording.save(FOLDER / "next-edit.gif")


if __name__ == "__main__":
    sys.exit(main())
