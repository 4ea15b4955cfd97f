"""Draws editors/nvim/screenshot.png from the screen of a real Neovim: python tests/e2e/nvim/screenshot.py

Needs Pillow and the font that comes with matplotlib, both in the extra "train". Run it when the list looks different.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from matplotlib import get_data_path
from nvim_editor import REPOSITORY, editor
from PIL import Image, ImageDraw, ImageFont

TARGET = REPOSITORY / "editors" / "nvim" / "screenshot.png"
COLUMNS, ROWS = 80, 18
FONT_SIZE = 15
SCALE = 2
SCRIPT = {
    "rules": [
        {
            "before": "sum(",
            "candidates": ["item.price * item.count for item in items", "prices", "item.total() for item in items"],
        }
    ]
}
TEXT = """\
RATE = 0.19


def with_tax(amount):
    return amount * (1 + RATE)


def total(items, discount=0.0):
    subtotal = sum(│) * (1 - discount)
    return round(subtotal, 2)


def describe(items):
    return ", ".join(item.name for item in items)
"""


class Screen:
    """The grid that Neovim's redraw events describe."""

    def __init__(self) -> None:
        self.cells = [[(" ", 0)] * COLUMNS for _ in range(ROWS)]
        self.highlights: dict[int, dict[str, Any]] = {0: {}}
        self.colors = (0xFFFFFF, 0x000000)
        self.cursor = (0, 0)

    def apply(self, event: list[Any]) -> None:
        handler = getattr(self, f"_{event[0]}", None)
        for arguments in event[1:] if handler else ():
            handler(*arguments)

    def _default_colors_set(self, foreground: int, background: int, *_: Any) -> None:
        self.colors = (foreground, background)

    def _hl_attr_define(self, number: int, attributes: dict[str, Any], *_: Any) -> None:
        self.highlights[number] = attributes

    def _grid_clear(self, *_: Any) -> None:
        self.cells = [[(" ", 0)] * COLUMNS for _ in range(ROWS)]

    def _grid_cursor_goto(self, _grid: int, row: int, column: int) -> None:
        self.cursor = (row, column)

    def _grid_line(self, _grid: int, row: int, column: int, cells: list[Any], *_: Any) -> None:
        highlight = 0
        for text, *more in cells:
            highlight = more[0] if more else highlight
            for _count in range(more[1] if len(more) > 1 else 1):
                self.cells[row][column] = (text, highlight)
                column += 1

    def _grid_scroll(self, _grid: int, top: int, bottom: int, left: int, right: int, rows: int, _columns: int) -> None:
        order = range(top, bottom - rows) if rows > 0 else range(bottom - 1, top - rows - 1, -1)
        for row in order:
            self.cells[row][left:right] = self.cells[row + rows][left:right]

    def draw(self) -> Image.Image:
        fonts = Path(get_data_path(), "fonts", "ttf")
        plain = ImageFont.truetype(str(fonts / "DejaVuSansMono.ttf"), FONT_SIZE * SCALE)
        bold = ImageFont.truetype(str(fonts / "DejaVuSansMono-Bold.ttf"), FONT_SIZE * SCALE)
        width, height = round(plain.getlength("M")), round(FONT_SIZE * SCALE * 1.3)
        image = Image.new("RGB", (width * COLUMNS, height * ROWS))
        pen = ImageDraw.Draw(image)
        for row, line in enumerate(self.cells):
            for column, (text, highlight) in enumerate(line):
                attributes = self.highlights.get(highlight, {})
                front = attributes.get("foreground", self.colors[0])
                back = attributes.get("background", self.colors[1])
                if attributes.get("reverse"):
                    front, back = back, front
                box = (column * width, row * height, (column + 1) * width, (row + 1) * height)
                pen.rectangle(box, fill=_rgb(back))
                pen.text(box[:2], text, font=bold if attributes.get("bold") else plain, fill=_rgb(front))
        row, column = self.cursor
        pen.rectangle((column * width, row * height, column * width + SCALE, (row + 1) * height), fill="white")
        return image


def _rgb(color: int) -> tuple[int, int, int]:
    return color >> 16, color >> 8 & 0xFF, color & 0xFF


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, editor(Path(folder), {}, SCRIPT) as nvim:
        screen = Screen()
        nvim.nvim.ui_attach(COLUMNS, ROWS, rgb=True, ext_linegrid=True)
        nvim.command("set noruler noshowcmd noshowmode laststatus=2 scrolloff=0 termguicolors")
        nvim.command("set statusline=\\ %t%m%=%{v:lua.require'infill'.status()}\\ ")
        nvim.open(TEXT, "shop.py")
        nvim.ready()
        nvim.until(lambda: nvim.ghost())
        nvim.type("<M-p>")
        nvim.until(lambda: "ms" in (nvim.list() or [""])[0])
        nvim.type("<Down><Up>")
        nvim.until(lambda: nvim.mark("infill.preview"))
        time.sleep(0.5)  # for the last redraw to be sent
        nvim.lua("vim.rpcnotify(..., 'drawn')", nvim.nvim.channel_id)
        while (message := nvim.nvim.next_message())[1] != "drawn":
            if message[1] == "redraw":
                for event in message[2]:
                    screen.apply(event)
        screen.draw().save(TARGET, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
