"""Emacs with lsp-mode and with Eglot, configured as editors/others.md says.

INFILL_LSP_MODE names a folder that holds the code of emacs-lsp/lsp-mode. Eglot is part of Emacs.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from editor_setup import set_up_or_skip
from emacs_editor import POLL, Emacs, editor
from other_editors import documented

SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]},
        {"before": "x = a", "candidates": ["lpha(1)"]},
        {"before": "😀é = ", "candidates": ["'ünï'"]},
        {"before": "():\n    ", "candidates": ["one = 1\n    return one"]},
    ]
}
LSP_MODE = """
(require 'lsp-mode)
(mapc #'require '(lsp-completion lsp-diagnostics lsp-headerline lsp-inline-completion lsp-lens lsp-modeline))
(setq lsp-auto-guess-root t lsp-session-file (expand-file-name "session" (getenv "HOME"))
      lsp-enabled-clients '(infill) lsp-enable-snippet nil)
"""
AGAIN = "\x7f "  # Backspace, and the character again
NEXT, ACCEPT = "\x0e", "\x1b[27;5;13~"  # Ctrl-N, and Ctrl-Return as a terminal sends it
COMPLETE = "\x1b\t"
ROUND = 8  # seconds, in which an answer comes on a busy machine, too
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


def type_until(emacs: Emacs, keys: str, holds: Callable[[], bool]) -> None:
    """Nobody tells when the engine is ready, so type something again until it has an effect."""

    def typed_again() -> bool:
        emacs.type(keys)
        end = time.monotonic() + ROUND
        while not holds() and time.monotonic() < end:
            time.sleep(POLL)
        return holds()

    emacs.until(typed_again)


def test_lsp_mode_shows_and_takes_ghost_text(lsp_mode: Emacs) -> None:
    lsp_mode.open("x = │\ny = 2\n", "first.py")
    lsp_mode.until(lambda: lsp_mode.value("(lsp-workspaces)") != "nil")
    type_until(lsp_mode, AGAIN, lambda: "alpha(1)" in shown(lsp_mode))
    lsp_mode.type(NEXT)
    lsp_mode.until(lambda: "beta(2)" in shown(lsp_mode))
    lsp_mode.type(ACCEPT)
    lsp_mode.until(lambda: lsp_mode.text == "x = beta(2)\ny = 2\n")
    assert "rror" not in lsp_mode.messages


def test_lsp_mode_with_characters_of_several_units(lsp_mode: Emacs) -> None:
    lsp_mode.open("# ünï 😀\n😀é = │\n", "unicode.py")
    lsp_mode.until(lambda: lsp_mode.value("(lsp-workspaces)") != "nil")
    type_until(lsp_mode, AGAIN, lambda: "'ünï'" in shown(lsp_mode))
    lsp_mode.type(ACCEPT)
    lsp_mode.until(lambda: lsp_mode.text == "# ünï 😀\n😀é = 'ünï'\n")


def test_eglot_completes(eglot: Emacs) -> None:
    eglot.open("x = a│\ny = 2\n", "first.py")
    eglot.until(lambda: eglot.value("(and (eglot-managed-p) t)") == "t")
    type_until(eglot, COMPLETE, lambda: eglot.text == "x = alpha(1)\ny = 2\n")
    eglot.value("(goto-char (point-max))")
    eglot.type("def f():\r")
    type_until(eglot, COMPLETE, lambda: eglot.text.endswith("def f():\n    one = 1\n    return one"))
