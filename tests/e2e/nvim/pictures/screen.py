"""What a Neovim without a terminal would show, from its redraw events, as a picture."""

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib import get_data_path
from PIL import Image, ImageDraw, ImageFont

FONT_SIZE = 15
SCALE = 2


@dataclass
class Screen:
    """The grid that Neovim's redraw events describe."""

    columns: int
    rows: int
    cells: list[list[tuple[str, int]]] = field(init=False)  # a character and the number of its highlight
    highlights: dict[int, dict[str, Any]] = field(default_factory=lambda: {0: {}})
    colors: tuple[int, int] = (0xFFFFFF, 0x000000)  # foreground, background
    cursor: tuple[int, int] = (0, 0)  # row, column

    def __post_init__(self) -> None:
        self._grid_clear()

    def apply(self, event: list[Any]) -> None:
        handler = getattr(self, f"_{event[0]}", None)
        for arguments in event[1:] if handler else ():
            handler(*arguments)

    def _default_colors_set(self, foreground: int, background: int, *_: Any) -> None:
        self.colors = (foreground, background)

    def _hl_attr_define(self, number: int, attributes: dict[str, Any], *_: Any) -> None:
        self.highlights[number] = attributes

    def _grid_clear(self, *_: Any) -> None:
        self.cells = [[(" ", 0)] * self.columns for _ in range(self.rows)]

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

    def as_it_is(self) -> "Screen":
        """A copy that further events do not change."""
        return copy.deepcopy(self)

    def draw(self) -> Image.Image:
        fonts = Path(get_data_path(), "fonts", "ttf")
        plain = ImageFont.truetype(str(fonts / "DejaVuSansMono.ttf"), FONT_SIZE * SCALE)
        bold = ImageFont.truetype(str(fonts / "DejaVuSansMono-Bold.ttf"), FONT_SIZE * SCALE)
        width, height = round(plain.getlength("M")), round(FONT_SIZE * SCALE * 1.3)
        image = Image.new("RGB", (width * self.columns, height * self.rows))
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
