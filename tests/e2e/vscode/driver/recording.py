"""A recording for the documentation: what a window showed, each picture for as long as a reader needs."""

from pathlib import Path

from PIL import Image

from driver.workbench import Workbench

COLORS = 64
CLIP = {"x": 0, "y": 0, "width": 1000, "height": 330}


class Recording:
    """Pictures of one window, as an animation. The committed one is rewritten only on demand, like `picture`."""

    def __init__(self, code: Workbench, name: str) -> None:
        self._code = code
        self._name = name
        self._frames: list[tuple[Path, float]] = []

    def show(self, seconds: float) -> None:
        """Take a picture that is shown for so long."""
        path = self._code.picture(f"{self._name}-{len(self._frames)}", CLIP, committed=False)
        self._frames.append((path, seconds))

    def save(self) -> None:
        """Write the animation."""
        whole = [Image.open(path).convert("RGB") for path, _ in self._frames]
        pictures = [picture.quantize(COLORS, dither=Image.Dither.NONE) for picture in whole]
        durations = [round(1000 * seconds) for _, seconds in self._frames]
        pictures[0].save(
            self._code.images() / f"{self._name}.gif",
            save_all=True,
            append_images=pictures[1:],
            duration=durations,
            loop=0,
            optimize=True,
        )
