"""Make the pictures of editors/nvim from a real Neovim with the default model.

    python tests/e2e/nvim/pictures/pictures.py [BUDGET_MS]

`typing.gif` is a recording in real time. Somebody fills in the hole of TEXT from the list of candidates, then types
TYPED at a steady pace and takes what is offered as far as it is right. `screenshot.png` is the list as it stood
meanwhile.

Needs Pillow and the font that comes with matplotlib, both in the extra "train". Run it on a machine that does nothing
else, or give a larger budget than the usual one.
"""

import sys
import tempfile
import time
from itertools import pairwise, takewhile
from pathlib import Path

from PIL import Image
from screen import Screen

sys.path += map(str, Path(__file__).parents[1:3])

from nvim_editor import REPOSITORY, Editor, editor

FOLDER = REPOSITORY / "editors" / "nvim"
COLUMNS, ROWS = 100, 24
COLORS = 32
FRAME = 0.05  # seconds; the least that all viewers of GIFs keep to is 0.02
KEY = 0.12  # seconds from key to key: some 100 words a minute
THOUGHT = 0.35  # seconds more where a word begins or ends; Neovim asks 0.2 seconds after the last key
GLANCE = 0.4  # seconds that a person looks at something before a key is pressed for it
WORTH_TAKING = 3  # characters; fewer are typed
SETTLING = 6.0  # seconds before the recording, in which the server reads the text around the resting cursor
LAST = 2.5  # seconds for which the last picture stands
TEXT = """\
import json
from urllib.request import Request, urlopen


class Client:
    def __init__(self, base, token):
        self.base = base
        self.token = token

    def headers(self):
        return {"Authorization": f"Bearer {self.token}"}

    def get(self, path):
        request = Request(self.base + path, headers=self.headers())
        return json.load(urlopen(request))

    def post(self, path, data):
        request = Request(│, headers=self.headers(), data=json.dumps(data).encode())
        return json.load(urlopen(request))
"""
TYPED = """\

def delete(self, path):
request = Request(self.base + path, headers=self.headers(), method="DELETE")
return json.load(urlopen(request))"""


class Recording:
    """What a Neovim shows, and when."""

    def __init__(self, nvim: Editor, columns: int, rows: int) -> None:
        self._nvim = nvim
        self._screen = Screen(columns, rows)
        self._frames: list[tuple[float, Screen]] = []
        nvim.nvim.ui_attach(columns, rows, rgb=True, ext_linegrid=True)

    def watch(self, seconds: float) -> Screen:
        """Records for so long; the last thing shown."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            self._catch_up()
            if not self._frames or self._screen != self._frames[-1][1]:
                self._frames.append((now, self._screen.as_it_is()))
            time.sleep(max(0.0, min(FRAME, end - time.monotonic())))
        return self._frames[-1][1]

    def _catch_up(self) -> None:
        """Apply everything that Neovim has drawn so far."""
        self._nvim.lua("vim.rpcnotify(..., 'drawn')", self._nvim.nvim.channel_id)
        while (message := self._nvim.nvim.next_message())[1] != "drawn":
            if message[1] == "redraw":
                for event in message[2]:
                    self._screen.apply(event)

    def save(self, path: Path) -> None:
        """Writes an animation in which everything takes the time it took."""
        times = [at for at, _ in self._frames]
        pictures = [screen.draw().quantize(COLORS, dither=Image.Dither.NONE) for _, screen in self._frames]
        pictures[0].save(
            path,
            save_all=True,
            append_images=pictures[1:],
            duration=[round((b - a) * 1000) for a, b in pairwise([*times, times[-1] + LAST])],
            loop=0,
            optimize=True,
        )


def type_on(nvim: Editor, recording: Recording, line: str) -> None:
    """Types a line, but takes what is offered where that is how it goes on."""
    rest = line
    while rest:
        recording.watch(KEY)
        if not rest[0].isalnum() or rest == line:
            recording.watch(THOUGHT)
        offered = nvim.ghost() or ""
        right = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(offered, rest, strict=False)))
        if right < WORTH_TAKING:
            nvim.type(rest[0].replace("<", "<lt>"))
            rest = rest[1:]
            continue
        recording.watch(GLANCE)
        before = nvim.marked
        nvim.type("<Tab>" if right == len(offered) else "<M-w>")
        nvim.until(lambda before=before: nvim.marked != before)
        written = nvim.marked.split("│")[0].split("\n")[-1].lstrip()
        rest = line.removeprefix(written)
        assert rest != line, f"{written!r} is not how {line!r} begins"


def main() -> None:
    settings = {"showThreshold": None, **({"budgetMs": int(sys.argv[1])} if len(sys.argv) > 1 else {})}
    with tempfile.TemporaryDirectory() as folder, editor(Path(folder), {"settings": settings}) as nvim:
        recording = Recording(nvim, COLUMNS, ROWS)
        nvim.command("set noruler noshowcmd noshowmode laststatus=2 scrolloff=0 termguicolors")
        nvim.command("set statusline=\\ %t%m%=%{v:lua.require'infill'.status()}\\ ")
        nvim.command("highlight ComplHint guifg=#8a919e")
        nvim.open("│", "nothing.py")
        nvim.until(lambda: nvim.state().get("state") in ("ready", "silent"))
        nvim.type("<Esc>")
        nvim.open(TEXT, "client.py")
        time.sleep(SETTLING)
        recording.watch(3 * GLANCE)
        nvim.type("<M-p>")
        recording.watch(3 * GLANCE)
        recording.watch(0).draw().save(FOLDER / "screenshot.png", optimize=True)
        for key in ("<Down>", "<Down>", "<Up>", "<Up>", "<CR>"):
            nvim.type(key)
            recording.watch(GLANCE)
        nvim.type("<Down><End>")
        for line in TYPED.split("\n"):
            nvim.type("<CR>")
            type_on(nvim, recording, line)
        recording.watch(LAST)
        recording.save(FOLDER / "typing.gif")


if __name__ == "__main__":
    sys.exit(main())
