"""Emacs with lsp-mode and with Eglot, configured as editors/others.md says.

INFILL_LSP_MODE names a folder that holds the code of emacs-lsp/lsp-mode. Eglot is part of Emacs.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from editor_setup import set_up_or_skip
from emacs_editor import Emacs, documented, editor

SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]},
        {"before": "😀é = ", "candidates": ["'ünï'"]},
        {"before": "():\n    ", "candidates": ["one = 1\n    return one"]},
    ]
}
LSP_MODE = """
(require 'lsp-mode)
(setq lsp-auto-guess-root t lsp-session-file (expand-file-name "session" (getenv "HOME"))
      lsp-enable-suggest-server-download nil lsp-warn-no-matched-clients nil)
"""
START = "(add-hook 'python-mode-hook #'{})\n"
SHOWN = """(and (overlayp lsp-inline-completion--overlay)
                (overlay-buffer lsp-inline-completion--overlay)
                (substring-no-properties (concat (overlay-get lsp-inline-completion--overlay 'display)
                                                 (overlay-get lsp-inline-completion--overlay 'after-string))))"""


@pytest.fixture
def lsp_mode(tmp_path: Path) -> Iterator[Emacs]:
    if not (code := os.environ.get("INFILL_LSP_MODE")):
        pytest.skip("INFILL_LSP_MODE names no folder with emacs-lsp/lsp-mode")
    set_up_or_skip(Path(__file__).parent, "Emacs", "lsp-mode was not tested in it")
    configuration = documented("Emacs, lsp-mode") + LSP_MODE + START.format("lsp")
    with editor(tmp_path, configuration, SCRIPT, f"{code}:{code}/clients") as emacs:
        yield emacs


@pytest.fixture
def eglot(tmp_path: Path) -> Iterator[Emacs]:
    set_up_or_skip(Path(__file__).parent, "Emacs", "Eglot was not tested")
    configuration = documented("Emacs, Eglot") + "(require 'eglot)\n" + START.format("eglot-ensure")
    with editor(tmp_path, configuration, SCRIPT) as emacs:
        yield emacs


def shown(emacs: Emacs) -> str:
    return emacs.value(" ".join(SHOWN.split()))


def until_answered(emacs: Emacs, again: str, holds: str) -> None:
    """Nobody tells when the engine is ready, so ask until something is shown."""

    def asked() -> bool:
        emacs.type(again)
        return emacs.value(holds) != "nil"

    emacs.until(asked)


def test_lsp_mode_shows_and_takes_ghost_text(lsp_mode: Emacs) -> None:
    lsp_mode.open("x =│\ny = 2\n", "first.py")
    lsp_mode.until(lambda: lsp_mode.value("(lsp-workspaces)") != "nil")
    lsp_mode.type(" ")
    lsp_mode.until(lambda: "alpha(1)" in shown(lsp_mode))
    lsp_mode.type("\t")
    lsp_mode.until(lambda: "beta(2)" in shown(lsp_mode))
    lsp_mode.type("\r")
    lsp_mode.until(lambda: lsp_mode.text == "x = beta(2)\ny = 2\n")
    assert "rror" not in lsp_mode.messages
