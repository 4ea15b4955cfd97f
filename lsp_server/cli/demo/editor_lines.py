"""The configuration to paste into an editor to use this server."""

import json
import shutil
import sys
from pathlib import Path

_LINES = """\
Neovim 0.12 or newer, in init.lua. Tab takes the suggestion, Alt+] and Alt+[ show
the others:

    vim.lsp.config('infill_ls', {
      cmd = { %(command)s },
      filetypes = { 'python' },
      root_markers = { '.git' },
    })
    vim.lsp.enable('infill_ls')
    vim.lsp.inline_completion.enable()
    vim.keymap.set('i', '<Tab>', function()
      if not vim.lsp.inline_completion.get() then return '<Tab>' end
    end, { expr = true })
    vim.keymap.set('i', '<M-]>', function() vim.lsp.inline_completion.select({ count = 1 }) end)
    vim.keymap.set('i', '<M-[>', function() vim.lsp.inline_completion.select({ count = -1 }) end)

The folder editors/nvim of the repository is a plugin that adds a list to pick from, a
status, and more keys.

VS Code, by the extension in the repository (building it needs Node 20 or newer):

    scripts/build vsix
    code --install-extension dist/infill.vsix

and in settings.json:

    "infill.serverPath": %(command)s
"""


def editor_lines() -> str:
    """Return the lines for Neovim and VS Code, with the path of the running program."""
    return _LINES % {"command": json.dumps(program())}


def program() -> str:
    """Return the path of `infill-ls`: next to this Python if it is there, otherwise on the PATH."""
    beside = Path(sys.executable).with_name("infill-ls.exe" if sys.platform == "win32" else "infill-ls")
    return str(beside) if beside.is_file() else shutil.which("infill-ls") or "infill-ls"
